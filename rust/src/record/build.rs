//! A record's state from Python objects, checked and rebuilt in one pass.

#![expect(clippy::inline_always, reason = "these run for every item; measured")]

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use super::AgentState;
use super::check::{self, Status};
use super::entries::Entries;
use super::item::Item;
use super::place::{Checked, Given, Place};
use crate::value::fields::Fields;

pub const WORK_ITEM: &str = "work item";
pub const DECISION: &str = "decision";

const TOP_FIELDS: [&str; 4] = ["schemaVersion", "workItems", "decisions", "objective"];
pub const WORK_FIELDS: [&str; 3] = ["id", "content", "status"];
pub const DECISION_FIELDS: [&str; 2] = ["id", "content"];

/// The state that `value` describes. A snapshot must have every field but the objective, an input needs none.
pub fn state(value: &Bound<'_, PyAny>, given: Given, reject_unknown: bool) -> Checked<AgentState> {
    let py = value.py();
    let place = Place::root(py, given);
    let Ok(dict) = value.cast_exact::<PyDict>() else {
        return Err(place.invalid(None, "a dict", Some(value)));
    };
    let [version, work, decisions, objective] = Fields::new(TOP_FIELDS).of(dict);
    if !place.is_input() {
        check::version(version, place)?;
    }
    let objective = match objective {
        None => None,
        objective => Some(check::plain_str(objective, place, "objective")?.unbind()),
    };
    let work = check::list(work, place, "workItems")?;
    let decisions = check::list(decisions, place, "decisions")?;
    if reject_unknown {
        check::refuse_unknown(dict, &TOP_FIELDS, place)?;
    }
    Ok(AgentState {
        objective,
        work: collect(work, WORK_FIELDS, place, "workItems", WORK_ITEM, |item, fields, place| {
            work_item(item, fields, place, reject_unknown)
        })?,
        decisions: collect(decisions, DECISION_FIELDS, place, "decisions", DECISION, |item, fields, place| {
            decision(item, fields, place, reject_unknown)
        })?,
    })
}

/// Check a work item. One of an input that has no status is open.
#[inline(always)]
pub fn work_item<'py>(
    item: &Bound<'py, PyAny>,
    fields: &mut Fields<'py, 3>,
    place: Place<'_, 'py>,
    reject_unknown: bool,
) -> Checked<Item<'py, Status>> {
    let Ok(dict) = item.cast_exact::<PyDict>() else { return Err(place.no_dict(item, "item")) };
    let [id, content, status] = fields.of(dict);
    let id = check::text(id, place, "id")?;
    let content = check::text(content, place, "content")?;
    let status = match status {
        None if place.is_input() => Status::Open,
        status => check::status(status, place)?,
    };
    if reject_unknown {
        check::refuse_unknown(dict, &WORK_FIELDS, place)?;
    }
    Ok(Item { id, content, status })
}

/// Check a decision.
pub fn decision<'py>(
    item: &Bound<'py, PyAny>,
    fields: &mut Fields<'py, 2>,
    place: Place<'_, 'py>,
    reject_unknown: bool,
) -> Checked<Item<'py, ()>> {
    let Ok(dict) = item.cast_exact::<PyDict>() else { return Err(place.no_dict(item, "decision")) };
    let [id, content] = fields.of(dict);
    let id = check::text(id, place, "id")?;
    let content = check::text(content, place, "content")?;
    if reject_unknown {
        check::refuse_unknown(dict, &DECISION_FIELDS, place)?;
    }
    Ok(Item { id, content, status: () })
}

/// Check every item of a list, and add it.
fn collect<'py, S: Copy, const N: usize>(
    list: Option<Bound<'py, PyList>>,
    names: [&'static str; N],
    root: Place<'_, 'py>,
    field: &'static str,
    noun: &str,
    check: impl Fn(&Bound<'py, PyAny>, &mut Fields<'py, N>, Place<'_, 'py>) -> Checked<Item<'py, S>>,
) -> Checked<Entries<S>> {
    let Some(list) = list else { return Ok(Entries::with_capacity(0)) };
    let mut entries = Entries::with_capacity(list.len());
    let mut fields = Fields::new(names);
    for (index, item) in list.iter().enumerate() {
        let place = root.item(field, index);
        entries.add(check(&item, &mut fields, place)?).map_err(|item| place.duplicate(noun, &item.id))?;
    }
    Ok(entries)
}
