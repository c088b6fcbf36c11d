//! Check what a record is made of.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};

use super::place::{Checked, Place};
use crate::value::raw::{self, Type};
use crate::value::string::{self, Text, utf8_size};

pub const SCHEMA_VERSION: i64 = 1;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Status {
    Open,
    InProgress,
    Blocked,
    Done,
}

impl Status {
    pub const ALL: [Self; 4] = [Self::Open, Self::InProgress, Self::Blocked, Self::Done];

    pub fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::InProgress => "in_progress",
            Self::Blocked => "blocked",
            Self::Done => "done",
        }
    }

    pub fn named(name: &[u8]) -> Option<Self> {
        match name {
            b"open" => Some(Self::Open),
            b"in_progress" => Some(Self::InProgress),
            b"blocked" => Some(Self::Blocked),
            b"done" => Some(Self::Done),
            _ => None,
        }
    }
}

type Field<'py> = Option<Bound<'py, PyAny>>;

/// An id or a content: a `str` of more than white space, without lone surrogates.
#[inline]
pub fn text<'py>(value: Field<'py>, place: Place<'_, 'py>, field: &str) -> Checked<Bound<'py, PyString>> {
    let value = plain_str(value, place, field)?;
    if is_blank(string::text(&value)) {
        return Err(place.invalid(Some(field), "blank", None));
    }
    Ok(value)
}

/// A `str` without lone surrogates.
#[inline]
pub fn plain_str<'py>(value: Field<'py>, place: Place<'_, 'py>, field: &str) -> Checked<Bound<'py, PyString>> {
    let Some(value) = value else { return Err(place.invalid(Some(field), "missing", None)) };
    match value.cast_into_exact::<PyString>() {
        Ok(text) if utf8_size(&text).is_some() => Ok(text),
        Ok(_) => Err(place.invalid(Some(field), "surrogate", None)),
        Err(other) => Err(place.invalid(Some(field), "a str", Some(&other.into_inner()))),
    }
}

#[inline]
pub fn status(value: Field<'_>, place: Place<'_, '_>) -> Checked<Status> {
    let field = "status";
    let value = value.ok_or_else(|| place.invalid(Some(field), "missing", None))?;
    match string::text(&value) {
        Some(Text::Ascii(name)) => Status::named(name).ok_or_else(|| place.invalid(Some(field), "status", None)),
        Some(_) => Err(place.invalid(Some(field), "status", None)),
        None => Err(place.invalid(Some(field), "a str", Some(&value))),
    }
}

pub fn version(value: Field<'_>, place: Place<'_, '_>) -> Checked<()> {
    let field = "schemaVersion";
    let value = value.ok_or_else(|| place.invalid(Some(field), "missing", None))?;
    let right = match raw::type_of(&value) {
        Type::Int => raw::int(&value) == Some(raw::Int::Signed(SCHEMA_VERSION)),
        #[expect(clippy::float_cmp, clippy::cast_precision_loss, reason = "1.0 is exact")]
        Type::Float => raw::float(&value) == SCHEMA_VERSION as f64,
        _ => false,
    };
    if right { Ok(()) } else { Err(place.invalid(Some(field), "version", Some(&value))) }
}

/// The list of a field; where it may be missing, `None` stands for an empty one.
pub fn list<'py>(
    value: Field<'py>,
    place: Place<'_, 'py>,
    field: &str,
    optional: bool,
) -> Checked<Option<Bound<'py, PyList>>> {
    let Some(value) = value else {
        return if optional { Ok(None) } else { Err(place.invalid(Some(field), "missing", None)) };
    };
    match value.cast_into_exact::<PyList>() {
        Ok(list) => Ok(Some(list)),
        Err(other) => Err(place.invalid(Some(field), "a list", Some(&other.into_inner()))),
    }
}

/// Refuse a field that isn't one of `fields`.
pub fn fields(value: &Bound<'_, PyDict>, fields: &[&str], place: Place<'_, '_>) -> Checked<()> {
    for (key, _) in raw::items(value) {
        let known = match string::text(&key) {
            Some(Text::Ascii(name)) => fields.iter().any(|field| field.as_bytes() == name),
            _ => false,
        };
        if !known {
            return Err(place.at(&key).invalid(None, "unknown", None));
        }
    }
    Ok(())
}

/// Whether a text consists of white space as ECMAScript knows it, or is empty.
#[inline]
pub fn is_blank(text: Option<Text<'_>>) -> bool {
    match text {
        Some(Text::Ascii(text)) => text.iter().all(|byte| blank((*byte).into())),
        #[cfg(not(Py_LIMITED_API))]
        Some(Text::Latin1(text)) => text.iter().all(|byte| blank((*byte).into())),
        #[cfg(not(Py_LIMITED_API))]
        Some(Text::Ucs2(text)) => text.iter().all(|code| blank((*code).into())),
        #[cfg(not(Py_LIMITED_API))]
        Some(Text::Ucs4(text)) => text.iter().all(|code| blank(*code)),
        #[cfg(Py_LIMITED_API)]
        Some(Text::Utf8(text)) => text.chars().all(|char| blank(char.into())),
        #[cfg(Py_LIMITED_API)]
        Some(Text::Broken) => false,
        None => false,
    }
}

pub fn blank(code: u32) -> bool {
    matches!(
        code,
        0x09..=0x0D | 0x20 | 0xA0 | 0x1680 | 0x2000..=0x200A | 0x2028 | 0x2029 | 0x202F | 0x205F | 0x3000 | 0xFEFF
    )
}
