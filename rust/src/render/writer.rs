//! Indented JSON, written until there is as much as the budget can show.

#![allow(clippy::inline_always, reason = "each of these runs for every value; measured")]

use pyo3::CastError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple, PyTupleMethods};

use super::number::{push_float, push_int};
use crate::fault::{Fault, Kind};
use crate::text::Buffer;
use crate::text::escape::{Closing, LoneSurrogate, Unit, push_ascii, push_wide};
use crate::value::MAX_DEPTH;
use crate::value::bytes::{push_line, push_plain};
use crate::value::raw::{self, Type, items};
use crate::value::string::{self, Text};

const CLOSING_TAG: Closing = Some(b"</task_state");

/// Why writing stopped.
pub enum Stop {
    /// There is as much text as the limit lets through.
    Full,
    Fault(Fault),
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl From<PyErr> for Stop {
    fn from(error: PyErr) -> Self {
        Self::Fault(error.into())
    }
}

impl From<CastError<'_, '_>> for Stop {
    fn from(error: CastError<'_, '_>) -> Self {
        Self::Fault(error.into())
    }
}

impl Stop {
    /// The same stop, seen from one level further up.
    pub fn at(self, key: Py<PyAny>) -> Self {
        match self {
            Self::Fault(fault) => Self::Fault(fault.at(key)),
            Self::Full => Self::Full,
        }
    }

    pub fn at_index(self, py: Python<'_>, index: usize) -> Self {
        match self {
            Self::Fault(fault) => Self::Fault(fault.at_index(py, index)),
            Self::Full => Self::Full,
        }
    }
}

/// How far past the limit a cut string is read, so that an escaped closing tag is never cut apart.
const MARGIN: usize = 16;

/// Room made at once, so that a growing text is not moved over and over.
const FIRST_ROOM: usize = 32 * 1024;

/// Writes until the text passes `limit` UTF-16 code units.
pub struct Writer {
    pub text: Buffer,
    limit: usize,
    /// How many ASCII characters bring the text to the limit, seen from what else is there.
    end: usize,
}

impl Writer {
    pub fn new(limit: usize) -> Self {
        Self { text: Buffer::with_capacity(limit.min(FIRST_ROOM)), limit, end: limit }
    }

    /// A writer of what follows, with what is left of the limit.
    pub fn rest(&self) -> Self {
        Self::new(self.limit - self.text.units())
    }

    #[inline]
    fn check(&self) -> Result<(), Stop> {
        if self.text.ascii.len() > self.end { Err(Stop::Full) } else { Ok(()) }
    }

    /// Append ASCII text.
    #[inline]
    pub fn put(&mut self, text: &[u8]) -> Result<(), Stop> {
        self.text.push(text);
        self.check()
    }

    /// Open a container or end an entry, and begin an entry that stands `depth` levels in.
    #[inline(always)]
    pub fn line(&mut self, before: [u8; 2], depth: usize) -> Result<(), Stop> {
        push_line(&mut self.text.ascii, &before, 2 * depth);
        self.check()
    }

    /// Close a container that stands `depth` levels in.
    #[inline(always)]
    fn close(&mut self, bracket: [u8; 1], depth: usize) -> Result<(), Stop> {
        push_line(&mut self.text.ascii, b"\n", 2 * depth);
        self.put(&bracket)
    }

    /// Append a value whose container's entries stand `depth` levels in.
    #[inline(always)]
    fn leaf_or_container(&mut self, value: &Bound<'_, PyAny>, depth: usize) -> Result<(), Stop> {
        match raw::type_of(value) {
            Type::Str => return self.string(value, Kind::Surrogate),
            Type::Dict => return self.dict(value.cast::<PyDict>()?, depth),
            Type::List => return self.list(value.cast::<PyList>()?, depth),
            Type::Tuple => return self.list(&value.cast::<PyTuple>()?.to_list(), depth),
            Type::None => self.text.push(b"null"),
            Type::Bool => self.text.push(if raw::is_true(value) { b"true" } else { b"false" }),
            Type::Int => match raw::int(value) {
                Some(number) => push_int(&mut self.text.ascii, number),
                None => return Err(Fault::new(Kind::IntRange).into()),
            },
            Type::Float => match raw::float(value) {
                number if number.is_finite() => push_float(&mut self.text.ascii, number),
                _ => return Err(Fault::new(Kind::NotFinite).into()),
            },
            Type::Other => return Err(Fault::about(Kind::NotJson, value.clone().unbind()).into()),
        }
        self.check()
    }

    pub fn value(&mut self, value: &Bound<'_, PyAny>, depth: usize) -> Result<(), Stop> {
        self.leaf_or_container(value, depth)
    }

