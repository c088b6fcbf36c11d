//! The `<task_state>` block within a budget of UTF-16 code units.

mod number;
mod writer;

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};

use crate::fault::{Fault, Kind, state_fault};
use crate::state::State;
use crate::text::Buffer;
use crate::text::buffer::{Mark, cut};
use crate::value::raw::{self, Type, items};
use crate::value::string::{Run, join};
use writer::{Stop, Writer};

const OPENING: &[u8] = b"<task_state>\n";
const CLOSING: &[u8] = b"\n</task_state>";
const ARRAY_CLOSING: &[u8] = b"\n  ]";

/// The block in pieces: what stands before the checkpoints, what after them, and the newest of them.
struct Parts {
    head: Buffer,
    tail: Buffer,
    entries: Entries,
    count: usize,
    whole: bool,
}

/// The newest checkpoints, newest first, as many as there was room for.
#[derive(Default)]
struct Entries {
    text: Buffer,
    spans: Vec<Span>,
}

#[derive(Clone, Copy)]
struct Span {
    from: Mark,
    to: Mark,
    units: usize,
}

impl Entries {
    /// How many code units the array of the newest `kept` takes; `None` where fewer were read.
    fn array_units(&self, kept: usize) -> Option<usize> {
        let spans = self.spans.get(..kept)?;
        let brackets = if kept == 0 { 2 } else { 2 * kept + ARRAY_CLOSING.len() };
        Some(spans.iter().map(|span| span.units).sum::<usize>() + brackets)
    }

    /// Add the array of the newest `kept`, oldest first.
    fn array<'a>(&'a self, kept: usize, out: &mut Vec<Run<'a>>) {
        let mut before: &[u8] = b"[\n";
        for span in self.spans[..kept].iter().rev() {
            out.push(Run::Ascii(before));
            self.text.runs(span.from, span.to, out);
            before = b",\n";
        }
        out.push(Run::Ascii(if kept == 0 { b"[]" } else { ARRAY_CLOSING }));
    }
}

/// The `<task_state>` block within `limit` UTF-16 code units (None for no limit), and how many it has.
///
/// See `taskstate.core.render`, which counts in tokens.
#[pyfunction]
pub fn render_block<'py>(state: &Bound<'py, PyAny>, limit: Option<usize>) -> PyResult<(Bound<'py, PyString>, usize)> {
    let py = state.py();
    let fields = State::shape(state, "")?;
    let mut runs = Vec::new();
    if limit.is_none() {
        // In one go. What is wrong is told by the longer way below, which looks in the order of the twin.
        let mut writer = Writer::new(usize::MAX);
        if write_whole(&fields, &mut writer).is_ok() {
            writer.text.all(&mut runs);
            return Ok((join(py, &runs)?, writer.text.units()));
        }
    }
    let parts = read(state, &fields, limit)?;
    let mut kept = if parts.whole { parts.count } else { 0 };
    loop {
        let units = parts.entries.array_units(kept).map(|array| parts.head.units() + array + parts.tail.units());
        if let Some(units) = units
            && (kept == 0 || limit.is_none_or(|limit| units <= limit))
        {
            parts.head.all(&mut runs);
            parts.entries.array(kept, &mut runs);
            parts.tail.all(&mut runs);
            if parts.whole && limit.is_none_or(|limit| units <= limit) {
                return Ok((join(py, &runs)?, units));
            }
            break;
        }
        kept /= 2;
    }
    let units = cut(&mut runs, limit.unwrap_or(usize::MAX).saturating_sub(CLOSING.len()));
    runs.push(Run::Ascii(CLOSING));
    Ok((join(py, &runs)?, units + CLOSING.len()))
}

type Pieces<'py> = (Bound<'py, PyString>, Bound<'py, PyList>, usize, Bound<'py, PyString>, bool);

/// The block in pieces, read no further than `limit` UTF-16 code units ask for.
///
/// Gives the text before the checkpoints, the newest checkpoints that there is room for (oldest first),
/// how many there are in all, the text after them, and whether the texts are whole.
#[pyfunction]
pub fn render_parts<'py>(state: &Bound<'py, PyAny>, limit: Option<usize>) -> PyResult<Pieces<'py>> {
    let py = state.py();
    let parts = read(state, &State::shape(state, "")?, limit)?;
    let whole = |text: &Buffer| text.to_str(py, Mark::default(), text.mark());
    let entries = PyList::empty(py);
    for span in parts.entries.spans.iter().rev() {
        entries.append(parts.entries.text.to_str(py, span.from, span.to)?)?;
    }
    Ok((whole(&parts.head)?, entries, parts.count, whole(&parts.tail)?, parts.whole))
}

