//! The native twin of `taskstate.core`: the same names, results, errors and messages as
//! `taskstate.core._pure`, whose docstrings are the reference.

mod fault;
mod record;
mod render;
mod state;
mod text;
mod value;

use pyo3::prelude::*;

#[pymodule(gil_used = true)]
mod _native {
    use pyo3::exceptions::PyRuntimeWarning;
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::record::Record;
    #[pymodule_export]
    use crate::render::{render_block, render_parts};
    #[pymodule_export]
    use crate::state::check_state;
    #[pymodule_export]
    use crate::state::merge::merge;
    #[pymodule_export]
    use crate::value::{clone, equal, measure, validate};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        if cfg!(debug_assertions) {
            let category = module.py().get_type::<PyRuntimeWarning>();
            PyErr::warn(module.py(), &category, c"taskstate's native core is a debug build and slow", 1)?;
        }
        Ok(())
    }
}
