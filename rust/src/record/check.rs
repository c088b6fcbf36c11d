//! Check what a record is made of.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};

use super::place::{Checked, Place};
use crate::value::raw::{self, Type};
use crate::value::string::{self, Text};

pub const AGENT_STATE_VERSION: i64 = 1;
const _: () = assert!(AGENT_STATE_VERSION == 1, "`read` and `write` spell it");

/// As wide as a pointer: an item is moved in whole words then, which is measurably quicker.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub enum Status {
    Open,
    InProgress,
    Blocked,
    Done,
}

impl Status {
    pub const ALL: [(&'static str, Self); 4] =
        [("open", Self::Open), ("in_progress", Self::InProgress), ("blocked", Self::Blocked), ("done", Self::Done)];

    fn named(name: &[u8]) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| known.as_bytes() == name).map(|(_, status)| *status)
    }
}

type Field<'py> = Option<Bound<'py, PyAny>>;

/// An id or a content: a `str` of more than white space, without lone surrogates.
#[inline]
pub fn text<'py>(value: Field<'py>, place: Place<'_, 'py>, field: &str) -> Checked<Bound<'py, PyString>> {
    checked(value, place, field, is_blank)
}

/// A `str` without lone surrogates.
pub fn plain_str<'py>(value: Field<'py>, place: Place<'_, 'py>, field: &str) -> Checked<Bound<'py, PyString>> {
    checked(value, place, field, |_| false)
}

#[inline]
fn checked<'py>(
    value: Field<'py>,
    place: Place<'_, 'py>,
    field: &str,
    is_blank: impl Fn(Text<'_>) -> bool,
) -> Checked<Bound<'py, PyString>> {
    let Some(value) = value else { return Err(place.invalid(Some(field), "missing", None)) };
    match string::text(&value) {
        None => return Err(place.invalid(Some(field), "a str", Some(&value))),
        Some(text) if string::is_broken(text) => return Err(place.invalid(Some(field), "surrogate", None)),
        Some(text) if is_blank(text) => return Err(place.invalid(Some(field), "blank", None)),
        Some(_) => {}
    }
    Ok(value.cast_into_exact().map_err(PyErr::from)?)
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
        Type::Int => raw::int(&value) == Some(raw::Int::Signed(AGENT_STATE_VERSION)),
        #[expect(clippy::float_cmp, clippy::cast_precision_loss, reason = "1.0 is exact")]
        Type::Float => raw::float(&value) == AGENT_STATE_VERSION as f64,
        _ => false,
    };
    if right { Ok(()) } else { Err(place.invalid(Some(field), "version", Some(&value))) }
}

/// The list of a field; an input may be without, which `None` stands for.
pub fn list<'py>(value: Field<'py>, place: Place<'_, 'py>, field: &str) -> Checked<Option<Bound<'py, PyList>>> {
    let Some(value) = value else {
        return if place.is_input() { Ok(None) } else { Err(place.invalid(Some(field), "missing", None)) };
    };
    match value.cast_into_exact::<PyList>() {
        Ok(list) => Ok(Some(list)),
        Err(other) => Err(place.invalid(Some(field), "a list", Some(&other.into_inner()))),
    }
}

/// Refuse a field that isn't one of `fields`.
pub fn refuse_unknown(value: &Bound<'_, PyDict>, fields: &[&str], place: Place<'_, '_>) -> Checked<()> {
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
fn is_blank(text: Text<'_>) -> bool {
    match text {
        Text::Ascii(text) => text.iter().all(|byte| blank((*byte).into())),
        #[cfg(not(Py_LIMITED_API))]
        Text::Latin1(text) => text.iter().all(|byte| blank((*byte).into())),
        #[cfg(not(Py_LIMITED_API))]
        Text::Ucs2(text) => text.iter().all(|code| blank((*code).into())),
        #[cfg(not(Py_LIMITED_API))]
        Text::Ucs4(text) => text.iter().all(|code| blank(*code)),
        #[cfg(Py_LIMITED_API)]
        Text::Utf8(text) => text.chars().all(|char| blank(char.into())),
        #[cfg(Py_LIMITED_API)]
        Text::Broken => false,
    }
}

pub fn blank(code: u32) -> bool {
    matches!(
        code,
        0x09..=0x0D | 0x20 | 0xA0 | 0x1680 | 0x2000..=0x200A | 0x2028 | 0x2029 | 0x202F | 0x205F | 0x3000 | 0xFEFF
    )
}
