//! The text of a record's snapshot.

use pyo3::prelude::*;
use pyo3::types::PyString;

use super::AgentState;
use super::check::Status;
use super::entries::{Entries, Entry};
use super::item::TEXT;
use crate::text::Buffer;
use crate::text::escape::{Unit, push_ascii, push_wide};
use crate::value::bytes::push_plain;
use crate::value::string::{self, Text};

/// The compact JSON text of a record's snapshot.
pub fn state(py: Python<'_>, state: &AgentState) -> Buffer {
    let mut out = Buffer::with_capacity(TEXT * (state.work.len() + state.decisions.len() + 1));
    out.push(br#"{"schemaVersion":1,"workItems":["#);
    items(py, &mut out, &state.work, |out, status: Status| {
        out.push(br#","status":""#);
        out.push(Status::ALL[status as usize].0.as_bytes());
        out.push(b"\"");
    });
    out.push(br#"],"decisions":["#);
    items(py, &mut out, &state.decisions, |_, ()| ());
    out.push(b"]");
    if let Some(objective) = &state.objective {
        out.push(br#","objective":"#);
        quoted(&mut out, objective.bind(py));
    }
    out.push(b"}");
    out
}

fn items<S: Copy>(py: Python<'_>, out: &mut Buffer, entries: &Entries<S>, end: impl Fn(&mut Buffer, S)) {
    for (index, Entry { id, content, status, .. }) in entries.iter().enumerate() {
        out.push(if index == 0 { br#"{"id":"# } else { br#",{"id":"# });
        quoted(out, id.bind(py));
        out.push(br#","content":"#);
        quoted(out, content.bind(py));
        end(out, *status);
        out.push(b"}");
    }
}

/// Append a JSON string. Every text was checked when it entered, so that the last arms are never taken.
fn quoted(out: &mut Buffer, text: &Bound<'_, PyString>) {
    match string::text(text) {
        Some(Text::Ascii(text)) if push_plain(&mut out.ascii, text, b"\"") => {}
        Some(Text::Ascii(text)) => {
            out.push(b"\"");
            push_ascii(&mut out.ascii, text, None);
            out.push(b"\"");
        }
        #[cfg(not(Py_LIMITED_API))]
        Some(Text::Latin1(text)) => wide(out, text),
        #[cfg(not(Py_LIMITED_API))]
        Some(Text::Ucs2(text)) => wide(out, text),
        #[cfg(not(Py_LIMITED_API))]
        Some(Text::Ucs4(text)) => wide(out, text),
        #[cfg(Py_LIMITED_API)]
        Some(Text::Utf8(text)) => wide(out, &text.chars().map(u32::from).collect::<Vec<u32>>()),
        #[cfg(Py_LIMITED_API)]
        Some(Text::Broken) => {}
        None => {}
    }
}

fn wide<T: Unit>(out: &mut Buffer, text: &[T]) {
    out.push(b"\"");
    let written = out.push_wide(|codes| push_wide(codes, text, None));
    debug_assert!(matches!(written, Ok(())), "a text was checked for lone surrogates when it entered");
    out.push(b"\"");
}
