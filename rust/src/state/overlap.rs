//! Which checkpoints a child has from its base.

use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::fault::Fault;
use crate::value::same;

/// The largest k such that the last k of `base` are the first k of `child` (Knuth-Morris-Pratt).
pub fn overlap(base: &Bound<'_, PyList>, child: &Bound<'_, PyList>) -> Result<usize, Fault> {
    if begins_with(child, base)? {
        return Ok(base.len());
    }
    let child: Vec<_> = child.iter().collect();
    let mut fallback: Vec<usize> = Vec::with_capacity(child.len());
    let step = |fallback: &[usize], mut length: usize, item: &Bound<'_, PyAny>| -> Result<usize, Fault> {
        loop {
            let next = child.get(length);
            if let Some(next) = next
                && same(item, next, 2)?
            {
                return Ok(length + 1);
            }
            match length.checked_sub(1) {
                Some(last) => length = fallback.get(last).copied().unwrap_or(0),
                None => return Ok(0),
            }
        }
    };
    for (index, item) in child.iter().enumerate() {
        let length = match index.checked_sub(1) {
            Some(last) => step(&fallback, fallback.get(last).copied().unwrap_or(0), item)?,
            None => 0,
        };
        fallback.push(length);
    }
    let mut length = 0;
    for item in base.iter() {
        length = step(&fallback, length, &item)?;
    }
    Ok(length)
}

fn begins_with(list: &Bound<'_, PyList>, start: &Bound<'_, PyList>) -> Result<bool, Fault> {
    if start.len() > list.len() {
        return Ok(false);
    }
    for (item, other) in list.iter().zip(start.iter()) {
        if !same(&item, &other, 2)? {
            return Ok(false);
        }
    }
    Ok(true)
}