    #[inline(never)]
    fn dict(&mut self, dict: &Bound<'_, PyDict>, depth: usize) -> Result<(), Stop> {
        enter(depth)?;
        if dict.is_empty() {
            return self.put(b"{}");
        }
        let mut before = *b"{\n";
        for (key, value) in items(dict) {
            self.line(before, depth + 1)?;
            self.key(&key)?;
            if let Err(stop) = self.leaf_or_container(&value, depth + 1) {
                return Err(stop.at(key.unbind()));
            }
            before = *b",\n";
        }
        self.close(*b"}", depth)
    }

    #[inline(never)]
    fn list(&mut self, list: &Bound<'_, PyList>, depth: usize) -> Result<(), Stop> {
        enter(depth)?;
        if list.is_empty() {
            return self.put(b"[]");
        }
        for (index, value) in list.iter().enumerate() {
            self.line(if index == 0 { *b"[\n" } else { *b",\n" }, depth + 1)?;
            if let Err(stop) = self.leaf_or_container(&value, depth + 1) {
                return Err(stop.at_index(list.py(), index));
            }
        }
        self.close(*b"]", depth)
    }

    #[inline]
    pub fn key(&mut self, key: &Bound<'_, PyAny>) -> Result<(), Stop> {
        match string::text(key) {
            Some(Text::Ascii(bytes))
                if bytes.len() <= self.room() && push_plain(&mut self.text.ascii, bytes, b"\": ") =>
            {
                self.check()
            }
            _ => self.special_key(key),
        }
    }

    #[cold]
    fn special_key(&mut self, key: &Bound<'_, PyAny>) -> Result<(), Stop> {
        if raw::type_of(key) != Type::Str {
            return Err(Fault::about(Kind::BadKey, key.clone().unbind()).into());
        }
        self.special_string(key, Kind::KeySurrogate)?;
        self.put(b": ")
    }

    /// Append a quoted string; of one that passes the limit no more than is needed to see that.
    #[inline]
    pub fn string(&mut self, value: &Bound<'_, PyAny>, kind: Kind) -> Result<(), Stop> {
        match string::text(value) {
            Some(Text::Ascii(bytes))
                if bytes.len() <= self.room() && push_plain(&mut self.text.ascii, bytes, b"\"") =>
            {
                self.check()
            }
            _ => self.special_string(value, kind),
        }
    }

    #[inline]
    fn room(&self) -> usize {
        self.end.saturating_sub(self.text.ascii.len())
    }

    /// A string that isn't ASCII, holds something to escape or passes the limit.
    #[inline(never)]
    fn special_string(&mut self, value: &Bound<'_, PyAny>, kind: Kind) -> Result<(), Stop> {
        let Some(text) = string::text(value) else { return Err(Fault::new(kind).into()) };
        let room = self.room().saturating_add(MARGIN);
        self.text.push(b"\"");
        let whole = match text {
            Text::Ascii(bytes) => {
                push_ascii(&mut self.text.ascii, &bytes[..room.min(bytes.len())], CLOSING_TAG);
                bytes.len() <= room
            }
            #[cfg(not(Py_LIMITED_API))]
            Text::Latin1(bytes) => self.wide(bytes, room, kind)?,
            #[cfg(not(Py_LIMITED_API))]
            Text::Ucs2(chars) => self.wide(chars, room, kind)?,
            #[cfg(not(Py_LIMITED_API))]
            Text::Ucs4(chars) => self.wide(chars, room, kind)?,
            #[cfg(Py_LIMITED_API)]
            Text::Utf8(text) => {
                let codes: Vec<u32> = text.chars().map(u32::from).take(room.saturating_add(1)).collect();
                self.wide(&codes, room, kind)?
            }
            #[cfg(Py_LIMITED_API)]
            Text::Broken => return Err(Fault::new(kind).into()),
        };
        if whole {
            self.text.push(b"\"");
        }
        self.check()
    }

    /// Append the first `room` characters of a string that isn't ASCII; gives whether these are all.
    fn wide<T: Unit>(&mut self, text: &[T], room: usize, kind: Kind) -> Result<bool, Fault> {
        let shown = &text[..room.min(text.len())];
        self.text.push_wide(|out| push_wide(out, shown, CLOSING_TAG)).map_err(|LoneSurrogate| Fault::new(kind))?;
        // Where nothing is left the opening quote alone is past the end.
        self.end = self.limit.saturating_sub(self.text.wide_units());
        Ok(shown.len() == text.len())
    }
}

#[inline]
fn enter(depth: usize) -> Result<(), Fault> {
    if depth >= MAX_DEPTH { Err(Fault::new(Kind::TooDeep)) } else { Ok(()) }
}
