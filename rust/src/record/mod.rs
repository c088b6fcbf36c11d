//! An agent state's record: its objective, work items and decisions, kept natively.

mod build;
mod check;
mod entries;
mod place;
mod read;
mod scan;
mod write;

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList, PyString};
use pyo3::{Py, intern};

use build::{DECISION, WORK_ITEM};
use check::{SCHEMA_VERSION, Status};
use entries::{Entries, Entry};
use place::{Given, Place};

/// An objective, work items and decisions, in the order in which they were added.
///
/// Made by `create`, `restore` or `from_json`. Every method checks its arguments before it changes anything;
/// what it gives is a copy. A fault raises AgentStateError, which names its place by the fields of the snapshot.
///
/// Source: the agent-state specification.
#[pyclass(module = "taskstate.core._native")]
pub struct Record {
    objective: Option<Py<PyString>>,
    work: Entries<Status>,
    decisions: Entries<()>,
}

#[pymethods]
impl Record {
    /// A record of what an application declares; None stands for nothing. A missing status is `open`.
    #[staticmethod]
    #[pyo3(signature = (value = None))]
    fn create(py: Python<'_>, value: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let nothing = PyDict::new(py);
        Ok(build::record(value.unwrap_or(&nothing), Given::Input, false)?)
    }

    /// The record that a snapshot, which needn't be trusted, was made of.
    #[staticmethod]
    #[pyo3(signature = (snapshot, reject_unknown = false))]
    fn restore(snapshot: &Bound<'_, PyAny>, reject_unknown: bool) -> PyResult<Self> {
        Ok(build::record(snapshot, Given::Snapshot, reject_unknown)?)
    }

    /// `restore` from the JSON text of a snapshot, a str or UTF-8 bytes, nested at most 200 deep.
    #[staticmethod]
    #[pyo3(signature = (text, reject_unknown = false))]
    fn from_json(text: &Bound<'_, PyAny>, reject_unknown: bool) -> PyResult<Self> {
        if let Some(record) = read::record(text)? {
            return Ok(record);
        }
        let reference = text.py().import(intern!(text.py(), "taskstate.core._pure.record_text"))?;
        let snapshot = reference.call_method1(intern!(text.py(), "parse"), (text,))?;
        Ok(build::record(&snapshot, Given::Snapshot, reject_unknown)?)
    }

    /// A record of its own with the same content.
    fn copy(&self, py: Python<'_>) -> Self {
        let objective = self.objective.as_ref().map(|text| text.clone_ref(py));
        Self { objective, work: self.work.copy(py), decisions: self.decisions.copy(py) }
    }

