//! A record from Python objects, checked and rebuilt in one pass.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};

use super::Record;
use super::check::{self, Status};
use super::entries::Entries;
use super::place::{Checked, Given, Place};
use crate::value::raw::fields;

pub const WORK_ITEM: &str = "work item";
pub const DECISION: &str = "decision";

const TOP_FIELDS: [&str; 4] = ["schemaVersion", "workItems", "decisions", "objective"];
const WORK_FIELDS: [&str; 3] = ["id", "content", "status"];
const DECISION_FIELDS: [&str; 2] = ["id", "content"];

/// The record that `value` describes. A snapshot must have every field, an input needs none.
pub fn record(value: &Bound<'_, PyAny>, given: Given, reject_unknown: bool) -> Checked<Record> {
    let py = value.py();
    let place = Place::root(py, given);
    let optional = given == Given::Input;
    let Ok(dict) = value.cast_exact::<PyDict>() else {
        return Err(place.invalid(None, "a dict", Some(value)));
    };
    let [version, work, decisions, objective] = fields(dict, &TOP_FIELDS);
    if !optional {
        check::version(version, place)?;
    }
    let objective = match objective {
        None => None,
        objective => Some(check::plain_str(objective, place, "objective")?.unbind()),
    };
    let work = check::list(work, place, "workItems", optional)?;
    let decisions = check::list(decisions, place, "decisions", optional)?;
    if reject_unknown {
        check::fields(dict, &TOP_FIELDS, place)?;
    }
    Ok(Record {
        objective,
        work: collect(work, place, "workItems", |entries, item, place| {
            add_work_item(entries, item, place, optional, reject_unknown).map(drop)
        })?,
        decisions: collect(decisions, place, "decisions", |entries, item, place| {
            add_decision(entries, item, place, reject_unknown).map(drop)
        })?,
    })
}

/// Check a work item and add it; gives its id. Without a status it is open where that is `optional`.
#[inline]
pub fn add_work_item<'py>(
    entries: &mut Entries<Status>,
    item: &Bound<'py, PyAny>,
    place: Place<'_, 'py>,
    optional: bool,
    reject_unknown: bool,
) -> Checked<Bound<'py, PyString>> {
    let Ok(dict) = item.cast_exact::<PyDict>() else { return Err(place.no_dict(item)) };
    let [id, content, status] = fields(dict, &WORK_FIELDS);
    let id = check::text(id, place, "id")?;
    let content = check::text(content, place, "content")?;
    let status = match status {
        None if optional => Status::Open,
        status => check::status(status, place)?,
    };
    if reject_unknown {
        check::fields(dict, &WORK_FIELDS, place)?;
    }
    if entries.add(&id, content, status) { Ok(id) } else { Err(place.duplicate(WORK_ITEM, &id)) }
}

/// Check a decision and add it; gives its id.
pub fn add_decision<'py>(
    entries: &mut Entries<()>,
    item: &Bound<'py, PyAny>,
    place: Place<'_, 'py>,
    reject_unknown: bool,
) -> Checked<Bound<'py, PyString>> {
    let Ok(dict) = item.cast_exact::<PyDict>() else { return Err(place.no_dict(item)) };
    let [id, content] = fields(dict, &DECISION_FIELDS);
    let id = check::text(id, place, "id")?;
    let content = check::text(content, place, "content")?;
    if reject_unknown {
        check::fields(dict, &DECISION_FIELDS, place)?;
    }
    if entries.add(&id, content, ()) { Ok(id) } else { Err(place.duplicate(DECISION, &id)) }
}

/// Add every item of a list.
fn collect<'py, S: Copy>(
    list: Option<Bound<'py, PyList>>,
    root: Place<'_, 'py>,
    field: &'static str,
    add: impl Fn(&mut Entries<S>, &Bound<'py, PyAny>, Place<'_, 'py>) -> Checked<()>,
) -> Checked<Entries<S>> {
    let Some(list) = list else { return Ok(Entries::with_capacity(0)) };
    let mut entries = Entries::with_capacity(list.len());
    for (index, item) in list.iter().enumerate() {
        add(&mut entries, &item, root.item(field, index))?;
    }
    Ok(entries)
}
