//! Strict equality of JSON values.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use super::MAX_DEPTH;
use super::raw::{self, Type};
use super::string::same_text;
use crate::fault::{Fault, Kind};

/// Whether two values are the same JSON data; `1`, `1.0` and `True` differ, key order doesn't count.
///
/// `depth` is the number of containers above.
pub fn same(left: &Bound<'_, PyAny>, right: &Bound<'_, PyAny>, depth: usize) -> Result<bool, Fault> {
    if left.is(right) {
        return Ok(true);
    }
    let kind = raw::type_of(left);
    if kind != raw::type_of(right) {
        return Ok(false);
    }
    match kind {
        Type::Str => match same_text(left, right) {
            Some(same) => Ok(same),
            None => Ok(left.eq(right)?),
        },
        Type::Int => match (raw::int(left), raw::int(right)) {
            (None, None) => Ok(left.eq(right)?),
            (left, right) => Ok(left == right),
        },
        Type::Float => {
            let (left, right) = (raw::float(left), raw::float(right));
            Ok(left.to_bits() == right.to_bits() && !left.is_nan())
        }
        Type::Dict => dicts(left.cast::<PyDict>()?, right.cast::<PyDict>()?, depth),
        Type::List => lists(left.cast::<PyList>()?, right.cast::<PyList>()?, depth),
        _ => Ok(false),
    }
}

fn dicts(left: &Bound<'_, PyDict>, right: &Bound<'_, PyDict>, depth: usize) -> Result<bool, Fault> {
    if left.len() != right.len() {
        return Ok(false);
    }
    enter(depth)?;
    for (key, value) in raw::items(left) {
        let Some(other) = right.get_item(&key)? else { return Ok(false) };
        if !same(&value, &other, depth + 1).map_err(|fault| fault.at(key.unbind()))? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn lists(left: &Bound<'_, PyList>, right: &Bound<'_, PyList>, depth: usize) -> Result<bool, Fault> {
    if left.len() != right.len() {
        return Ok(false);
    }
    enter(depth)?;
    for index in 0..left.len() {
        let (Ok(value), Ok(other)) = (left.get_item(index), right.get_item(index)) else { return Ok(false) };
        if !same(&value, &other, depth + 1).map_err(|fault| fault.at_index(left.py(), index))? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn enter(depth: usize) -> Result<(), Fault> {
    if depth >= MAX_DEPTH { Err(Fault::new(Kind::TooDeep)) } else { Ok(()) }
}
