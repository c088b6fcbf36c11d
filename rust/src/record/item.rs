//! A work item or a decision on its way in or out.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList, PyString};

use super::check::Status;

/// About how long the JSON text of an item is.
pub const TEXT: usize = 96;

/// A work item, whose `S` is its status, or a decision, which has none. Its texts have been checked.
pub struct Item<'py, S> {
    pub id: Bound<'py, PyString>,
    pub content: Bound<'py, PyString>,
    pub status: S,
}

/// What an item has besides its id and content.
pub trait Template: Copy {
    /// An empty item of this kind; filling a copy is quicker than making a new dict.
    fn template(self, py: Python<'_>) -> PyResult<&Bound<'_, PyDict>>;
}

impl Template for Status {
    fn template(self, py: Python<'_>) -> PyResult<&Bound<'_, PyDict>> {
        static TEMPLATES: PyOnceLock<[Py<PyDict>; Status::ALL.len()]> = PyOnceLock::new();
        let templates = TEMPLATES.get_or_try_init(py, || {
            let [open, in_progress, blocked, done] = Self::ALL.map(|(name, _)| template(py, Some(name)));
            PyResult::Ok([open?, in_progress?, blocked?, done?])
        })?;
        Ok(templates[self as usize].bind(py))
    }
}

impl Template for () {
    fn template(self, py: Python<'_>) -> PyResult<&Bound<'_, PyDict>> {
        static TEMPLATE: PyOnceLock<Py<PyDict>> = PyOnceLock::new();
        Ok(TEMPLATE.get_or_try_init(py, || template(py, None))?.bind(py))
    }
}

impl<'py, S: Template> Item<'py, S> {
    pub fn dict(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = self.status.template(py)?.copy()?;
        dict.set_item(intern!(py, "id"), &self.id)?;
        dict.set_item(intern!(py, "content"), &self.content)?;
        Ok(dict)
    }
}

/// A new list of the items as dicts.
pub fn dicts<'py, S: Template>(py: Python<'py>, items: &[Item<'py, S>]) -> PyResult<Bound<'py, PyList>> {
    let dicts: Vec<_> = items.iter().map(|item| item.dict(py)).collect::<PyResult<_>>()?;
    PyList::new(py, dicts)
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
