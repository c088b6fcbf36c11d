//! Merge at a child boundary: shallow, by namespace, or three-way against what the child inherited.

mod overlap;

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};

use crate::fault::{Fault, Kind, format_path, mode_fault, state_fault};
use crate::value::raw::{self, Type};
use crate::value::string::{Text, text};
use crate::value::{DEFAULT_MAX_BYTES, MAX_DEPTH, same, walk};

const MAX_CHECKPOINTS: usize = 50;
const OUTCOME_KEY: &str = "__outcome";

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
fn joined<'py>(parent: &Bound<'py, PyList>, child: &Bound<'py, PyList>, start: usize) -> PyResult<Bound<'py, PyList>> {
    let (before, after) = (parent.len(), child.len().saturating_sub(start));
    let dropped = (before + after).saturating_sub(MAX_CHECKPOINTS);
    let joined = parent.get_slice(dropped.min(before), before);
    for checkpoint in child.get_slice(start + dropped.saturating_sub(before), child.len()).iter() {
        joined.append(checkpoint)?;
    }
    Ok(joined)
}

/// What the parent holds at one place after the child's change of it.
enum Change<'py> {
    Keep,
    Absent,
    Value(Bound<'py, PyAny>),
}

type Slot<'a, 'py> = Option<&'a Bound<'py, PyAny>>;

fn three_way<'py>(
    base: &State<'py>,
    parent: &State<'py>,
    child: &State<'py>,
) -> PyResult<(Bound<'py, PyDict>, Bound<'py, PyList>)> {
    let py = parent.data.py();
    let conflicts = PyList::empty(py);
    let mut merge = ThreeWay { conflicts: &conflicts, path: vec![intern!(py, "data").clone().into_any()] };
    let too_deep = |fault: Fault| match fault {
        Fault::Python(error) => *error,
        Fault::Data(_) => Fault::new(Kind::TooDeep).error("child", child.whole.as_any()),
    };
    let inherited = without_outcome(&base.data)?;
    let last = without_outcome(&child.data)?;
    let change = merge
        .value(Some(inherited.as_any()), Some(parent.data.as_any()), Some(last.as_any()), false)
        .map_err(too_deep)?;
    let kept = overlap::overlap(&base.checkpoints, &child.checkpoints).map_err(too_deep)?;
    let data = match change {
        Change::Value(data) => data,
        _ => parent.data.clone().into_any(),
    };
    let known = PyDict::new(py);
    for file in base.files.iter().chain(parent.files.iter()) {
        known.set_item(file, py.None())?;
    }
    let files = parent.files.get_slice(0, parent.files.len());
    for file in child.files.iter() {
        if !known.contains(&file)? {
            known.set_item(&file, py.None())?;
            files.append(file)?;
        }
    }
    let merged = parent.whole.copy()?;
    merged.set_item(intern!(py, "checkpoints"), joined(&parent.checkpoints, &child.checkpoints, kept)?)?;
    merged.set_item(intern!(py, "files"), files)?;
    merged.set_item(intern!(py, "data"), data)?;
    Ok((merged, conflicts))
}

fn without_outcome<'py>(data: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyDict>> {
    if !data.contains(OUTCOME_KEY)? {
        return Ok(data.clone());
    }
    let rest = data.copy()?;
    rest.del_item(OUTCOME_KEY)?;
    Ok(rest)
}

struct ThreeWay<'a, 'py> {
    conflicts: &'a Bound<'py, PyList>,
    path: Vec<Bound<'py, PyAny>>,
}