    /// The record as plain data; `objective` comes last, and only where there is one.
    fn snapshot<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let snapshot = PyDict::new(py);
        snapshot.set_item(intern!(py, "schemaVersion"), SCHEMA_VERSION)?;
        snapshot.set_item(intern!(py, "workItems"), self.list_work_items(py)?)?;
        snapshot.set_item(intern!(py, "decisions"), self.list_decisions(py)?)?;
        if let Some(objective) = &self.objective {
            snapshot.set_item(intern!(py, "objective"), objective)?;
        }
        Ok(snapshot)
    }

    /// The compact JSON text of the snapshot.
    fn to_json<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        write::record(py, self)
    }

    /// How many work items have each status, and how many there are in `total`.
    fn counts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let mut counts = [0usize; Status::ALL.len()];
        for entry in self.work.iter() {
            counts[entry.status as usize] += 1;
        }
        let summary = PyDict::new(py);
        for (name, status) in Status::ALL {
            summary.set_item(name, counts[status as usize])?;
        }
        summary.set_item("total", self.work.len())?;
        Ok(summary)
    }

    /// The objective, None where there is none.
    fn objective(&self, py: Python<'_>) -> Option<Py<PyString>> {
        self.objective.as_ref().map(|text| text.clone_ref(py))
    }

    /// Replace the objective; None removes it.
    fn set_objective(&mut self, objective: &Bound<'_, PyAny>) -> PyResult<()> {
        self.objective = if objective.is_none() {
            None
        } else {
            Some(check::plain_str(Some(objective.clone()), input(objective.py()), "objective")?.unbind())
        };
        Ok(())
    }

    /// How many work items there are.
    fn work_count(&self) -> usize {
        self.work.len()
    }

    /// Add a work item at the end and give it back; its status is `open` unless it says otherwise.
    fn add_work_item<'py>(&mut self, item: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
        let id = build::add_work_item(&mut self.work, item, input(item.py()), true, false)?;
        known(self.work.get(&id), WORK_ITEM, &id).and_then(|entry| work_item(item.py(), entry))
    }

    /// Give a work item another status; it keeps its place.
    fn set_work_item_status<'py>(
        &mut self,
        item_id: &Bound<'py, PyAny>,
        status: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let py = item_id.py();
        let id = check::text(Some(item_id.clone()), input(py), "id")?;
        let status = check::status(Some(status.clone()), input(py))?;
        let entry = known(self.work.get_mut(&id), WORK_ITEM, &id)?;
        entry.status = status;
        work_item(py, entry)
    }

    /// Give a work item another content; it keeps its place.
    fn set_work_item_content<'py>(
        &mut self,
        item_id: &Bound<'py, PyAny>,
        content: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let py = item_id.py();
        let id = check::text(Some(item_id.clone()), input(py), "id")?;
        let content = check::text(Some(content.clone()), input(py), "content")?;
        let entry = known(self.work.get_mut(&id), WORK_ITEM, &id)?;
        entry.content = content.unbind();
        work_item(py, entry)
    }

    /// The work item of that id; None where there is none, whatever was given.
    fn get_work_item<'py>(&self, item_id: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let id = item_id.cast_exact::<PyString>().ok();
        id.and_then(|id| self.work.get(id)).map(|entry| work_item(item_id.py(), entry)).transpose()
    }

    /// The work items in order.
    fn list_work_items<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        list(py, &self.work, work_item)
    }

    /// Remove the work item of that id; False where there is none.
    fn remove_work_item(&mut self, item_id: &Bound<'_, PyAny>) -> bool {
        item_id.cast_exact::<PyString>().is_ok_and(|id| self.work.remove(id))
    }

    /// Add a decision at the end and give it back.
    fn add_decision<'py>(&mut self, decision: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
        let id = build::add_decision(&mut self.decisions, decision, input(decision.py()), false)?;
        known(self.decisions.get(&id), DECISION, &id).and_then(|entry| self::decision(decision.py(), entry))
    }

    /// The decision of that id; None where there is none, whatever was given.
    fn get_decision<'py>(&self, item_id: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let id = item_id.cast_exact::<PyString>().ok();
        id.and_then(|id| self.decisions.get(id)).map(|entry| decision(item_id.py(), entry)).transpose()
    }

    /// The decisions in order.
    fn list_decisions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        list(py, &self.decisions, decision)
    }

    /// Remove the decision of that id; False where there is none.
    fn remove_decision(&mut self, item_id: &Bound<'_, PyAny>) -> bool {
        item_id.cast_exact::<PyString>().is_ok_and(|id| self.decisions.remove(id))
    }
}

fn input(py: Python<'_>) -> Place<'_, '_> {
    Place::root(py, Given::Input)
}

fn known<E>(entry: Option<E>, noun: &str, id: &Bound<'_, PyString>) -> PyResult<E> {
    entry.ok_or_else(|| input(id.py()).unknown(noun, id).into())
}

/// A new list of all entries.
fn list<'py, S: Copy>(
    py: Python<'py>,
    entries: &Entries<S>,
    shown: impl Fn(Python<'py>, &Entry<S>) -> PyResult<Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyList>> {
    let shown: Vec<_> = entries.iter().map(|entry| shown(py, entry)).collect::<PyResult<_>>()?;
    PyList::new(py, shown)
}

/// A work item as a dict: a copy of one that has its status already, which is quicker than filling a new one.
fn work_item<'py>(py: Python<'py>, entry: &Entry<Status>) -> PyResult<Bound<'py, PyDict>> {
    static TEMPLATES: PyOnceLock<[Py<PyDict>; Status::ALL.len()]> = PyOnceLock::new();
    let templates = TEMPLATES.get_or_try_init(py, || {
        let [open, in_progress, blocked, done] = Status::ALL.map(|(name, _)| template(py, Some(name)));
        PyResult::Ok([open?, in_progress?, blocked?, done?])
    })?;
    filled(templates[entry.status as usize].bind(py), entry)
}

fn decision<'py>(py: Python<'py>, entry: &Entry<()>) -> PyResult<Bound<'py, PyDict>> {
    static TEMPLATE: PyOnceLock<Py<PyDict>> = PyOnceLock::new();
    filled(TEMPLATE.get_or_try_init(py, || template(py, None))?.bind(py), entry)
}

fn template(py: Python<'_>, status: Option<&str>) -> PyResult<Py<PyDict>> {
    let template = PyDict::new(py);
    template.set_item(intern!(py, "id"), "")?;
    template.set_item(intern!(py, "content"), "")?;
    if let Some(status) = status {
        template.set_item(intern!(py, "status"), status)?;
    }
    Ok(template.unbind())
}

fn filled<'py, S>(template: &Bound<'py, PyDict>, entry: &Entry<S>) -> PyResult<Bound<'py, PyDict>> {
    let py = template.py();
    let item = template.copy()?;
    item.set_item(intern!(py, "id"), &entry.id)?;
    item.set_item(intern!(py, "content"), &entry.content)?;
    Ok(item)
}
