//! The fields of dicts. What makes it sound is said in `raw`.

#![allow(unsafe_code, reason = "this room reads objects directly; each block says why it may")]

use std::ptr::null_mut;

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::string::{Text, text};

/// Finds the fields of small dicts by name; a key that isn't exactly a `str` names none.
///
/// Looks at every entry, which is quicker than to look fields up one by one, and remembers the keys: dicts
/// that were made alike have the same objects for theirs.
pub struct Fields<'py, const N: usize> {
    names: [&'static str; N],
    known: [Option<Bound<'py, PyAny>>; N],
}

impl<'py, const N: usize> Fields<'py, N> {
    pub fn new(names: [&'static str; N]) -> Self {
        Self { names, known: [const { None }; N] }
    }

    /// The values of the fields, in the order of the names.
    #[inline]
    pub fn of(&mut self, dict: &Bound<'py, PyDict>) -> [Option<Bound<'py, PyAny>>; N] {
        let mut values = [const { None }; N];
        let (mut position, mut missing) = (0, N);
        let (mut key, mut value) = (null_mut(), null_mut());
        // SAFETY: PyDict_Next gives borrowed pointers to an entry that is there, and a value that is kept gets a
        // reference of its own. In between only a `str` is read and another one's reference dropped, which run nothing;
        // a key that can't be read names no field, and neither it nor its value is used after that.
        unsafe {
            while missing > 0 && ffi::PyDict_Next(dict.as_ptr(), &raw mut position, &raw mut key, &raw mut value) != 0 {
                let is_key =
                    |known: &Option<Bound<'_, PyAny>>| known.as_ref().is_some_and(|known| known.as_ptr() == key);
                let index = self.known.iter().position(is_key);
                let index = index.or_else(|| self.find(&Borrowed::from_ptr(dict.py(), key)));
                if let Some(index) = index {
                    values[index] = Some(Bound::from_borrowed_ptr(dict.py(), value));
                    missing -= 1;
                }
            }
        }
        values
    }

    #[inline(never)]
    fn find(&mut self, key: &Bound<'py, PyAny>) -> Option<usize> {
        let Some(Text::Ascii(name)) = text(key) else { return None };
        let index = self.names.iter().position(|known| known.as_bytes() == name)?;
        self.known[index] = Some(key.clone());
        Some(index)
    }
}
