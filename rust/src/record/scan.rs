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

    /// What the key of the next entry means.
    #[inline]
    pub fn key<T: Copy, const N: usize>(&mut self, meanings: &[(&str, T); N]) -> Option<T> {
        let meaning = self.word(meanings)?;
        self.take(b':')?;
        Some(meaning)
    }

    /// What a string means that is one of a few, written without escapes.
    #[inline]
    pub fn word<T: Copy, const N: usize>(&mut self, meanings: &[(&str, T); N]) -> Option<T> {
        self.take(b'"')?;
        let rest = &self.text.as_bytes()[self.at..];
        let is_next = |word: &str| rest.starts_with(word.as_bytes()) && rest.get(word.len()) == Some(&b'"');
        let (word, meaning) = meanings.iter().find(|(word, _)| is_next(word))?;
        self.at += word.len() + 1;
        Some(*meaning)
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

    /// The string that began at `start`, from the character behind its first backslash on.
    #[inline(never)]
    fn escaped(&mut self, start: usize) -> Option<Cow<'a, str>> {
        loop {
            // What a backslash escapes ends nothing.
            let end = self.at + 1 + plain_prefix(self.text.as_bytes().get(self.at + 1..)?);
            self.at = end + 1;
            match self.text.as_bytes().get(end)? {
                b'"' => return serde_json::from_str(&self.text[start - 1..=end]).ok().map(Cow::Owned),
                b'\\' => {}
                _ => return None,
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
    let (words, rest) = text.as_chunks();
    for (index, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let ends = below(word, 0x20) | below(word ^ (ONES * 0x22), 1) | below(word ^ (ONES * 0x5C), 1);
        let ends = ends & !word & (ONES * 0x80);
        if ends != 0 {
            return 8 * index + (ends.trailing_zeros() / 8) as usize;
        }
    }
    let ends = |byte: &u8| matches!(byte, 0..0x20 | b'"' | b'\\');
    8 * words.len() + rest.iter().position(ends).unwrap_or(rest.len())
}

const ONES: u64 = u64::MAX / 255;

/// Sets the high bit of each byte that is below a limit, and of those from 128 on. The lowest one set is right;
/// others may be wrong, for a subtraction borrows from the next byte.
#[inline]
fn below(word: u64, limit: u64) -> u64 {
    word.wrapping_sub(ONES * limit)
}
