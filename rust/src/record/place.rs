//! Where in an input or a snapshot something is, for the error that names it.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};

/// An error on its way up. Boxed, so that a result that may be one fits into two registers.
pub struct Refusal(Box<PyErr>);

pub type Checked<T> = Result<T, Refusal>;

impl From<Refusal> for PyErr {
    fn from(refusal: Refusal) -> Self {
        *refusal.0
    }
}

impl From<PyErr> for Refusal {
    #[cold]
    fn from(error: PyErr) -> Self {
        Self(Box::new(error))
    }
}

/// Whether an application declared it or a snapshot holds it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Given {
    Input,
    Snapshot,
}

/// A place above that of a field: the root, an item of a list, or a field of its own.
#[derive(Clone, Copy)]
pub struct Place<'a, 'py> {
    py: Python<'py>,
    given: Given,
    item: Option<(&'static str, usize)>,
    key: Option<&'a Bound<'py, PyAny>>,
}

impl<'a, 'py> Place<'a, 'py> {
    pub fn root(py: Python<'py>, given: Given) -> Self {
        Self { py, given, item: None, key: None }
    }

    pub fn is_input(self) -> bool {
        self.given == Given::Input
    }

    pub fn py(self) -> Python<'py> {
        self.py
    }

    pub fn item(self, list: &'static str, index: usize) -> Self {
        Self { item: Some((list, index)), ..self }
    }

    /// A field whose name needn't be a `str`.
    pub fn at(self, key: &'a Bound<'py, PyAny>) -> Self {
        Self { key: Some(key), ..self }
    }

    /// The error for something malformed in `field`; see `taskstate.core.record_faults`.
    #[cold]
    pub fn invalid(self, field: Option<&str>, kind: &str, subject: Option<&Bound<'py, PyAny>>) -> Refusal {
        let given = match self.given {
            Given::Input => "input",
            Given::Snapshot => "snapshot",
        };
        word(self.py, "invalid", |keys| (given, keys, kind, subject), self.keys(field))
    }

    /// The error for an item that is no dict; one in no list is the `argument` itself.
    #[cold]
    pub fn no_dict(self, item: &Bound<'py, PyAny>, argument: &str) -> Refusal {
        let field = if self.item.is_some() { None } else { Some(argument) };
        self.invalid(field, "a dict", Some(item))
    }

    /// The error for an id that is there already.
    #[cold]
    pub fn duplicate(self, noun: &str, id: &Bound<'py, PyString>) -> Refusal {
        word(self.py, "duplicate", |keys| (noun, keys, id), self.keys(Some("id")))
    }

    /// The error for an id that isn't there.
    #[cold]
    pub fn unknown(self, noun: &str, id: &Bound<'py, PyString>) -> Refusal {
        word(self.py, "unknown", |keys| (noun, keys, id), self.keys(Some("id")))
    }

    fn keys(self, field: Option<&str>) -> PyResult<Bound<'py, PyList>> {
        let keys = PyList::empty(self.py);
        if let Some((list, index)) = self.item {
            keys.append(list)?;
            keys.append(index)?;
        }
        if let Some(field) = field {
            keys.append(field)?;
        }
        if let Some(key) = self.key {
            keys.append(key)?;
        }
        Ok(keys)
    }
}

/// The typed exception, worded by the same Python code as the pure twin's.
fn word<'py, A: pyo3::call::PyCallArgs<'py>>(
    py: Python<'py>,
    name: &str,
    arguments: impl FnOnce(Bound<'py, PyList>) -> A,
    keys: PyResult<Bound<'py, PyList>>,
) -> Refusal {
    let word = || py.import(intern!(py, "taskstate.core.record_faults"))?.call_method1(name, arguments(keys?));
    word().map_or_else(|error| error, PyErr::from_value).into()
}
