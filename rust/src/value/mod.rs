//! Check, clone, measure and compare JSON values.

pub mod bytes;
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

#[pyfunction]
#[pyo3(signature = (value, name = "value", *, max_bytes = DEFAULT_MAX_BYTES, depth = 0))]
pub fn clone(value: &Bound<'_, PyAny>, name: &str, max_bytes: usize, depth: usize) -> PyResult<Py<PyAny>> {
    walk::clone(value, max_bytes, depth).map_err(|fault| fault.error(name, value))
}

#[pyfunction]
#[pyo3(signature = (value, name = "value", *, max_bytes = DEFAULT_MAX_BYTES, depth = 0))]
pub fn validate(value: &Bound<'_, PyAny>, name: &str, max_bytes: usize, depth: usize) -> PyResult<()> {
    walk::measure(value, max_bytes, depth).map(drop).map_err(|fault| fault.error(name, value))
}

#[pyfunction]
#[pyo3(signature = (value, name = "value", *, max_bytes = DEFAULT_MAX_BYTES))]
pub fn measure(value: &Bound<'_, PyAny>, name: &str, max_bytes: usize) -> PyResult<usize> {
    walk::measure(value, max_bytes, 0).map_err(|fault| fault.error(name, value))
}

#[pyfunction]
pub fn equal(left: &Bound<'_, PyAny>, right: &Bound<'_, PyAny>) -> PyResult<bool> {
    same(left, right, 0).map_err(|fault: Fault| fault.error("value", left))
}
