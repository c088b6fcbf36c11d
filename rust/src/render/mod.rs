//! The `<task_state>` block within a budget of UTF-16 code units.

mod number;
mod writer;

use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};

use crate::fault::{Fault, Kind, state_fault};
use crate::state::State;
use crate::value::raw::{self, Type, items};
use writer::{Stop, Writer};

const OPENING: &str = "<task_state>\n";
const CLOSING: &str = "\n</task_state>";

/// The block in pieces. `entries` are the newest checkpoints, oldest first, as many as there is room for.
struct Parts {
    head: Writer,
    tail: Option<Writer>,
    entries: Vec<Entry>,
    count: usize,
    whole: bool,
}

struct Entry {
    text: String,
    units: usize,
}

impl Parts {
    fn used(&self) -> usize {
        self.tail.as_ref().unwrap_or(&self.head).used
    }

    fn tail(&self) -> &str {
        self.tail.as_ref().map_or("", |tail| &tail.text)
    }

    /// The newest `kept` entries; `None` where fewer were read.
    fn newest(&self, kept: usize) -> Option<&[Entry]> {
        self.entries.len().checked_sub(kept).map(|start| &self.entries[start..])
    }
}

#[pyfunction]
pub fn render_block<'py>(
    state: &Bound<'py, PyAny>,
    limit: Option<usize>,
) -> PyResult<(Bound<'py, PyString>, usize)> {
    let py = state.py();
    let parts = read(state, limit)?;
    let mut kept = parts.count;
    while parts.whole {
        if let Some(entries) = parts.newest(kept) {
            let size = parts.used() + array_units(entries);
            if limit.is_none_or(|limit| size <= limit) {
                let mut block = parts.head.text.clone();
                push_array(&mut block, entries);
                block.push_str(parts.tail());
                return Ok((PyString::new(py, &block), size));
            }
        }
        if kept == 0 {
            break;
        }
        kept /= 2;
    }
    let mut block = parts.head.text.clone();
    push_array(&mut block, &[]);
    block.push_str(parts.tail());
    let room = limit.unwrap_or(usize::MAX).saturating_sub(CLOSING.len());
    let (end, units) = cut(&block, room);
    block.truncate(end);
    block.push_str(CLOSING);
    Ok((PyString::new(py, &block), units + CLOSING.len()))
}

#[pyfunction]
pub fn render_parts(
    state: &Bound<'_, PyAny>,
    limit: Option<usize>,
) -> PyResult<(String, Vec<String>, usize, String, bool)> {
    let parts = read(state, limit)?;
    let tail = parts.tail.map_or_else(String::new, |tail| tail.text);
    let entries = parts.entries.into_iter().map(|entry| entry.text).collect();
    Ok((parts.head.text, entries, parts.count, tail, parts.whole))
}

fn read(state: &Bound<'_, PyAny>, limit: Option<usize>) -> PyResult<Parts> {
    let fields = State::shape(state, "")?;
    let mut parts = Parts {
        head: Writer::new(limit, 0),
        tail: None,
        entries: Vec::new(),
        count: fields.checkpoints.len(),
        whole: false,
    };
    match write(&fields, limit, &mut parts) {
        Ok(()) => parts.whole = true,
        Err(Stop::Full) => parts.entries.clear(),
        Err(Stop::Fault(fault)) => return Err(fault.error("", state)),
    }
    Ok(parts)
}

fn write(fields: &State<'_>, limit: Option<usize>, parts: &mut Parts) -> Result<(), Stop> {
    parts.head.put(OPENING)?;
    parts.head.put("{")?;
    for (index, (key, value)) in items(&fields.whole).enumerate() {
        let writer = parts.tail.as_mut().unwrap_or(&mut parts.head);
        writer.entry(index, 1)?;
        writer.key(&key)?;
        let written = if value.is(&fields.checkpoints) && key.eq("checkpoints")? {
            parts.tail = Some(Writer::new(limit, writer.used));
            Ok(())
        } else if value.is(&fields.files) && key.eq("files")? {
            files(writer, &fields.files)
        } else {
            writer.value(&value, 1)
        };
        written.map_err(|stop| stop.at(key.unbind()))?;
    }
    let writer = parts.tail.as_mut().unwrap_or(&mut parts.head);
    writer.put("\n}")?;
    writer.put(CLOSING)?;
    let room = limit.map(|limit| limit.saturating_sub(writer.used));
    parts.entries = newest_entries(&fields.checkpoints, room)?;
    Ok(())
}

fn files(writer: &mut Writer, files: &Bound<'_, PyList>) -> Result<(), Stop> {
    if files.is_empty() {
        return writer.put("[]");
    }
    writer.put("[")?;
    for (index, file) in files.iter().enumerate() {
        if raw::type_of(&file) != Type::Str {
            return Err(state_fault(file.py(), "a str", "", (Some("files"), Some(index), None), Some(&file)).into());
        }
        writer.entry(index, 2)?;
        writer.string(&file, Kind::Surrogate).map_err(|stop| stop.at_index(file.py(), index))?;
    }
    writer.put("\n  ]")
}

fn newest_entries(checkpoints: &Bound<'_, PyList>, room: Option<usize>) -> Result<Vec<Entry>, Fault> {
    let py = checkpoints.py();
    let mut entries = Vec::new();
    let mut used = 4;
    for index in (0..checkpoints.len()).rev() {
        let mut writer = Writer::new(None, 4);
        writer.text.push_str("    ");
        match writer.value(&checkpoints.get_item(index)?, 2) {
            Err(Stop::Fault(fault)) => {
                let key = PyString::new(py, "checkpoints").into_any().unbind();
                return Err(fault.at_index(py, index).at(key));
            }
            Ok(()) | Err(Stop::Full) => {}
        }
        used += writer.used + 2;
        if room.is_some_and(|room| used > room) {
            break;
        }
        entries.push(Entry { text: writer.text, units: writer.used });
    }
    entries.reverse();
    Ok(entries)
}

fn array_units(entries: &[Entry]) -> usize {
    if entries.is_empty() { 2 } else { entries.iter().map(|entry| entry.units).sum::<usize>() + 2 * entries.len() + 4 }
}

fn push_array(out: &mut String, entries: &[Entry]) {
    out.push('[');
    for (index, entry) in entries.iter().enumerate() {
        out.push_str(if index == 0 { "\n" } else { ",\n" });
        out.push_str(&entry.text);
    }
    out.push_str(if entries.is_empty() { "]" } else { "\n  ]" });
}

/// Where the first `room` UTF-16 code units end, in bytes, and how many they are; no pair is split.
fn cut(text: &str, room: usize) -> (usize, usize) {
    let mut units = 0;
    for (start, char) in text.char_indices() {
        if units + char.len_utf16() > room {
            return (start, units);
        }
        units += char.len_utf16();
    }
    (text.len(), units)
}
