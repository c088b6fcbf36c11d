//! The three-way merge of a child against what it inherited.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use super::State;
use super::merge::joined;
use super::overlap::overlap;
use crate::fault::{Fault, Kind, format_path};
use crate::value::raw::{self, Type};
use crate::value::{MAX_DEPTH, same};

const OUTCOME_KEY: &str = "__outcome";

/// What the parent holds at one place after the child's change of it.
enum Change<'py> {
    Keep,
    Absent,
    Value(Bound<'py, PyAny>),
}

type Place<'a, 'py> = Option<&'a Bound<'py, PyAny>>;

pub fn three_way<'py>(
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
    let kept = overlap(&base.checkpoints, &child.checkpoints).map_err(too_deep)?;
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
        base: Place<'_, 'py>,
        parent: Place<'_, 'py>,
        child: Place<'_, 'py>,
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
        base: Place<'_, 'py>,
        parent: Place<'_, 'py>,
        child: Place<'_, 'py>,
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
fn unchanged(base: Place<'_, '_>, child: Place<'_, '_>, depth: usize) -> Result<bool, Fault> {
    let (Some(base), Some(child)) = (base, child) else { return Ok(false) };
    Ok(child.is(base) || (raw::type_of(child) != Type::Dict && same(child, base, depth)?))
}

fn as_dict<'a, 'py>(value: Place<'a, 'py>) -> Option<&'a Bound<'py, PyDict>> {
    value.and_then(|value| value.cast_exact::<PyDict>().ok())
}

fn lookup<'py>(dict: Option<&Bound<'py, PyDict>>, key: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    dict.map_or(Ok(None), |dict| dict.get_item(key))
}

fn agree(left: Place<'_, '_>, right: Place<'_, '_>, depth: usize) -> Result<bool, Fault> {
    match (left, right) {
        (Some(left), Some(right)) => same(left, right, depth),
        (left, right) => Ok(left.is_none() && right.is_none()),
    }
}
