//! Indented JSON, written until there is as much as the budget can show.

use std::fmt::Write;

use pyo3::CastError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple, PyTupleMethods};

use super::number::push_float;
use crate::fault::{Fault, Kind};
use crate::value::raw::{self, Int, Text, Type};
use crate::value::{MAX_DEPTH, raw::items};

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

const CLOSING_TAG: &[u8] = b"</task_state";
/// How far past the limit a cut string is read, so that an escaped closing tag is never cut apart.
const MARGIN: usize = 16;

/// `used` counts UTF-16 code units, those of an earlier writer of the same block included.
pub struct Writer {
    pub text: String,
    pub used: usize,
    pub limit: usize,
}

impl Writer {
    pub fn new(limit: Option<usize>, used: usize) -> Self {
        Self { text: String::new(), used, limit: limit.unwrap_or(usize::MAX) }
    }

    #[inline]
    fn check(&self) -> Result<(), Stop> {
        if self.used > self.limit { Err(Stop::Full) } else { Ok(()) }
    }

    /// Append ASCII text.
    #[inline]
    pub fn put(&mut self, text: &str) -> Result<(), Stop> {
        self.text.push_str(text);
        self.used += text.len();
        self.check()
    }

    /// Begin an entry of a container whose entries stand `depth` levels in.
    #[inline]
    pub fn entry(&mut self, index: usize, depth: usize) -> Result<(), Stop> {
        const SPACES: &str = "                                ";
        let start = self.text.len();
        self.text.push_str(if index == 0 { "\n" } else { ",\n" });
        let mut missing = 2 * depth;
        while missing > 0 {
            let taken = missing.min(SPACES.len());
            self.text.push_str(&SPACES[..taken]);
            missing -= taken;
        }
        self.used += self.text.len() - start;
        self.check()
    }

    pub fn value(&mut self, value: &Bound<'_, PyAny>, depth: usize) -> Result<(), Stop> {
        match raw::type_of(value) {
            Type::Str => self.string(value, Kind::Surrogate),
            Type::Dict => self.dict(value.cast::<PyDict>()?, depth),
            Type::List => self.list(value.cast::<PyList>()?, depth),
            Type::Tuple => self.list(&value.cast::<PyTuple>()?.to_list(), depth),
            Type::None => self.put("null"),
            Type::Bool => self.put(if value.is_truthy()? { "true" } else { "false" }),
            Type::Int => self.int(value),
            Type::Float => {
                let number = raw::float(value);
                if !number.is_finite() {
                    return Err(Fault::new(Kind::NotFinite).into());
                }
                let start = self.text.len();
                push_float(&mut self.text, number);
                self.used += self.text.len() - start;
                self.check()
            }
            Type::Other => Err(Fault::about(Kind::NotJson, value.clone().unbind()).into()),
        }
    }

    fn int(&mut self, value: &Bound<'_, PyAny>) -> Result<(), Stop> {
        let start = self.text.len();
        let written = match raw::int(value) {
            Some(Int::Signed(number)) => write!(self.text, "{number}"),
            Some(Int::Unsigned(number)) => write!(self.text, "{number}"),
            None => return Err(Fault::new(Kind::IntRange).into()),
        };
        debug_assert!(written.is_ok(), "writing to a String can't fail");
        self.used += self.text.len() - start;
        self.check()
    }

    fn dict(&mut self, dict: &Bound<'_, PyDict>, depth: usize) -> Result<(), Stop> {
        self.enter(depth)?;
        if dict.is_empty() {
            return self.put("{}");
        }
        self.put("{")?;
        for (index, (key, value)) in items(dict).enumerate() {
            self.entry(index, depth + 1)?;
            self.key(&key)?;
            self.value(&value, depth + 1).map_err(|stop| stop.at(key.unbind()))?;
        }
        self.close(depth, "}")
    }

    fn list(&mut self, list: &Bound<'_, PyList>, depth: usize) -> Result<(), Stop> {
        self.enter(depth)?;
        if list.is_empty() {
            return self.put("[]");
        }
        self.put("[")?;
        for (index, value) in list.iter().enumerate() {
            self.entry(index, depth + 1)?;
            self.value(&value, depth + 1).map_err(|stop| stop.at_index(list.py(), index))?;
        }
        self.close(depth, "]")
    }

    fn enter(&self, depth: usize) -> Result<(), Stop> {
        if depth >= MAX_DEPTH { Err(Fault::new(Kind::TooDeep).into()) } else { Ok(()) }
    }

    fn close(&mut self, depth: usize, bracket: &str) -> Result<(), Stop> {
        let before = self.limit;
        self.limit = usize::MAX;
        self.entry(0, depth)?;
        self.limit = before;
        self.put(bracket)
    }