/// The pieces, read until they pass the limit.
fn read(state: &Bound<'_, PyAny>, fields: &State<'_>, limit: Option<usize>) -> PyResult<Parts> {
    let limit = limit.unwrap_or(usize::MAX);
    let mut head = Writer::new(limit);
    let mut tail = None;
    let mut entries = Entries::default();
    let written = write_around(fields, &mut head, &mut tail)
        .and_then(|used| Ok(entries.read(&fields.checkpoints, limit - used)?));
    if let Err(Stop::Fault(fault)) = written {
        return Err(fault.error("", state));
    }
    let tail = tail.map_or_else(Buffer::default, |tail: Writer| tail.text);
    Ok(Parts { head: head.text, tail, entries, count: fields.checkpoints.len(), whole: written.is_ok() })
}

/// Write all but the checkpoints; gives how many code units that took.
fn write_around(fields: &State<'_>, head: &mut Writer, tail: &mut Option<Writer>) -> Result<usize, Stop> {
    head.put(OPENING)?;
    for (index, (key, value)) in items(&fields.whole).enumerate() {
        let writer = tail.as_mut().unwrap_or(head);
        writer.line(if index == 0 { *b"{\n" } else { *b",\n" }, 1)?;
        writer.key(&key)?;
        if is_checkpoints(fields, &key, &value)? {
            *tail = Some(head.rest());
        } else {
            write_field(fields, writer, &key, &value)?;
        }
    }
    let writer = tail.as_mut().unwrap_or(head);
    writer.put(b"\n}")?;
    writer.put(CLOSING)?;
    Ok(head.text.units() + tail.as_ref().map_or(0, |tail| tail.text.units()))
}

/// Write the block with all checkpoints in their place.
fn write_whole(fields: &State<'_>, writer: &mut Writer) -> Result<(), Stop> {
    writer.put(OPENING)?;
    for (index, (key, value)) in items(&fields.whole).enumerate() {
        writer.line(if index == 0 { *b"{\n" } else { *b",\n" }, 1)?;
        writer.key(&key)?;
        write_field(fields, writer, &key, &value)?;
    }
    writer.put(b"\n}")?;
    writer.put(CLOSING)
}

fn is_checkpoints(fields: &State<'_>, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(value.is(&fields.checkpoints) && key.eq(intern!(key.py(), "checkpoints"))?)
}

fn write_field(
    fields: &State<'_>,
    writer: &mut Writer,
    key: &Bound<'_, PyAny>,
    value: &Bound<'_, PyAny>,
) -> Result<(), Stop> {
    let written = if value.is(&fields.files) && key.eq(intern!(key.py(), "files"))? {
        write_files(writer, &fields.files)
    } else {
        writer.value(value, 1)
    };
    written.map_err(|stop| stop.at(key.clone().unbind()))
}

fn write_files(writer: &mut Writer, files: &Bound<'_, PyList>) -> Result<(), Stop> {
    if files.is_empty() {
        return writer.put(b"[]");
    }
    for (index, file) in files.iter().enumerate() {
        if raw::type_of(&file) != Type::Str {
            if index == 0 {
                writer.put(b"[")?;
            }
            return Err(state_fault(file.py(), "a str", "", (Some("files"), Some(index), None), Some(&file)).into());
        }
        writer.line(if index == 0 { *b"[\n" } else { *b",\n" }, 2)?;
        writer.string(&file, Kind::Surrogate).map_err(|stop| stop.at_index(file.py(), index))?;
    }
    writer.put(ARRAY_CLOSING)
}

impl Entries {
    /// Read as many of the newest checkpoints as `room` code units can hold.
    fn read(&mut self, checkpoints: &Bound<'_, PyList>, room: usize) -> Result<(), Fault> {
        let py = checkpoints.py();
        let mut writer = Writer::new(usize::MAX);
        for index in (0..checkpoints.len()).rev() {
            let (from, before) = (writer.text.mark(), writer.text.units());
            writer.text.push(b"    ");
            match writer.value(&checkpoints.get_item(index)?, 2) {
                Err(Stop::Fault(fault)) => {
                    let key = intern!(py, "checkpoints").clone().into_any().unbind();
                    return Err(fault.at_index(py, index).at(key));
                }
                Ok(()) | Err(Stop::Full) => {}
            }
            let units = writer.text.units();
            if units + 2 * (self.spans.len() + 1) + ARRAY_CLOSING.len() > room {
                break;
            }
            self.spans.push(Span { from, to: writer.text.mark(), units: units - before });
        }
        self.text = writer.text;
        Ok(())
    }
}
