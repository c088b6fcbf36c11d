//! A record's state straight from the text of a snapshot.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use super::AgentState;
use super::check::{Status, blank};
use super::entries::Entries;
use super::item::{Item, TEXT};
use super::scan::Scanner;
use crate::value::string::{self, Text};

#[derive(Clone, Copy)]
enum TopKey {
    Version,
    Work,
    Decisions,
    Objective,
}

#[derive(Clone, Copy)]
enum ItemKey {
    Id,
    Content,
    Status,
}

const TOP_KEYS: [(&str, TopKey); 4] = [
    ("schemaVersion", TopKey::Version),
    ("workItems", TopKey::Work),
    ("decisions", TopKey::Decisions),
    ("objective", TopKey::Objective),
];
const ITEM_KEYS: [(&str, ItemKey); 3] =
    [("id", ItemKey::Id), ("content", ItemKey::Content), ("status", ItemKey::Status)];
/// The state of a text (`str` or `bytes`) that holds exactly the fields of a snapshot, each once.
///
/// `None` for anything else: the general way reads it, and words the error where there is one.
pub fn state(text: &Bound<'_, PyAny>) -> PyResult<Option<AgentState>> {
    let py = text.py();
    let encoded;
    let bytes = match (string::text(text), text.cast_exact::<PyBytes>()) {
        (Some(Text::Ascii(ascii)), _) => ascii,
        (_, Ok(bytes)) => bytes.as_bytes(),
        (Some(wide), _) if !string::is_broken(wide) => {
            encoded = text.call_method0(intern!(py, "encode"))?.cast_into::<PyBytes>()?;
            encoded.as_bytes()
        }
        _ => return Ok(None),
    };
    Ok(std::str::from_utf8(bytes).ok().and_then(|text| Reader { py, scan: Scanner::new(text) }.state()))
}

struct Reader<'a, 'py> {
    py: Python<'py>,
    scan: Scanner<'a>,
}

impl<'py> Reader<'_, 'py> {
    fn state(mut self) -> Option<AgentState> {
        let (mut version, mut work, mut decisions, mut objective) = (false, None, None, None);
        let mut more = self.scan.open(b'{', b'}')?;
        while more {
            match self.scan.key(&TOP_KEYS)? {
                TopKey::Version if !version => {
                    self.scan.take(b'1')?;
                    version = true;
                }
                TopKey::Work if work.is_none() => work = Some(self.entries(true, |found| found.status)?),
                TopKey::Decisions if decisions.is_none() => decisions = Some(self.entries(false, |_| Some(()))?),
                TopKey::Objective if objective.is_none() => objective = Some(self.string()?.unbind()),
                _ => return None,
            }
            more = self.scan.next(b'}')?;
        }
        self.scan.end()?;
        version.then_some(AgentState { objective, work: work?, decisions: decisions? })
    }

    /// A list of items, each with what `status_of` makes of it.
    fn entries<S: Copy>(
        &mut self,
        with_status: bool,
        status_of: impl Fn(&Found<'py>) -> Option<S>,
    ) -> Option<Entries<S>> {
        let mut entries = Entries::with_capacity(self.scan.rest() / TEXT);
        let mut more = self.scan.open(b'[', b']')?;
        while more {
            let found = self.item(with_status)?;
            let status = status_of(&found)?;
            entries.add(Item { id: found.id?, content: found.content?, status }).ok()?;
            more = self.scan.next(b']')?;
        }
        if entries.has_room_for_many() {
            entries.fit();
        }
        Some(entries)
    }

    fn item(&mut self, with_status: bool) -> Option<Found<'py>> {
        let mut item = Found::default();
        let mut more = self.scan.open(b'{', b'}')?;
        while more {
            match self.scan.key(&ITEM_KEYS)? {
                ItemKey::Id if item.id.is_none() => item.id = Some(self.text()?),
                ItemKey::Content if item.content.is_none() => item.content = Some(self.text()?),
                ItemKey::Status if with_status && item.status.is_none() => {
                    item.status = Some(self.scan.word(&Status::ALL)?);
                }
                _ => return None,
            }
            more = self.scan.next(b'}')?;
        }
        Some(item)
    }

    /// A string of more than white space.
    fn text(&mut self) -> Option<Bound<'py, PyString>> {
        let text = self.scan.string()?;
        let is_blank = text.chars().all(|char| blank(char.into()));
        if is_blank { None } else { string::new(self.py, &text).ok() }
    }

    fn string(&mut self) -> Option<Bound<'py, PyString>> {
        string::new(self.py, &self.scan.string()?).ok()
    }
}

/// What has been read of an item.
#[derive(Default)]
struct Found<'py> {
    id: Option<Bound<'py, PyString>>,
    content: Option<Bound<'py, PyString>>,
    status: Option<Status>,
}
