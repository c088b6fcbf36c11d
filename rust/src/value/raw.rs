//! The only room with `unsafe`: reads CPython's objects without going through its checks.
//!
//! Two facts make it sound. The GIL is held by whoever has a `Python` token, so no other thread
//! changes an object while it is read; and nothing here calls code that can run Python, except
//! where a comment says so and strong references are held.

#![allow(unsafe_code, reason = "this room reads objects directly; each block says why it may")]

use std::ptr::null_mut;

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The exact type of an object, as far as JSON goes. A subclass is `Other`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Type {
    Str,
    Dict,
    List,
    Tuple,
    Int,
    Float,
    Bool,
    None,
    Other,
}

#[inline]
pub fn type_of(object: &Bound<'_, PyAny>) -> Type {
    // SAFETY: a `Bound` is a live object; the compared statics are CPython's own types.
    unsafe {
        let kind = ffi::Py_TYPE(object.as_ptr());
        if kind == &raw mut ffi::PyUnicode_Type {
            Type::Str
        } else if kind == &raw mut ffi::PyDict_Type {
            Type::Dict
        } else if kind == &raw mut ffi::PyList_Type {
            Type::List
        } else if kind == &raw mut ffi::PyLong_Type {
            Type::Int
        } else if kind == &raw mut ffi::PyFloat_Type {
            Type::Float
        } else if kind == &raw mut ffi::PyBool_Type {
            Type::Bool
        } else if object.is_none() {
            Type::None
        } else if kind == &raw mut ffi::PyTuple_Type {
            Type::Tuple
        } else {
            Type::Other
        }
    }
}

/// The characters of a `str`, as CPython stores them.
#[derive(Clone, Copy)]
pub enum Text<'a> {
    Ascii(&'a [u8]),
    #[cfg(not(Py_LIMITED_API))]
    Latin1(&'a [u8]),
    #[cfg(not(Py_LIMITED_API))]
    Ucs2(&'a [u16]),
    #[cfg(not(Py_LIMITED_API))]
    Ucs4(&'a [u32]),
    #[cfg(Py_LIMITED_API)]
    Utf8(&'a str),
    /// Only the stable ABI ends here: it has no way to read a string with a lone surrogate.
    #[cfg(Py_LIMITED_API)]
    Broken,
}

/// The text of an exact `str`; `None` for any other object.
#[inline]
#[cfg(not(Py_LIMITED_API))]
pub fn text<'a>(object: &'a Bound<'_, PyAny>) -> Option<Text<'a>> {
    if type_of(object) != Type::Str {
        return None;
    }
    let string = object.as_ptr();
    // SAFETY: an exact `str`, whose buffer is immutable and lives as long as the borrow of `object`.
    // Kind and length come from the object itself; a legacy string is made ready first.
    unsafe {
        #[cfg(not(Py_3_12))]
        if ffi::PyUnicode_READY(string) < 0 {
            ffi::PyErr_Clear();
            return None;
        }
        let length = ffi::PyUnicode_GET_LENGTH(string).cast_unsigned();
        let data = ffi::PyUnicode_DATA(string);
        Some(match ffi::PyUnicode_KIND(string) {
            ffi::PyUnicode_1BYTE_KIND => {
                let bytes = std::slice::from_raw_parts(data.cast::<u8>(), length);
                if ffi::PyUnicode_IS_ASCII(string) != 0 { Text::Ascii(bytes) } else { Text::Latin1(bytes) }
            }
            ffi::PyUnicode_2BYTE_KIND => Text::Ucs2(std::slice::from_raw_parts(data.cast::<u16>(), length)),
            _ => Text::Ucs4(std::slice::from_raw_parts(data.cast::<u32>(), length)),
        })
    }
}

#[inline]
#[cfg(Py_LIMITED_API)]
pub fn text<'a>(object: &'a Bound<'_, PyAny>) -> Option<Text<'a>> {
    let string = object.cast_exact::<pyo3::types::PyString>().ok()?;
    Some(match string.to_str() {
        Ok(text) if text.is_ascii() => Text::Ascii(text.as_bytes()),
        Ok(text) => Text::Utf8(text),
        Err(_) => Text::Broken,
    })
}

/// The value of an exact float.
#[inline]
pub fn float(object: &Bound<'_, PyAny>) -> f64 {
    // SAFETY: callers have seen `Type::Float`; the call only reads the object.
    unsafe { ffi::PyFloat_AsDouble(object.as_ptr()) }
}

/// A whole number from -2^63 to 2^64-1.
#[derive(Clone, Copy)]
pub enum Int {
    Signed(i64),
    Unsigned(u64),
}

/// The value of an exact int; `None` where it has more than 64 bits.
#[inline]
pub fn int(object: &Bound<'_, PyAny>) -> Option<Int> {
    let mut overflow = 0;
    // SAFETY: callers have seen `Type::Int`, so no conversion runs Python; an OverflowError is cleared.
    unsafe {
        let signed = ffi::PyLong_AsLongLongAndOverflow(object.as_ptr(), &raw mut overflow);
        if overflow == 0 {
            return Some(Int::Signed(signed));
        }
        if overflow < 0 {
            return None;
        }
        let unsigned = ffi::PyLong_AsUnsignedLongLong(object.as_ptr());
        if unsigned == u64::MAX && !ffi::PyErr_Occurred().is_null() {
            ffi::PyErr_Clear();
            return None;
        }
        Some(Int::Unsigned(unsigned))
    }
}

/// The entries of a dict, each held by strong references, so that the dict may change meanwhile.
pub struct Items<'a, 'py> {
    dict: &'a Bound<'py, PyDict>,
    position: ffi::Py_ssize_t,
}

pub fn items<'a, 'py>(dict: &'a Bound<'py, PyDict>) -> Items<'a, 'py> {
    Items { dict, position: 0 }
}

impl<'py> Iterator for Items<'_, 'py> {
    type Item = (Bound<'py, PyAny>, Bound<'py, PyAny>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let (mut key, mut value) = (null_mut(), null_mut());
        // SAFETY: PyDict_Next stays inside the dict whatever happened to it since the last call, and
        // the borrowed pointers become strong references before anything else can run.
        unsafe {
            if ffi::PyDict_Next(self.dict.as_ptr(), &raw mut self.position, &raw mut key, &raw mut value) == 0 {
                return None;
            }
            let py = self.dict.py();
            Some((Bound::from_borrowed_ptr(py, key), Bound::from_borrowed_ptr(py, value)))
        }
    }
}