    pub fn key(&mut self, key: &Bound<'_, PyAny>) -> Result<(), Stop> {
        if raw::type_of(key) != Type::Str {
            return Err(Fault::about(Kind::BadKey, key.clone().unbind()).into());
        }
        self.string(key, Kind::KeySurrogate)?;
        self.put(": ")
    }

    /// Append a quoted string; of one that passes the limit no more than is needed to see that.
    pub fn string(&mut self, value: &Bound<'_, PyAny>, kind: Kind) -> Result<(), Stop> {
        let Some(text) = raw::text(value) else { return Err(Fault::new(kind).into()) };
        let room = self.limit.saturating_sub(self.used).saturating_add(MARGIN);
        self.text.push('"');
        self.used += 1;
        let whole = match text {
            Text::Ascii(bytes) => {
                self.bytes(&bytes[..room.min(bytes.len())]);
                bytes.len() <= room
            }
            #[cfg(not(Py_LIMITED_API))]
            Text::Latin1(bytes) => {
                self.chars(bytes.iter().take(room).map(|byte| Some(char::from(*byte))), kind)?;
                bytes.len() <= room
            }
            #[cfg(not(Py_LIMITED_API))]
            Text::Ucs2(chars) => {
                self.chars(chars.iter().take(room).map(|char| char::from_u32(u32::from(*char))), kind)?;
                chars.len() <= room
            }
            #[cfg(not(Py_LIMITED_API))]
            Text::Ucs4(chars) => {
                self.chars(chars.iter().take(room).map(|char| char::from_u32(*char)), kind)?;
                chars.len() <= room
            }
            #[cfg(Py_LIMITED_API)]
            Text::Utf8(text) => {
                self.chars(text.chars().take(room).map(Some), kind)?;
                text.chars().nth(room).is_none()
            }
            #[cfg(Py_LIMITED_API)]
            Text::Broken => return Err(Fault::new(kind).into()),
        };
        if whole {
            self.text.push('"');
            self.used += 1;
        }
        self.check()
    }

    /// Append the characters of an ASCII string: runs without anything to escape as they are.
    fn bytes(&mut self, bytes: &[u8]) {
        let start = self.text.len();
        self.text.reserve(bytes.len());
        let mut rest = bytes;
        while !rest.is_empty() {
            let plain = plain_prefix(rest);
            let (run, after) = rest.split_at(plain);
            self.text.push_str(&String::from_utf8_lossy(run));
            rest = after;
            if let Some(byte) = rest.first() {
                if *byte == b'<' && rest.starts_with(CLOSING_TAG) {
                    self.text.push_str("<\\");
                } else {
                    push_escaped(&mut self.text, char::from(*byte));
                }
                rest = &rest[1..];
            }
        }
        self.used += self.text.len() - start;
    }

    /// Append characters one by one; `None` is a lone surrogate.
    fn chars(&mut self, chars: impl Iterator<Item = Option<char>> + Clone, kind: Kind) -> Result<(), Stop> {
        let mut rest = chars;
        let start = self.text.len();
        let mut pairs = 0;
        let mut multibyte = 0;
        while let Some(next) = rest.next() {
            let Some(char) = next else { return Err(Fault::new(kind).into()) };
            if char == '<' && rest.clone().take(CLOSING_TAG.len() - 1).eq(CLOSING_TAG[1..].iter().map(|byte| Some(char::from(*byte)))) {
                self.text.push_str("<\\");
                continue;
            }
            multibyte += char.len_utf8() - 1;
            pairs += char.len_utf16() - 1;
            push_escaped(&mut self.text, char);
        }
        self.used += self.text.len() - start - multibyte + pairs;
        Ok(())
    }
}

/// How many bytes from the start need no escape and begin no closing tag.
#[inline]
fn plain_prefix(bytes: &[u8]) -> usize {
    const CHUNK: usize = 16;
    let special = |byte: u8| byte < 0x20 || byte == b'"' || byte == b'\\' || byte == b'<';
    let mut done = 0;
    for chunk in bytes.chunks_exact(CHUNK) {
        if chunk.iter().fold(false, |found, byte| found | special(*byte)) {
            break;
        }
        done += CHUNK;
    }
    let rest = &bytes[done..];
    done + rest.iter().position(|byte| special(*byte)).unwrap_or(rest.len())
}

#[inline]
fn push_escaped(out: &mut String, char: char) {
    match char {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\u{8}' => out.push_str("\\b"),
        '\u{c}' => out.push_str("\\f"),
        '\0'..='\u{1f}' => {
            const HEX: &[u8; 16] = b"0123456789abcdef";
            let code = char as usize;
            out.push_str("\\u00");
            out.push(char::from(HEX[code >> 4]));
            out.push(char::from(HEX[code & 15]));
        }
        _ => out.push(char),
    }
}
