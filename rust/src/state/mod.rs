//! What a task state is; merging two of them is in `merge` and `three_way`.

pub mod merge;
mod overlap;
mod three_way;

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};

use crate::fault::state_fault;
use crate::value::raw::{self, Type};
use crate::value::string::{Text, text};

/// The fields of a task state, each of its type.
pub struct State<'py> {
    pub whole: Bound<'py, PyDict>,
    pub checkpoints: Bound<'py, PyList>,
    pub files: Bound<'py, PyList>,
    pub data: Bound<'py, PyDict>,
}

impl<'py> State<'py> {
    pub fn empty(py: Python<'py>) -> Self {
        Self { whole: PyDict::new(py), checkpoints: PyList::empty(py), files: PyList::empty(py), data: PyDict::new(py) }
    }

    /// Whether the three fields are there, and every checkpoint is one.
    pub fn shape(state: &Bound<'py, PyAny>, name: &str) -> PyResult<Self> {
        let py = state.py();
        let Ok(whole) = state.cast_exact::<PyDict>() else {
            return Err(state_fault(py, "a task state (a dict)", name, (None, None, None), Some(state)));
        };
        let field = |key: &Bound<'py, PyString>| -> PyResult<Bound<'py, PyAny>> {
            let missing = || state_fault(py, "missing", name, (key.to_str().ok(), None, None), None);
            whole.get_item(key)?.ok_or_else(missing)
        };
        let list = |key: &Bound<'py, PyString>| -> PyResult<Bound<'py, PyList>> {
            let value = field(key)?;
            if !value.is_exact_instance_of::<PyList>() {
                return Err(state_fault(py, "a list", name, (key.to_str().ok(), None, None), Some(&value)));
            }
            Ok(value.cast_into::<PyList>()?)
        };
        let checkpoints = list(intern!(py, "checkpoints"))?;
        let files = list(intern!(py, "files"))?;
        let data = field(intern!(py, "data"))?;
        if !data.is_exact_instance_of::<PyDict>() {
            return Err(state_fault(py, "a dict", name, (Some("data"), None, None), Some(&data)));
        }
        let state = Self { whole: whole.clone(), checkpoints, files, data: data.cast_into::<PyDict>()? };
        for (index, checkpoint) in state.checkpoints.iter().enumerate() {
            check_checkpoint(&checkpoint, index, name)?;
        }
        Ok(state)
    }

    /// `shape`, and every file is a str.
    fn checked(state: &Bound<'py, PyAny>, name: &str) -> PyResult<Self> {
        let state = Self::shape(state, name)?;
        for (index, file) in state.files.iter().enumerate() {
            if raw::type_of(&file) != Type::Str {
                return Err(state_fault(file.py(), "a str", name, (Some("files"), Some(index), None), Some(&file)));
            }
        }
        Ok(state)
    }
}

fn check_checkpoint(checkpoint: &Bound<'_, PyAny>, index: usize, name: &str) -> PyResult<()> {
    let py = checkpoint.py();
    let place = |field| (Some("checkpoints"), Some(index), field);
    let Ok(entry) = checkpoint.cast_exact::<PyDict>() else {
        return Err(state_fault(py, "a dict", name, place(None), Some(checkpoint)));
    };
    if is_written_by_us(entry) {
        return Ok(());
    }
    for key in [intern!(py, "timestamp"), intern!(py, "depth")] {
        let Some(value) = entry.get_item(key)? else {
            return Err(state_fault(py, "missing", name, place(key.to_str().ok()), None));
        };
        if !is_number(&value) {
            return Err(state_fault(py, "a finite number", name, place(key.to_str().ok()), Some(&value)));
        }
    }
    Ok(())
}

fn is_number(value: &Bound<'_, PyAny>) -> bool {
    match raw::type_of(value) {
        Type::Int => true,
        Type::Float => raw::float(value).is_finite(),
        _ => false,
    }
}

/// Whether a checkpoint begins with the two fields in the order in which they are written: seen without a lookup.
fn is_written_by_us(entry: &Bound<'_, PyDict>) -> bool {
    let mut fields = raw::items(entry);
    [&b"timestamp"[..], b"depth"].into_iter().all(|name| {
        fields.next().is_some_and(|(key, value)| {
            matches!(text(&key), Some(Text::Ascii(key)) if key == name) && is_number(&value)
        })
    })
}

/// Check that a value is a task state: a dict with list `checkpoints`, list `files` and dict `data`.
///
/// A checkpoint is a dict whose `timestamp` and `depth` are finite numbers, a file is a str; other keys
/// are allowed, and values in `data` are not looked at. Raises InvalidStateError with the path below `name`.
#[pyfunction]
#[pyo3(signature = (state, name = ""))]
pub fn check_state(state: &Bound<'_, PyAny>, name: &str) -> PyResult<()> {
    State::checked(state, name).map(drop)
}
