//! The JSON that snapshots are made of: objects, arrays and strings, token by token.
//!
//! A scanner that knows no other values costs half of what a general parser does. It accepts nothing that such a
//! one would refuse; every method gives `None` for what it doesn't expect.

use std::borrow::Cow;

pub struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scanner<'a> {
    pub fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// How many bytes are left.
    pub fn rest(&self) -> usize {
        self.text.len() - self.at
    }

    /// Enter an object or an array; gives whether something is in it.
    #[inline]
    pub fn open(&mut self, bracket: u8, closing: u8) -> Option<bool> {
        self.take(bracket)?;
        if self.peek()? == closing {
            self.at += 1;
            return Some(false);
        }
        Some(true)
    }

    /// Go on after an entry; gives whether another one follows.
    #[inline]
    pub fn next(&mut self, closing: u8) -> Option<bool> {
        let byte = self.peek()?;
        self.at += 1;
        if byte == b',' { Some(true) } else { (byte == closing).then_some(false) }
    }

    /// The key of the next entry, without escapes.
    #[inline]
    pub fn key(&mut self) -> Option<&'a str> {
        let Cow::Borrowed(key) = self.string()? else { return None };
        self.take(b':')?;
        Some(key)
    }

    #[inline]
    pub fn string(&mut self) -> Option<Cow<'a, str>> {
        self.take(b'"')?;
        let start = self.at;
        let end = start + plain_prefix(&self.text.as_bytes()[start..]);
        self.at = end + 1;
        match self.text.as_bytes().get(end)? {
            b'"' => Some(Cow::Borrowed(&self.text[start..end])),
            b'\\' => self.escaped(start),
            _ => None,
        }
    }

    /// The string that began at `start`, from its first backslash on.
    #[cold]
    fn escaped(&mut self, start: usize) -> Option<Cow<'a, str>> {
        loop {
            // The character behind a backslash ends nothing; one of several bytes ends nothing anyway.
            self.at += 1;
            self.at += self.text.as_bytes().get(self.at..)?.iter().position(|byte| matches!(byte, b'"' | b'\\'))? + 1;
            if self.text.as_bytes()[self.at - 1] == b'"' {
                return serde_json::from_str(&self.text[start - 1..self.at]).ok().map(Cow::Owned);
            }
        }
    }

    #[inline]
    pub fn take(&mut self, byte: u8) -> Option<()> {
        (self.peek()? == byte).then(|| self.at += 1)
    }

    /// Only white space is left.
    pub fn end(&mut self) -> Option<()> {
        self.peek().is_none().then_some(())
    }

    /// The next byte that isn't white space.
    #[inline]
    fn peek(&mut self) -> Option<u8> {
        loop {
            match self.text.as_bytes().get(self.at)? {
                b' ' | b'\t' | b'\n' | b'\r' => self.at += 1,
                byte => return Some(*byte),
            }
        }
    }
}

/// How many bytes from the start stand for themselves in a JSON string: no quote, backslash or control character.
#[inline]
fn plain_prefix(text: &[u8]) -> usize {
    let mut done = 0;
    while let Some(word) = text[done..].first_chunk() {
        let word = u64::from_le_bytes(*word);
        let ends = below(word, 0x20) | below(word ^ (ONES * 0x22), 1) | below(word ^ (ONES * 0x5C), 1);
        if ends != 0 {
            return done + (ends.trailing_zeros() / 8) as usize;
        }
        done += 8;
    }
    let rest = &text[done..];
    done + rest.iter().position(|byte| matches!(byte, 0..0x20 | b'"' | b'\\')).unwrap_or(rest.len())
}

const ONES: u64 = u64::MAX / 255;

/// The high bit of each byte that is below a limit, which is at most 128. The lowest bit is right; others may be
/// wrong, for a subtraction borrows from the next byte.
#[inline]
fn below(word: u64, limit: u64) -> u64 {
    word.wrapping_sub(ONES * limit) & !word & (ONES * 0x80)
}