impl<'py> ThreeWay<'_, 'py> {
    /// `quiet` below a place that is a conflict already.
    fn value(
        &mut self,
        base: Slot<'_, 'py>,
        parent: Slot<'_, 'py>,
        child: Slot<'_, 'py>,
        quiet: bool,
    ) -> Result<Change<'py>, Fault> {
        if unchanged(base, child, self.path.len())? {
            Ok(Change::Keep)
        } else {
            self.change(base, parent, child, quiet)
        }
    }

    /// As `value`, where the child's value isn't seen to be that of the base at once.
    fn change(
        &mut self,
        base: Slot<'_, 'py>,
        parent: Slot<'_, 'py>,
        child: Slot<'_, 'py>,
        quiet: bool,
    ) -> Result<Change<'py>, Fault> {
        let depth = self.path.len();
        let dict = child.filter(|child| raw::type_of(child) == Type::Dict);
        let Some(child) = dict else {
            if !quiet && !agree(parent, base, depth)? && !agree(parent, child, depth)? {
                self.conflict()?;
            }
            return Ok(child.map_or(Change::Absent, |child| Change::Value(child.clone())));
        };
        if depth >= MAX_DEPTH {
            return Err(Fault::new(Kind::TooDeep));
        }
        let base_dict = as_dict(base);
        let parent_dict = as_dict(parent);
        let replaced = parent_dict.is_none() && !agree(parent, base, depth)?;
        let edits = self.edits(base_dict, parent_dict, child.cast::<PyDict>()?, quiet || replaced)?;
        if edits.is_empty() && base_dict.is_some() {
            return Ok(Change::Keep);
        }
        let merged = match parent_dict {
            Some(parent) => parent.copy()?,
            None => PyDict::new(child.py()),
        };
        for (key, change) in edits {
            match change {
                Change::Value(value) => merged.set_item(key, value)?,
                Change::Absent if merged.contains(&key)? => merged.del_item(key)?,
                Change::Absent | Change::Keep => {}
            }
        }
        if replaced {
            if parent.is_none() && base_dict.is_some() && merged.is_empty() {
                return Ok(Change::Absent);
            }
            if !quiet {
                self.conflict()?;
            }
        }
        Ok(Change::Value(merged.into_any()))
    }

    /// The keys of a dict that the child added, changed or removed, with what they become.
    fn edits(
        &mut self,
        base: Option<&Bound<'py, PyDict>>,
        parent: Option<&Bound<'py, PyDict>>,
        child: &Bound<'py, PyDict>,
        quiet: bool,
    ) -> Result<Vec<(Bound<'py, PyAny>, Change<'py>)>, Fault> {
        let mut edits = Vec::new();
        let mut kept = 0;
        let untouched = base.zip(parent).is_some_and(|(base, parent)| base.is(parent));
        for (key, value) in raw::items(child) {
            let before = lookup(base, &key)?;
            kept += usize::from(before.is_some());
            if unchanged(before.as_ref(), Some(&value), self.path.len() + 1)? {
                continue;
            }
            let now = if untouched { before.clone() } else { lookup(parent, &key)? };
            self.path.push(key.clone());
            let change = self.change(before.as_ref(), now.as_ref(), Some(&value), quiet)?;
            self.path.pop();
            if !matches!(change, Change::Keep) {
                edits.push((key, change));
            }
        }
        if let Some(base) = base
            && kept < base.len()
        {
            for (key, before) in raw::items(base) {
                if child.contains(&key)? {
                    continue;
                }
                let now = lookup(parent, &key)?;
                self.path.push(key.clone());
                let change = self.value(Some(&before), now.as_ref(), None, quiet)?;
                self.path.pop();
                edits.push((key, change));
            }
        }
        Ok(edits)
    }

    fn conflict(&self) -> PyResult<()> {
        self.conflicts.append(format_path(self.conflicts.py(), &self.path)?)
    }
}

/// Whether the child's value is that of the base, as far as can be told without going through a dict.
fn unchanged(base: Slot<'_, '_>, child: Slot<'_, '_>, depth: usize) -> Result<bool, Fault> {
    let (Some(base), Some(child)) = (base, child) else { return Ok(false) };
    Ok(child.is(base) || (raw::type_of(child) != Type::Dict && same(child, base, depth)?))
}

fn as_dict<'a, 'py>(value: Slot<'a, 'py>) -> Option<&'a Bound<'py, PyDict>> {
    value.and_then(|value| value.cast_exact::<PyDict>().ok())
}

fn lookup<'py>(dict: Option<&Bound<'py, PyDict>>, key: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    dict.map_or(Ok(None), |dict| dict.get_item(key))
}

fn agree(left: Slot<'_, '_>, right: Slot<'_, '_>, depth: usize) -> Result<bool, Fault> {
    match (left, right) {
        (Some(left), Some(right)) => same(left, right, depth),
        (left, right) => Ok(left.is_none() && right.is_none()),
    }
}
