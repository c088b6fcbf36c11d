//! Reads CPython's objects without going through its checks. No room but `value` has `unsafe`.
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

/// The value of an exact float.
#[inline]
pub fn float(object: &Bound<'_, PyAny>) -> f64 {
    // SAFETY: callers have seen `Type::Float`; the object is only read.
    unsafe {
        #[cfg(Py_LIMITED_API)]
        return ffi::PyFloat_AsDouble(object.as_ptr());
        #[cfg(not(Py_LIMITED_API))]
        return ffi::PyFloat_AS_DOUBLE(object.as_ptr());
    }
}

/// Whether a bool is `True`.
#[inline]
pub fn is_true(object: &Bound<'_, PyAny>) -> bool {
    // SAFETY: only compares addresses.
    unsafe { object.as_ptr() == ffi::Py_True() }
}

/// A whole number from -2^63 to 2^64-1; `Unsigned` only where `Signed` can't hold it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Int {
    Signed(i64),
    Unsigned(u64),
}

/// The value of an exact int of at most two digits of 30 bits, read without a call.
#[inline]
#[cfg(all(not(Py_LIMITED_API), not(Py_3_15), target_pointer_width = "64"))]
fn small_int(object: &Bound<'_, PyAny>) -> Option<i64> {
    /// The start of CPython's `PyLongObject`. Up to 3.11 `tag` is the signed number of digits; from
    /// 3.12 on the number of digits is above bit 3, and the low two bits are 0, 1 or 2 for a value
    /// above, at or below zero.
    #[repr(C)]
    struct Long {
        base: ffi::PyObject,
        tag: isize,
        digits: [u32; 1],
    }
    // SAFETY: callers have seen `Type::Int`. The first digit is always there, the second one only
    // where the count says so. Digits of 30 bits are what CPython uses wherever pointers have 64.
    unsafe {
        let long = object.as_ptr().cast::<Long>();
        let tag = (*long).tag;
        #[cfg(not(Py_3_12))]
        let (count, sign) = (tag.unsigned_abs(), tag.signum());
        #[cfg(Py_3_12)]
        let (count, sign) = (tag.cast_unsigned() >> 3, 1 - (tag & 3));
        let digits = (&raw const (*long).digits).cast::<u32>();
        let magnitude = match count {
            0 => 0,
            1 => i64::from(*digits),
            2 => i64::from(*digits) | i64::from(*digits.add(1)) << 30,
            _ => return None,
        };
        Some(if sign < 0 { -magnitude } else { magnitude })
    }
}

/// Whether an exact int has at most 64 bits.
#[inline]
pub fn int_fits(object: &Bound<'_, PyAny>) -> bool {
    #[cfg(all(not(Py_LIMITED_API), not(Py_3_15), target_pointer_width = "64"))]
    if small_int(object).is_some() {
        return true;
    }
    big_int(object).is_some()
}

/// The value of an exact int; `None` where it has more than 64 bits.
#[inline]
pub fn int(object: &Bound<'_, PyAny>) -> Option<Int> {
    #[cfg(all(not(Py_LIMITED_API), not(Py_3_15), target_pointer_width = "64"))]
    if let Some(small) = small_int(object) {
        return Some(Int::Signed(small));
    }
    big_int(object)
}

fn big_int(object: &Bound<'_, PyAny>) -> Option<Int> {
    let mut overflow = 0;
    // SAFETY: callers have seen `Type::Int`, so no conversion runs Python.
    let signed = unsafe { ffi::PyLong_AsLongLongAndOverflow(object.as_ptr(), &raw mut overflow) };
    match overflow {
        0 => Some(Int::Signed(signed)),
        1 => unsigned(object).map(Int::Unsigned),
        _ => None,
    }
}

/// The value of a positive int; `None` where it has more than 64 bits.
///
/// Compares with the low 64 bits: an OverflowError would be an allocation that lets the collector run,
/// where callers hold borrowed pointers. An int is none.
#[cold]
fn unsigned(object: &Bound<'_, PyAny>) -> Option<u64> {
    // SAFETY: `object` is an exact int, so neither call runs Python; the one made here is owned.
    unsafe {
        let low = ffi::PyLong_AsUnsignedLongLongMask(object.as_ptr());
        let same = Bound::from_owned_ptr_or_opt(object.py(), ffi::PyLong_FromUnsignedLongLong(low))?;
        (ffi::PyObject_RichCompareBool(object.as_ptr(), same.as_ptr(), ffi::Py_EQ) == 1).then_some(low)
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

/// A new list of the items of an exact list, or of an exact tuple where `tuple` is set.
///
/// Not PyList_GetSlice: up to CPython 3.11 an allocation may collect garbage, and a finalizer that
/// shrinks the list after its length was read would have it copy what is gone.
#[inline]
pub fn list_of<'py>(source: Borrowed<'_, 'py, PyAny>, tuple: bool) -> PyResult<Bound<'py, PyAny>> {
    let py = source.py();
    // SAFETY: `source` is an exact list or tuple by the caller's check of its type. Nothing allocates
    // between the second reading of the length and the last item, so that the items are there; each
    // gets a reference of its own. Slots that stay empty are cut off before anybody sees the list.
    unsafe {
        let length = || if tuple { ffi::PyTuple_Size(source.as_ptr()) } else { ffi::PyList_Size(source.as_ptr()) };
        let wanted = length();
        let copy = Bound::from_owned_ptr_or_err(py, ffi::PyList_New(wanted))?;
        let filled = wanted.min(length());
        for index in 0..filled {
            #[cfg(Py_LIMITED_API)]
            let item = if tuple {
                ffi::PyTuple_GetItem(source.as_ptr(), index)
            } else {
                ffi::PyList_GetItem(source.as_ptr(), index)
            };
            #[cfg(not(Py_LIMITED_API))]
            let item = if tuple {
                ffi::PyTuple_GET_ITEM(source.as_ptr(), index)
            } else {
                ffi::PyList_GET_ITEM(source.as_ptr(), index)
            };
            ffi::Py_INCREF(item);
            #[cfg(Py_LIMITED_API)]
            ffi::PyList_SetItem(copy.as_ptr(), index, item);
            #[cfg(not(Py_LIMITED_API))]
            ffi::PyList_SET_ITEM(copy.as_ptr(), index, item);
        }
        if filled < wanted && ffi::PyList_SetSlice(copy.as_ptr(), filled, wanted, std::ptr::null_mut()) < 0 {
            return Err(PyErr::fetch(py));
        }
        Ok(copy)
    }
}
