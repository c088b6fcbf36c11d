//! One pass over a value that checks every node, counts its size and, if wanted, copies it.

#![allow(unsafe_code, reason = "the pass handles borrowed pointers; each block says why it may")]
#![allow(clippy::inline_always, reason = "what runs for every value; measured")]

use std::ptr::null_mut;

use pyo3::ffi;
use pyo3::prelude::*;

use super::MAX_DEPTH;
use super::raw::{self, Type};
use super::string;
use crate::fault::{Fault, Kind};

/// What every value counts, whatever it is; strings and keys add their UTF-8 bytes.
const VALUE_COST: usize = 8;

/// How far a copy goes before the whole value is weighed, so that one that is too large (a few shared
/// containers can stand for billions) is refused before its copy fills the memory.
const COPIED_UNWEIGHED: usize = 1024 * 1024;

/// A checked deep copy. Tuples become lists.
pub fn clone(value: &Bound<'_, PyAny>, max_bytes: usize, depth: usize) -> Result<Py<PyAny>, Fault> {
    let mut walk = Walk { root: value, depth, max_bytes, pause: max_bytes.min(COPIED_UNWEIGHED), size: 0 };
    let copy = walk.visit::<true>(value.as_borrowed(), depth)?;
    Ok(copy.unwrap_or_else(|| value.clone()).unbind())
}

/// The checked size of a value.
pub fn measure(value: &Bound<'_, PyAny>, max_bytes: usize, depth: usize) -> Result<usize, Fault> {
    let mut walk = Walk { root: value, depth, max_bytes, pause: max_bytes, size: 0 };
    walk.visit::<false>(value.as_borrowed(), depth)?;
    Ok(walk.size)
}

struct Walk<'a, 'py> {
    root: &'a Bound<'py, PyAny>,
    depth: usize,
    max_bytes: usize,
    /// The size at which the walk stops to weigh the whole.
    pause: usize,
    size: usize,
}

impl Walk<'_, '_> {
    /// Check a value that is `depth` containers down; gives the copy of a container where `COPY` is set.
    #[inline(always)]
    fn visit<'py, const COPY: bool>(
        &mut self,
        value: Borrowed<'_, 'py, PyAny>,
        depth: usize,
    ) -> Result<Option<Bound<'py, PyAny>>, Fault> {
        let cost = match raw::type_of(&value) {
            Type::Str => match string::utf8_size(&value) {
                Some(size) => VALUE_COST + size,
                None => return Err(Fault::new(Kind::Surrogate)),
            },
            // A container is held while it is walked; a scalar isn't used after anything else could run.
            Type::Dict => return self.dict::<COPY>(value.to_owned().as_borrowed(), depth + 1),
            Type::List => return self.list::<COPY, false>(value.to_owned().as_borrowed(), depth + 1),
            Type::Tuple => return self.list::<COPY, true>(value.to_owned().as_borrowed(), depth + 1),
            Type::Int if !raw::int_fits(&value) => return Err(Fault::new(Kind::IntRange)),
            Type::Float if !raw::float(&value).is_finite() => return Err(Fault::new(Kind::NotFinite)),
            Type::Other => return Err(Fault::about(Kind::NotJson, value.to_owned().unbind())),
            _ => VALUE_COST,
        };
        self.charge(value.py(), cost)?;
        Ok(None)
    }

    fn dict<'py, const COPY: bool>(
        &mut self,
        source: Borrowed<'_, 'py, PyAny>,
        depth: usize,
    ) -> Result<Option<Bound<'py, PyAny>>, Fault> {
        let py = source.py();
        self.enter(py, depth)?;
        // SAFETY: `source` is an exact dict, so PyDict_Copy gives a new dict or sets an error.
        let walked = if COPY {
            unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyDict_Copy(source.as_ptr()))? }
        } else {
            source.to_owned()
        };
        let mut position = 0;
        let (mut key, mut value) = (null_mut(), null_mut());
        // SAFETY: `key` is held, and `visit` holds `value` where it is a container. Only an allocation can let
        // other code run (the collector's finalizers), and only while such a container is copied. Code that
        // found `walked` through the collector could change which entries come next, but PyDict_Next and
        // PyDict_SetItem stay inside whatever dict they find; no pointer is kept across a call of either.
        unsafe {
            while ffi::PyDict_Next(walked.as_ptr(), &raw mut position, &raw mut key, &raw mut value) != 0 {
                let key = Bound::from_borrowed_ptr(py, key);
                if raw::type_of(&key) != Type::Str {
                    return Err(Fault::about(Kind::BadKey, key.unbind()));
                }
                match string::utf8_size(&key) {
                    Some(size) => self.charge(py, size)?,
                    None => return Err(Fault::new(Kind::KeySurrogate)),
                }
                match self.visit::<COPY>(Borrowed::from_ptr(py, value), depth) {
                    Ok(None) => {}
                    Ok(Some(copy)) => {
                        if COPY && ffi::PyDict_SetItem(walked.as_ptr(), key.as_ptr(), copy.as_ptr()) < 0 {
                            return Err(PyErr::fetch(py).into());
                        }
                    }
                    Err(fault) => return Err(fault.at(key.unbind())),
                }
            }
        }
        Ok(COPY.then_some(walked))
    }

    fn list<'py, const COPY: bool, const TUPLE: bool>(
        &mut self,
        source: Borrowed<'_, 'py, PyAny>,
        depth: usize,
    ) -> Result<Option<Bound<'py, PyAny>>, Fault> {
        let py = source.py();
        self.enter(py, depth)?;
        let walked = if COPY { raw::list_of(source, TUPLE)? } else { source.to_owned() };
        let mut index = 0;
        // SAFETY: as in `dict`; the size is read anew at each step, and PyList_SetItem checks the index. It takes
        // over the reference to the copy and drops that to the original, which nothing uses any more.
        unsafe {
            while index < length::<COPY, TUPLE>(walked.as_ptr()) {
                let value = Borrowed::from_ptr(py, item::<COPY, TUPLE>(walked.as_ptr(), index));
                match self.visit::<COPY>(value, depth) {
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
        if self.size > self.pause { self.weigh(py) } else { Ok(()) }
    }

    /// Whether the whole value is within the limit. Another fault in it is left for the walk to meet.
    #[cold]
    fn weigh(&mut self, py: Python<'_>) -> Result<(), Fault> {
        if self.size > self.max_bytes {
            return Err(too_large(py, self.max_bytes));
        }
        self.pause = self.max_bytes;
        match measure(self.root, self.max_bytes, self.depth) {
            Err(fault) if fault.is(Kind::TooLarge) => Err(fault),
            _ => Ok(()),
        }
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
