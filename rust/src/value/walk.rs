//! One pass over a value that checks every node, counts its size and, if wanted, copies it.

#![allow(unsafe_code, reason = "the pass handles borrowed pointers; each block says why it may")]

use std::ptr::null_mut;

use pyo3::ffi;
use pyo3::prelude::*;

use super::MAX_DEPTH;
use super::raw::{self, Text, Type};
use crate::fault::{Fault, Kind};

/// What every value counts, whatever it is; strings and keys add their UTF-8 bytes.
const VALUE_COST: usize = 8;

/// A checked deep copy. Tuples become lists.
pub fn clone(value: &Bound<'_, PyAny>, max_bytes: usize, depth: usize) -> Result<Py<PyAny>, Fault> {
    let mut walk = Walk { max_bytes, size: 0 };
    Ok(walk.visit::<true>(value, depth)?.unwrap_or_else(|| value.clone()).unbind())
}

/// The checked size of a value.
pub fn measure(value: &Bound<'_, PyAny>, max_bytes: usize, depth: usize) -> Result<usize, Fault> {
    let mut walk = Walk { max_bytes, size: 0 };
    walk.visit::<false>(value, depth)?;
    Ok(walk.size)
}

struct Walk {
    max_bytes: usize,
    size: usize,
}

impl Walk {
    /// Check a value that is `depth` containers down; gives the copy of a container where `COPY` is set.
    #[inline]
    fn visit<'py, const COPY: bool>(
        &mut self,
        value: &Bound<'py, PyAny>,
        depth: usize,
    ) -> Result<Option<Bound<'py, PyAny>>, Fault> {
        let cost = match raw::type_of(value) {
            Type::Str => match raw::text(value).and_then(utf8_size) {
                Some(size) => VALUE_COST + size,
                None => return Err(Fault::new(Kind::Surrogate)),
            },
            Type::Dict => return self.dict::<COPY>(value, depth + 1),
            Type::List => return self.list::<COPY, false>(value, depth + 1),
            Type::Tuple => return self.list::<COPY, true>(value, depth + 1),
            Type::Int if raw::int(value).is_none() => return Err(Fault::new(Kind::IntRange)),
            Type::Float if !raw::float(value).is_finite() => return Err(Fault::new(Kind::NotFinite)),
            Type::Other => return Err(Fault::about(Kind::NotJson, value.clone().unbind())),
            _ => VALUE_COST,
        };
        self.charge(value.py(), cost)?;
        Ok(None)
    }

    fn dict<'py, const COPY: bool>(
        &mut self,
        source: &Bound<'py, PyAny>,
        depth: usize,
    ) -> Result<Option<Bound<'py, PyAny>>, Fault> {
        let py = source.py();
        self.enter(py, depth)?;
        // SAFETY: `source` is an exact dict, so PyDict_Copy gives a new dict or sets an error.
        let walked = if COPY {
            unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyDict_Copy(source.as_ptr()))? }
        } else {
            source.clone()
        };
        let mut position = 0;
        let (mut key, mut value) = (null_mut(), null_mut());
        // SAFETY: `key` and `value` are borrowed from `walked`. Without COPY nothing below allocates a
        // Python object or runs Python before a fault ends the loop. With COPY an allocation may let
        // the collector run finalizers, but no Python code can reach `walked`, which is ours alone
        // until it is returned; replacing the value of a present key doesn't move its entries.
        unsafe {
            while ffi::PyDict_Next(walked.as_ptr(), &raw mut position, &raw mut key, &raw mut value) != 0 {
                let key = Borrowed::from_ptr(py, key);
                match raw::text(&key).map(utf8_size) {
                    Some(Some(size)) => self.charge(py, size)?,
                    Some(None) => return Err(Fault::new(Kind::KeySurrogate)),
                    None => return Err(Fault::about(Kind::BadKey, key.to_owned().unbind())),
                }
                match self.visit::<COPY>(&Borrowed::from_ptr(py, value), depth) {
                    Ok(None) => {}
                    Ok(Some(copy)) => {
                        if COPY && ffi::PyDict_SetItem(walked.as_ptr(), key.as_ptr(), copy.as_ptr()) < 0 {
                            return Err(PyErr::fetch(py).into());
                        }
                    }
                    Err(fault) => return Err(fault.at(key.to_owned().unbind())),
                }
            }
        }
        Ok(COPY.then_some(walked))
    }

    fn list<'py, const COPY: bool, const TUPLE: bool>(
        &mut self,
        source: &Bound<'py, PyAny>,
        depth: usize,
    ) -> Result<Option<Bound<'py, PyAny>>, Fault> {
        let py = source.py();
        self.enter(py, depth)?;
        // SAFETY: `source` is an exact list or tuple; each call gives a new list or sets an error.
        let walked = unsafe {
            match (COPY, TUPLE) {
                (false, _) => source.clone(),
                (true, false) => {
                    let copy = ffi::PyList_GetSlice(source.as_ptr(), 0, ffi::Py_ssize_t::MAX);
                    Bound::from_owned_ptr_or_err(py, copy)?
                }
                (true, true) => Bound::from_owned_ptr_or_err(py, ffi::PySequence_List(source.as_ptr()))?,
            }
        };
        let mut index = 0;
        // SAFETY: as in `dict`; the size is read anew at each step, and PyList_SetItem takes over the
        // reference to the copy and drops that to the original, which `source` still holds.
        unsafe {
            while index < length::<COPY, TUPLE>(walked.as_ptr()) {
                let value = Borrowed::from_ptr(py, item::<COPY, TUPLE>(walked.as_ptr(), index));
                match self.visit::<COPY>(&value, depth) {
                    Ok(None) => {}
                    Ok(Some(copy)) => {
                        if COPY && ffi::PyList_SetItem(walked.as_ptr(), index, copy.into_ptr()) < 0 {
                            return Err(PyErr::fetch(py).into());
                        }
                    }
                    Err(fault) => return Err(fault.at_index(py, index.cast_unsigned())),
                }
                index += 1;
            }
        }
        Ok(COPY.then_some(walked))
    }

    #[inline]
    fn enter(&mut self, py: Python<'_>, depth: usize) -> Result<(), Fault> {
        if depth > MAX_DEPTH {
            return Err(Fault::new(Kind::TooDeep));
        }
        self.charge(py, VALUE_COST)
    }

    #[inline]
    fn charge(&mut self, py: Python<'_>, size: usize) -> Result<(), Fault> {
        self.size += size;
        if self.size > self.max_bytes { Err(too_large(py, self.max_bytes)) } else { Ok(()) }
    }
}

