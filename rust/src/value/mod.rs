//! Check, clone, measure and compare JSON values.

pub mod bytes;
pub mod fields;
pub mod raw;
mod same;
pub mod string;
pub mod walk;

use pyo3::prelude::*;

use crate::fault::Fault;
pub use same::same;

/// Most containers that may be nested in one another, the root included.
pub const MAX_DEPTH: usize = 200;
pub const DEFAULT_MAX_BYTES: usize = 64 * 1024 * 1024;

/// A deep copy of JSON data that shares no container with it; tuples become lists.
///
/// Accepts exact dict (str keys), list, tuple, str without lone surrogates, bool, None, finite float and
/// int from -2^63 to 2^64-1, at most 200 containers deep. `name` is what errors call the value, `max_bytes`
/// limits its size as `measure` counts it, `depth` tells how many containers it will lie in.
///
/// Raises InvalidValueError with the path of the first fault, StateTooLargeError for the limit.
#[pyfunction]
#[pyo3(
    signature = (value, name = "value", *, max_bytes = DEFAULT_MAX_BYTES, depth = 0),
    text_signature = "(value, name='value', *, max_bytes=67108864, depth=0)"
)]
pub fn clone(value: &Bound<'_, PyAny>, name: &str, max_bytes: usize, depth: usize) -> PyResult<Py<PyAny>> {
    walk::clone(value, max_bytes, depth).map_err(|fault| fault.error(name, value))
}

/// Check that a value is JSON data, as `clone` does, without copying it.
#[pyfunction]
#[pyo3(
    signature = (value, name = "value", *, max_bytes = DEFAULT_MAX_BYTES, depth = 0),
    text_signature = "(value, name='value', *, max_bytes=67108864, depth=0)"
)]
pub fn validate(value: &Bound<'_, PyAny>, name: &str, max_bytes: usize, depth: usize) -> PyResult<()> {
    walk::measure(value, max_bytes, depth).map(drop).map_err(|fault| fault.error(name, value))
}

/// The size of JSON data in bytes: 8 for every value, and the UTF-8 length of every str and key.
///
/// Raises as `clone` does; a value over `max_bytes` isn't counted to its end.
#[pyfunction]
#[pyo3(
    signature = (value, name = "value", *, max_bytes = DEFAULT_MAX_BYTES),
    text_signature = "(value, name='value', *, max_bytes=67108864)"
)]
pub fn measure(value: &Bound<'_, PyAny>, name: &str, max_bytes: usize) -> PyResult<usize> {
    walk::measure(value, max_bytes, 0).map_err(|fault| fault.error(name, value))
}

/// Whether two values are the same JSON data.
///
/// Strict by type: `1`, `1.0` and `True` differ, and so do `0.0` and `-0.0`. The order of keys doesn't
/// count. Raises InvalidValueError where they are nested too deep to tell.
#[pyfunction]
pub fn equal(left: &Bound<'_, PyAny>, right: &Bound<'_, PyAny>) -> PyResult<bool> {
    same(left, right, 0).map_err(|fault: Fault| fault.error("value", left))
}
