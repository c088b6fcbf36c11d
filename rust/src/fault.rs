//! A fault in a value, on its way up to the caller.

use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use pyo3::{CastError, intern};

/// What is wrong. The names are those that `taskstate.core.faults` words.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    NotJson,
    BadKey,
    Surrogate,
    KeySurrogate,
    NotFinite,
    IntRange,
    TooDeep,
    TooLarge,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::NotJson => "not_json",
            Self::BadKey => "bad_key",
            Self::Surrogate => "surrogate",
            Self::KeySurrogate => "key_surrogate",
            Self::NotFinite => "not_finite",
            Self::IntRange => "int_range",
            Self::TooDeep => "too_deep",
            Self::TooLarge => "too_large",
        }
    }
}

/// Either a fault in the data, with the keys from the place up to the root, or a Python exception.
///
/// Both boxed: a result that may be a fault then fits into two registers.
pub enum Fault {
    Data(Box<Data>),
    Python(Box<PyErr>),
}

pub struct Data {
    kind: Kind,
    subject: Option<Py<PyAny>>,
    keys: Vec<Py<PyAny>>,
}

impl Fault {
    #[cold]
    pub fn new(kind: Kind) -> Self {
        Self::Data(Box::new(Data { kind, subject: None, keys: Vec::new() }))
    }

    #[cold]
    pub fn about(kind: Kind, subject: Py<PyAny>) -> Self {
        Self::Data(Box::new(Data { kind, subject: Some(subject), keys: Vec::new() }))
    }

    pub fn is(&self, kind: Kind) -> bool {
        matches!(self, Self::Data(data) if data.kind == kind)
    }

    /// The same fault, seen from one level further up.
    #[cold]
    pub fn at(mut self, key: Py<PyAny>) -> Self {
        if let Self::Data(data) = &mut self {
            data.keys.push(key);
        }
        self
    }

    #[cold]
    pub fn at_index(self, py: Python<'_>, index: usize) -> Self {
        match index.into_pyobject(py) {
            Ok(number) => self.at(number.into_any().unbind()),
            Err(never) => match never {},
        }
    }

    /// The typed exception, worded by the same Python code as the pure twin's.
    #[cold]
    pub fn error(self, name: &str, root: &Bound<'_, PyAny>) -> PyErr {
        let data = match self {
            Self::Python(error) => return *error,
            Self::Data(data) => data,
        };
        let py = root.py();
        let subject = match data.kind {
            Kind::TooDeep => Some(root.clone().unbind()),
            _ => data.subject,
        };
        let word = || -> PyResult<Bound<'_, PyAny>> {
            let keys = PyTuple::new(py, data.keys.iter().rev())?;
            faults(py)?.call_method1(intern!(py, "value_fault"), (data.kind.name(), name, keys, subject))
        };
        word().map_or_else(|error| error, PyErr::from_value)
    }
}

impl From<PyErr> for Fault {
    #[cold]
    fn from(error: PyErr) -> Self {
        Self::Python(Box::new(error))
    }
}

/// The error for JSON data that is not a task state, at `field` or at `field[index].below`.
#[cold]
pub fn state_fault(
    py: Python<'_>,
    wanted: &str,
    name: &str,
    place: (Option<&str>, Option<usize>, Option<&str>),
    subject: Option<&Bound<'_, PyAny>>,
) -> PyErr {
    let word = || -> PyResult<Bound<'_, PyAny>> {
        let keys = PyList::empty(py);
        if let Some(field) = place.0 {
            keys.append(field)?;
        }
        if let Some(index) = place.1 {
            keys.append(index)?;
        }
        if let Some(below) = place.2 {
            keys.append(below)?;
        }
        faults(py)?.call_method1(intern!(py, "state_fault"), (wanted, name, keys, subject))
    };
    word().map_or_else(|error| error, PyErr::from_value)
}

/// The error for a mode of merging that isn't one.
#[cold]
pub fn mode_fault(mode: &Bound<'_, PyAny>) -> PyResult<PyErr> {
    Ok(PyErr::from_value(faults(mode.py())?.call_method1(intern!(mode.py(), "mode_fault"), (mode,))?))
}

/// The path of a conflict, from `data` down.
pub fn format_path(py: Python<'_>, keys: &[Bound<'_, PyAny>]) -> PyResult<Py<PyAny>> {
    let path = faults(py)?.call_method1(intern!(py, "format_path"), ("", PyTuple::new(py, keys)?))?;
    Ok(path.unbind())
}

fn faults(py: Python<'_>) -> PyResult<Bound<'_, PyModule>> {
    py.import(intern!(py, "taskstate.core.faults"))
}

impl From<CastError<'_, '_>> for Fault {
    fn from(error: CastError<'_, '_>) -> Self {
        PyErr::from(error).into()
    }
}
