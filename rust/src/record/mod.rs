//! An agent state's record: its objective, work items and decisions, kept natively.

mod build;
mod check;
mod entries;
mod item;
mod place;
mod read;
mod scan;
mod write;

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};

use crate::text::buffer::Mark;
use crate::value::fields::Fields;
use build::{DECISION, DECISION_FIELDS, WORK_FIELDS, WORK_ITEM};
use check::{AGENT_STATE_VERSION, Status};
use entries::{Entries, Entry};
use item::dicts;
use place::{Given, Place};

/// An objective, work items and decisions, in the order in which they were added.
///
/// Made by `create`, `restore` or `from_json`. Every method checks its arguments before it changes anything;
/// what it gives is a copy. A fault raises AgentStateError, which names its place by the fields of the snapshot.
///
/// Source: the agent-state specification.
#[pyclass(module = "taskstate.core._native", frozen)]
pub struct Record {
    /// Locked for as long as no Python can run, so that nobody ever waits or finds it taken.
    state: Mutex<AgentState>,
}

pub struct AgentState {
    objective: Option<Py<PyString>>,
    work: Entries<Status>,
    decisions: Entries<()>,
}

#[pymethods]
impl Record {
    #[new]
    fn new(py: Python<'_>) -> PyResult<Self> {
        Self::create(py, None)
    }

    fn __copy__(&self, py: Python<'_>) -> Self {
        self.copy(py)
    }

    fn __deepcopy__(&self, py: Python<'_>, _memo: &Bound<'_, PyAny>) -> Self {
        self.copy(py)
    }

    /// A record of what an application declares; None stands for nothing. A missing status is `open`.
    #[staticmethod]
    #[pyo3(signature = (value = None))]
    fn create(py: Python<'_>, value: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let nothing = PyDict::new(py);
        Ok(build::state(value.unwrap_or(&nothing), Given::Input, false)?.into())
    }

    /// The record that a snapshot, which needn't be trusted, was made of.
    #[staticmethod]
    #[pyo3(signature = (snapshot, reject_unknown = false))]
    fn restore(snapshot: &Bound<'_, PyAny>, reject_unknown: bool) -> PyResult<Self> {
        Ok(build::state(snapshot, Given::Snapshot, reject_unknown)?.into())
    }

    /// `restore` from the JSON text of a snapshot, a str or UTF-8 bytes, nested at most 200 deep.
    #[staticmethod]
    #[pyo3(signature = (text, reject_unknown = false))]
    fn from_json(text: &Bound<'_, PyAny>, reject_unknown: bool) -> PyResult<Self> {
        if let Some(state) = read::state(text)? {
            return Ok(state.into());
        }
        let reference = text.py().import(intern!(text.py(), "taskstate.core._pure.record_text"))?;
        let snapshot = reference.call_method1(intern!(text.py(), "parse"), (text,))?;
        Self::restore(&snapshot, reject_unknown)
    }

    /// A record of its own with the same content.
    fn copy(&self, py: Python<'_>) -> Self {
        self.lock().copy(py).into()
    }

