//! Merge at a child boundary: shallow, by namespace, or three-way.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};

use super::State;
use super::three_way::three_way;
use crate::fault::{mode_fault, state_fault};
use crate::value::raw::{self, Type};
use crate::value::{DEFAULT_MAX_BYTES, walk};

const MAX_CHECKPOINTS: usize = 50;

/// How the child's data joins the parent's.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Shallow,
    Namespace,
    ThreeWay,
}

fn known_mode(mode: &Bound<'_, PyAny>) -> PyResult<Mode> {
    match mode.cast::<PyString>().ok().and_then(|mode| mode.to_str().ok()) {
        Some("shallow") => Ok(Mode::Shallow),
        Some("namespace") => Ok(Mode::Namespace),
        Some("three_way") => Ok(Mode::ThreeWay),
        _ => Err(mode_fault(mode)?),
    }
}

/// The key that the child's data gets in the mode `namespace`.
fn checked_id(id: &Bound<'_, PyAny>) -> PyResult<()> {
    if raw::type_of(id) != Type::Str {
        return Err(state_fault(id.py(), "a str", "execution_id", (None, None, None), Some(id)));
    }
    walk::measure(id, DEFAULT_MAX_BYTES, 0).map(drop).map_err(|fault| fault.error("execution_id", id))
}

/// An argument as it is, so that an explicit None differs from a missing one, and a refusal carries no note of PyO3's.
#[expect(clippy::unnecessary_wraps, reason = "the shape that `from_py_with` asks for")]
fn given<'py>(argument: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    Ok(Some(argument.clone()))
}

/// The merged state and the paths of conflicts; see `taskstate.core.merge`.
#[pyfunction]
#[pyo3(
    signature = (parent, child, *, mode = None, execution_id = None, base = None),
    text_signature = "(parent, child, *, mode='shallow', execution_id='', base=None)"
)]
pub fn merge<'py>(
    parent: &Bound<'py, PyAny>,
    child: &Bound<'py, PyAny>,
    #[pyo3(from_py_with = given)] mode: Option<Bound<'py, PyAny>>,
    #[pyo3(from_py_with = given)] execution_id: Option<Bound<'py, PyAny>>,
    base: Option<&Bound<'py, PyAny>>,
) -> PyResult<(Bound<'py, PyDict>, Bound<'py, PyList>)> {
    let py = parent.py();
    let mode = mode.as_ref().map_or(Ok(Mode::Shallow), known_mode)?;
    execution_id.as_ref().map_or(Ok(()), checked_id)?;
    let child_state = State::checked(child, "child")?;
    let parent = if parent.is_none() { State::empty(py) } else { State::checked(parent, "parent")? };
    if mode == Mode::ThreeWay {
        let base = base.map_or_else(|| Ok(State::empty(py)), |base| State::checked(base, "base"))?;
        return three_way(&base, &parent, &child_state);
    }
    let data = parent.data.copy()?;
    if mode == Mode::Shallow {
        data.update(child_state.data.as_mapping())?;
    } else if let Some(id) = execution_id {
        data.set_item(id, &child_state.data)?;
    } else {
        data.set_item("", &child_state.data)?;
    }
    let files = PyDict::new(py);
    for file in parent.files.iter().chain(child_state.files.iter()) {
        files.set_item(file, py.None())?;
    }
    let merged = PyDict::new(py);
    merged.set_item(intern!(py, "checkpoints"), joined(&parent.checkpoints, &child_state.checkpoints, 0)?)?;
    merged.set_item(intern!(py, "files"), files.keys())?;
    merged.set_item(intern!(py, "data"), data)?;
    Ok((merged, PyList::empty(py)))
}

/// The newest 50 of the parent's checkpoints and the child's from `start` on.
pub fn joined<'py>(
    parent: &Bound<'py, PyList>,
    child: &Bound<'py, PyList>,
    start: usize,
) -> PyResult<Bound<'py, PyList>> {
    let (before, after) = (parent.len(), child.len().saturating_sub(start));
    let dropped = (before + after).saturating_sub(MAX_CHECKPOINTS);
    let joined = parent.get_slice(dropped.min(before), before);
    for checkpoint in child.get_slice(start + dropped.saturating_sub(before), child.len()).iter() {
        joined.append(checkpoint)?;
    }
    Ok(joined)
}