#[cold]
fn too_large(py: Python<'_>, max_bytes: usize) -> Fault {
    match max_bytes.into_pyobject(py) {
        Ok(limit) => Fault::about(Kind::TooLarge, limit.into_any().unbind()),
        Err(never) => match never {},
    }
}

/// # Safety
/// `list` is an exact list where `COPY` is set or `TUPLE` isn't, else an exact tuple.
#[inline]
unsafe fn length<const COPY: bool, const TUPLE: bool>(list: *mut ffi::PyObject) -> ffi::Py_ssize_t {
    // SAFETY: the caller's promise.
    unsafe { if TUPLE && !COPY { ffi::PyTuple_Size(list) } else { ffi::PyList_Size(list) } }
}

/// # Safety
/// As for `length`, and `index` is below it.
#[inline]
unsafe fn item<const COPY: bool, const TUPLE: bool>(
    list: *mut ffi::PyObject,
    index: ffi::Py_ssize_t,
) -> *mut ffi::PyObject {
    // SAFETY: the caller's promise.
    unsafe {
        if TUPLE && !COPY {
            return ffi::PyTuple_GetItem(list, index);
        }
        #[cfg(Py_LIMITED_API)]
        return ffi::PyList_GetItem(list, index);
        #[cfg(not(Py_LIMITED_API))]
        return ffi::PyList_GET_ITEM(list, index);
    }
}

/// The length of a text in UTF-8 bytes, `None` where it holds a lone surrogate.
#[inline]
fn utf8_size(text: Text<'_>) -> Option<usize> {
    match text {
        Text::Ascii(bytes) => Some(bytes.len()),
        #[cfg(not(Py_LIMITED_API))]
        Text::Latin1(bytes) => Some(bytes.len() + bytes.iter().filter(|byte| **byte >= 0x80).count()),
        #[cfg(not(Py_LIMITED_API))]
        Text::Ucs2(chars) => {
            let mut broken = false;
            let mut size = chars.len();
            for char in chars {
                broken |= char & 0xF800 == 0xD800;
                size += usize::from(*char >= 0x80) + usize::from(*char >= 0x800);
            }
            (!broken).then_some(size)
        }
        #[cfg(not(Py_LIMITED_API))]
        Text::Ucs4(chars) => {
            let mut broken = false;
            let mut size = chars.len();
            for char in chars {
                broken |= char & 0xFFFF_F800 == 0xD800;
                size += usize::from(*char >= 0x80) + usize::from(*char >= 0x800) + usize::from(*char >= 0x1_0000);
            }
            (!broken).then_some(size)
        }
        #[cfg(Py_LIMITED_API)]
        Text::Utf8(text) => Some(text.len()),
        #[cfg(Py_LIMITED_API)]
        Text::Broken => None,
    }
}