    /// The record as plain data; `objective` comes last, and only where there is one.
    fn snapshot<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (work, decisions, objective) = {
            let state = self.lock();
            (state.work.items(py), state.decisions.items(py), state.objective(py))
        };
        let snapshot = PyDict::new(py);
        snapshot.set_item(intern!(py, "schemaVersion"), AGENT_STATE_VERSION)?;
        snapshot.set_item(intern!(py, "workItems"), dicts(py, &work)?)?;
        snapshot.set_item(intern!(py, "decisions"), dicts(py, &decisions)?)?;
        if let Some(objective) = objective {
            snapshot.set_item(intern!(py, "objective"), objective)?;
        }
        Ok(snapshot)
    }

    /// The compact JSON text of the snapshot.
    fn to_json<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        let text = write::state(py, &self.lock());
        text.to_str(py, Mark::default(), text.mark())
    }

    /// How many work items have each status, and how many there are in `total`.
    fn summary<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let mut counts = [0usize; Status::ALL.len()];
        self.lock().work.iter().for_each(|entry| counts[entry.status as usize] += 1);
        let summary = PyDict::new(py);
        for (name, status) in Status::ALL {
            summary.set_item(name, counts[status as usize])?;
        }
        summary.set_item("total", counts.iter().sum::<usize>())?;
        Ok(summary)
    }

    /// The objective, None where there is none.
    fn objective(&self, py: Python<'_>) -> Option<Py<PyString>> {
        self.lock().objective(py)
    }

    /// Replace the objective; None removes it.
    fn set_objective(&self, objective: &Bound<'_, PyAny>) -> PyResult<()> {
        let objective = if objective.is_none() {
            None
        } else {
            Some(check::plain_str(Some(objective.clone()), input(objective.py()), "objective")?.unbind())
        };
        self.lock().objective = objective;
        Ok(())
    }

    /// How many work items there are.
    fn work_count(&self) -> usize {
        self.lock().work.len()
    }

    /// Add a work item at the end and give it back; its status is `open` unless it says otherwise.
    fn add_work_item<'py>(&self, item: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
        let place = input(item.py());
        let item = build::work_item(item, &mut Fields::new(WORK_FIELDS), place, false)?;
        let shown = item.dict(place.py())?;
        let added = self.lock().work.add(item);
        added.map_err(|item| place.duplicate(WORK_ITEM, &item.id))?;
        Ok(shown)
    }

    /// Give a work item another status; it keeps its place.
    fn set_work_item_status<'py>(
        &self,
        item_id: &Bound<'py, PyAny>,
        status: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let place = input(item_id.py());
        let id = check::text(Some(item_id.clone()), place, "id")?;
        let status = check::status(Some(status.clone()), place)?;
        self.change(place, &id, |entry| entry.status = status)
    }

    /// Give a work item another content; it keeps its place.
    fn set_work_item_content<'py>(
        &self,
        item_id: &Bound<'py, PyAny>,
        content: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let place = input(item_id.py());
        let id = check::text(Some(item_id.clone()), place, "id")?;
        let content = check::text(Some(content.clone()), place, "content")?;
        self.change(place, &id, |entry| entry.content = content.unbind())
    }

    /// The work item of that id; None where there is none, whatever was given.
    fn get_work_item<'py>(&self, item_id: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let py = item_id.py();
        let Ok(id) = item_id.cast_exact::<PyString>() else { return Ok(None) };
        let item = self.lock().work.get(id).map(|entry| entry.item(py));
        item.map(|item| item.dict(py)).transpose()
    }

    /// The work items in order.
    fn list_work_items<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let items = self.lock().work.items(py);
        dicts(py, &items)
    }

    /// Remove the work item of that id; False where there is none.
    fn remove_work_item(&self, item_id: &Bound<'_, PyAny>) -> bool {
        item_id.cast_exact::<PyString>().is_ok_and(|id| self.lock().work.remove(id))
    }

    /// Add a decision at the end and give it back.
    fn add_decision<'py>(&self, decision: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
        let place = input(decision.py());
        let decision = build::decision(decision, &mut Fields::new(DECISION_FIELDS), place, false)?;
        let shown = decision.dict(place.py())?;
        let added = self.lock().decisions.add(decision);
        added.map_err(|decision| place.duplicate(DECISION, &decision.id))?;
        Ok(shown)
    }

    /// The decision of that id; None where there is none, whatever was given.
    fn get_decision<'py>(&self, item_id: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let py = item_id.py();
        let Ok(id) = item_id.cast_exact::<PyString>() else { return Ok(None) };
        let item = self.lock().decisions.get(id).map(|entry| entry.item(py));
        item.map(|item| item.dict(py)).transpose()
    }

    /// The decisions in order.
    fn list_decisions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let items = self.lock().decisions.items(py);
        dicts(py, &items)
    }

    /// Remove the decision of that id; False where there is none.
    fn remove_decision(&self, item_id: &Bound<'_, PyAny>) -> bool {
        item_id.cast_exact::<PyString>().is_ok_and(|id| self.lock().decisions.remove(id))
    }
}

impl Record {
    fn lock(&self) -> MutexGuard<'_, AgentState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Change a work item that is there, and give it back.
    fn change<'py>(
        &self,
        place: Place<'_, 'py>,
        id: &Bound<'py, PyString>,
        change: impl FnOnce(&mut Entry<Status>),
    ) -> PyResult<Bound<'py, PyDict>> {
        let changed = self.lock().work.get_mut(id).map(|entry| {
            change(entry);
            entry.item(place.py())
        });
        match changed {
            Some(item) => item.dict(place.py()),
            None => Err(place.unknown(WORK_ITEM, id).into()),
        }
    }
}

impl AgentState {
    fn copy(&self, py: Python<'_>) -> Self {
        Self { objective: self.objective(py), work: self.work.copy(py), decisions: self.decisions.copy(py) }
    }

    fn objective(&self, py: Python<'_>) -> Option<Py<PyString>> {
        self.objective.as_ref().map(|text| text.clone_ref(py))
    }
}

impl From<AgentState> for Record {
    fn from(state: AgentState) -> Self {
        Self { state: Mutex::new(state) }
    }
}

fn input(py: Python<'_>) -> Place<'_, '_> {
    Place::root(py, Given::Input)
}
