//! Text on its way to a `str`: ASCII in one place, the strings that hold anything else in another.
//!
//! Most of a rendered state is ASCII whatever language its values are in, so that it is written and
//! measured as bytes; only at the end is it known how wide the characters of the `str` must be.

use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::value::string::{Run, join};

#[derive(Default)]
pub struct Buffer {
    pub ascii: Vec<u8>,
    wide: Vec<u32>,
    joints: Vec<Joint>,
    /// How many characters of `wide` are a pair in UTF-16.
    pairs: usize,
}

/// Where a run of `wide` belongs: its end there, and its place in `ascii`.
struct Joint {
    place: usize,
    end: usize,
}

/// A place in a buffer, between what is there and what will be.
#[derive(Clone, Copy, Default)]
pub struct Mark {
    ascii: usize,
    wide: usize,
    joints: usize,
}

impl Buffer {
    pub fn with_capacity(ascii: usize) -> Self {
        Self { ascii: Vec::with_capacity(ascii), ..Self::default() }
    }

    /// UTF-16 code units.
    #[inline]
    pub fn units(&self) -> usize {
        self.ascii.len() + self.wide_units()
    }

    pub fn wide_units(&self) -> usize {
        self.wide.len() + self.pairs
    }

    pub fn mark(&self) -> Mark {
        Mark { ascii: self.ascii.len(), wide: self.wide.len(), joints: self.joints.len() }
    }

    #[inline]
    pub fn push(&mut self, text: &[u8]) {
        self.ascii.extend_from_slice(text);
    }

    /// Let `write` append one run of characters; a failed write leaves the buffer unfit for use.
    pub fn push_wide<E>(&mut self, write: impl FnOnce(&mut Vec<u32>) -> Result<(), E>) -> Result<(), E> {
        let start = self.wide.len();
        write(&mut self.wide)?;
        self.pairs += self.wide[start..].iter().filter(|code| **code > 0xFFFF).count();
        self.joints.push(Joint { place: self.ascii.len(), end: self.wide.len() });
        Ok(())
    }

    /// Add what stands between two marks, in order.
    pub fn runs<'a>(&'a self, from: Mark, to: Mark, out: &mut Vec<Run<'a>>) {
        let (mut place, mut wide) = (from.ascii, from.wide);
        out.reserve(2 * (to.joints - from.joints) + 1);
        for joint in &self.joints[from.joints..to.joints] {
            out.push(Run::Ascii(&self.ascii[place..joint.place]));
            out.push(Run::Wide(&self.wide[wide..joint.end]));
            (place, wide) = (joint.place, joint.end);
        }
        out.push(Run::Ascii(&self.ascii[place..to.ascii]));
    }

    pub fn all<'a>(&'a self, out: &mut Vec<Run<'a>>) {
        self.runs(Mark::default(), self.mark(), out);
    }

    pub fn to_str<'py>(&self, py: Python<'py>, from: Mark, to: Mark) -> PyResult<Bound<'py, PyString>> {
        let mut runs = Vec::new();
        self.runs(from, to, &mut runs);
        join(py, &runs)
    }
}

/// Keep the first `room` UTF-16 code units, or one less where that would split a pair; gives how many it kept.
pub fn cut(runs: &mut Vec<Run<'_>>, room: usize) -> usize {
    let mut units = 0;
    for index in 0..runs.len() {
        let left = room - units;
        let (kept, taken) = match runs[index] {
            Run::Ascii(text) => (text.len().min(left), text.len().min(left)),
            Run::Wide(text) => wide_prefix(text, left),
        };
        units += taken;
        if kept < runs[index].len() {
            runs[index] = match runs[index] {
                Run::Ascii(text) => Run::Ascii(&text[..kept]),
                Run::Wide(text) => Run::Wide(&text[..kept]),
            };
            runs.truncate(index + 1);
            break;
        }
    }
    units
}

/// How many characters fit into `room` code units, and how many units they are.
fn wide_prefix(text: &[u32], room: usize) -> (usize, usize) {
    let mut units = 0;
    for (index, code) in text.iter().enumerate() {
        let size = if *code > 0xFFFF { 2 } else { 1 };
        if units + size > room {
            return (index, units);
        }
        units += size;
    }
    (text.len(), units)
}
