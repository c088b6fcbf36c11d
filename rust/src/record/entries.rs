//! Items by id, in the order in which they were added.

#![expect(clippy::inline_always, reason = "these run for every item; measured")]

use hashbrown::DefaultHashBuilder;
use hashbrown::hash_table::{self, HashTable};
use pyo3::prelude::*;
use pyo3::types::PyString;
use std::hash::BuildHasher;

use super::item::Item;
use crate::value::string::{self, Text, same_text};

/// A work item or a decision; its texts have been checked.
pub struct Entry<S> {
    pub id: Py<PyString>,
    pub content: Py<PyString>,
    pub status: S,
    hash: u64,
}

/// Removing leaves a gap, so that it needn't move what follows; gaps are closed when they are as many as the items.
pub struct Entries<S> {
    slots: Vec<Option<Entry<S>>>,
    by_id: HashTable<usize>,
    hasher: DefaultHashBuilder,
}

impl<S: Copy> Entries<S> {
    pub fn with_capacity(count: usize) -> Self {
        let hasher = DefaultHashBuilder::default();
        Self { slots: Vec::with_capacity(count), by_id: HashTable::with_capacity(count), hasher }
    }

    pub fn len(&self) -> usize {
        self.by_id.len()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Entry<S>> {
        self.slots.iter().flatten()
    }

    /// Add an item at the end; it comes back, and nothing is added, where its id is there already.
    #[inline(always)]
    pub fn add<'py>(&mut self, item: Item<'py, S>) -> Result<(), Item<'py, S>> {
        let hash = self.hash(&item.id);
        let slots = &self.slots;
        let has_id = |slot: &usize| slots[*slot].as_ref().is_some_and(|entry| entry.is(hash, &item.id));
        let hash_of = |slot: &usize| slots[*slot].as_ref().map_or(0, |entry| entry.hash);
        match self.by_id.entry(hash, has_id, hash_of) {
            hash_table::Entry::Occupied(_) => Err(item),
            hash_table::Entry::Vacant(vacant) => {
                vacant.insert(slots.len());
                let (id, content) = (item.id.unbind(), item.content.unbind());
                self.slots.push(Some(Entry { id, content, status: item.status, hash }));
                Ok(())
            }
        }
    }

    pub fn items<'py>(&self, py: Python<'py>) -> Vec<Item<'py, S>> {
        self.iter().map(|entry| entry.item(py)).collect()
    }

    pub fn get(&self, id: &Bound<'_, PyString>) -> Option<&Entry<S>> {
        self.slots[self.find(id)?].as_ref()
    }

    pub fn get_mut(&mut self, id: &Bound<'_, PyString>) -> Option<&mut Entry<S>> {
        let slot = self.find(id)?;
        self.slots[slot].as_mut()
    }

    /// Remove an item; `false` where its id isn't there.
    pub fn remove(&mut self, id: &Bound<'_, PyString>) -> bool {
        let Some(slot) = self.find(id) else { return false };
        let Some(entry) = self.slots[slot].take() else { return false };
        if let Ok(found) = self.by_id.find_entry(entry.hash, |other| *other == slot) {
            found.remove();
        }
        if self.slots.len() > 2 * self.by_id.len() {
            self.close_gaps();
        }
        true
    }

    pub fn copy(&self, py: Python<'_>) -> Self {
        let mut copy = Self::with_capacity(self.len());
        copy.hasher = self.hasher.clone();
        copy.slots.extend(self.iter().map(|entry| {
            let (id, content) = (entry.id.clone_ref(py), entry.content.clone_ref(py));
            Some(Entry { id, content, status: entry.status, hash: entry.hash })
        }));
        copy.index_all();
        copy
    }

    /// Give back the room that isn't needed.
    pub fn fit(&mut self) {
        self.slots.shrink_to(2 * self.slots.len());
        self.by_id = HashTable::with_capacity(self.slots.len());
        self.index_all();
    }

    pub fn has_room_for_many(&self) -> bool {
        self.slots.capacity() > 2 * self.slots.len() + 64
    }

    fn find(&self, id: &Bound<'_, PyString>) -> Option<usize> {
        let hash = self.hash(id);
        let has_id = |slot: &usize| self.slots[*slot].as_ref().is_some_and(|entry| entry.is(hash, id));
        self.by_id.find(hash, has_id).copied()
    }

    fn close_gaps(&mut self) {
        self.slots.retain(Option::is_some);
        self.fit();
    }

    /// Put every slot into `by_id`, which is empty; the ids differ.
    fn index_all(&mut self) {
        let hash_of = |slot: &usize| self.slots[*slot].as_ref().map_or(0, |entry| entry.hash);
        for slot in 0..self.slots.len() {
            self.by_id.insert_unique(hash_of(&slot), slot, hash_of);
        }
    }

    /// Equal ids are stored alike, so that what is stored can be hashed.
    #[inline(always)]
    fn hash(&self, id: &Bound<'_, PyString>) -> u64 {
        match string::text(id) {
            Some(Text::Ascii(text)) => self.hasher.hash_one(text),
            #[cfg(not(Py_LIMITED_API))]
            Some(Text::Latin1(text)) => self.hasher.hash_one(text),
            #[cfg(not(Py_LIMITED_API))]
            Some(Text::Ucs2(text)) => self.hasher.hash_one(text),
            #[cfg(not(Py_LIMITED_API))]
            Some(Text::Ucs4(text)) => self.hasher.hash_one(text),
            #[cfg(Py_LIMITED_API)]
            Some(Text::Utf8(text)) => self.hasher.hash_one(text.as_bytes()),
            #[cfg(Py_LIMITED_API)]
            Some(Text::Broken) => 0,
            None => 0,
        }
    }
}

impl<S: Copy> Entry<S> {
    pub fn item<'py>(&self, py: Python<'py>) -> Item<'py, S> {
        Item { id: self.id.bind(py).clone(), content: self.content.bind(py).clone(), status: self.status }
    }

    #[inline]
    fn is(&self, hash: u64, id: &Bound<'_, PyString>) -> bool {
        self.hash == hash && same_text(self.id.bind(id.py()), id) == Some(true)
    }
}
