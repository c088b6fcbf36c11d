//! Reads and makes `str` as CPython stores them. What makes it sound is said in `raw`.

#![allow(unsafe_code, reason = "this room reads objects directly; each block says why it may")]

#[cfg(not(Py_LIMITED_API))]
use std::mem::MaybeUninit;

#[cfg(not(Py_LIMITED_API))]
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyString;

#[cfg(not(Py_LIMITED_API))]
use super::raw::{Type, type_of};

/// The characters of a `str`, as CPython stores them.
#[derive(Clone, Copy)]
pub enum Text<'a> {
    Ascii(&'a [u8]),
    #[cfg(not(Py_LIMITED_API))]
    Latin1(&'a [u8]),
    #[cfg(not(Py_LIMITED_API))]
    Ucs2(&'a [u16]),
    #[cfg(not(Py_LIMITED_API))]
    Ucs4(&'a [u32]),
    #[cfg(Py_LIMITED_API)]
    Utf8(&'a str),
    /// Only the stable ABI ends here: it has no way to read a string with a lone surrogate.
    #[cfg(Py_LIMITED_API)]
    Broken,
}

/// The text of an exact `str`; `None` for any other object.
#[inline]
#[cfg(not(Py_LIMITED_API))]
pub fn text<'a>(object: &'a Bound<'_, PyAny>) -> Option<Text<'a>> {
    if type_of(object) != Type::Str {
        return None;
    }
    let string = object.as_ptr();
    // SAFETY: an exact `str`, whose buffer is immutable and lives as long as the borrow of `object`.
    // Kind and length come from the object itself; a legacy string is made ready first.
    unsafe {
        #[cfg(not(Py_3_14))]
        if ffi::PyUnicode_IS_COMPACT_ASCII(string) != 0 {
            let header = string.cast::<ffi::PyASCIIObject>();
            return Some(Text::Ascii(std::slice::from_raw_parts(
                header.add(1).cast::<u8>(),
                (*header).length.cast_unsigned(),
            )));
        }
        #[cfg(not(Py_3_12))]
        if ffi::PyUnicode_READY(string) < 0 {
            ffi::PyErr_Clear();
            return None;
        }
        let length = ffi::PyUnicode_GET_LENGTH(string).cast_unsigned();
        let data = ffi::PyUnicode_DATA(string);
        Some(match ffi::PyUnicode_KIND(string) {
            ffi::PyUnicode_1BYTE_KIND => {
                let bytes = std::slice::from_raw_parts(data.cast::<u8>(), length);
                #[cfg(not(Py_3_14))]
                let ascii = ffi::PyUnicode_IS_ASCII(string) != 0;
                #[cfg(Py_3_14)]
                let ascii = bytes.is_ascii();
                if ascii { Text::Ascii(bytes) } else { Text::Latin1(bytes) }
            }
            ffi::PyUnicode_2BYTE_KIND => Text::Ucs2(std::slice::from_raw_parts(data.cast::<u16>(), length)),
            _ => Text::Ucs4(std::slice::from_raw_parts(data.cast::<u32>(), length)),
        })
    }
}

#[inline]
#[cfg(Py_LIMITED_API)]
pub fn text<'a>(object: &'a Bound<'_, PyAny>) -> Option<Text<'a>> {
    let string = object.cast_exact::<pyo3::types::PyString>().ok()?;
    Some(match string.to_str() {
        Ok(text) if text.is_ascii() => Text::Ascii(text.as_bytes()),
        Ok(text) => Text::Utf8(text),
        Err(_) => Text::Broken,
    })
}

/// How many bytes of UTF-8 a `str` takes, its own type checked by the caller; `None` where it holds a
/// lone surrogate.
#[inline]
pub fn utf8_size(string: &Bound<'_, PyAny>) -> Option<usize> {
    // SAFETY: callers have seen `Type::Str`. The flag is only set on strings whose length is known.
    #[cfg(not(any(Py_LIMITED_API, Py_3_14)))]
    unsafe {
        if ffi::PyUnicode_IS_ASCII(string.as_ptr()) != 0 {
            return Some((*string.as_ptr().cast::<ffi::PyASCIIObject>()).length.cast_unsigned());
        }
    }
    long_utf8_size(string)
}

/// Whether a text has a lone surrogate.
#[inline]
pub fn is_broken(text: Text<'_>) -> bool {
    match text {
        Text::Ascii(_) => false,
        #[cfg(not(Py_LIMITED_API))]
        Text::Latin1(_) => false,
        #[cfg(not(Py_LIMITED_API))]
        Text::Ucs2(chars) => any_surrogate(chars),
        #[cfg(not(Py_LIMITED_API))]
        Text::Ucs4(chars) => any_surrogate(chars),
        #[cfg(Py_LIMITED_API)]
        Text::Utf8(_) => false,
        #[cfg(Py_LIMITED_API)]
        Text::Broken => true,
    }
}

#[cfg(not(Py_LIMITED_API))]
fn any_surrogate<T: Copy + Into<u32>>(chars: &[T]) -> bool {
    // Without a branch inside a chunk, so that many characters are looked at at once.
    chars
        .chunks(64)
        .any(|chunk| chunk.iter().fold(false, |found, char| found | ((*char).into() & 0xFFFF_F800 == 0xD800)))
}

/// Kept out of line: most strings are ASCII.
#[inline(never)]
fn long_utf8_size(string: &Bound<'_, PyAny>) -> Option<usize> {
    match text(string)? {
        Text::Ascii(bytes) => Some(bytes.len()),
        #[cfg(not(Py_LIMITED_API))]
        Text::Latin1(bytes) => Some(bytes.len() + bytes.iter().filter(|byte| **byte >= 0x80).count()),
        #[cfg(not(Py_LIMITED_API))]
        Text::Ucs2(chars) => {
            let mut size = chars.len();
            // Counted in numbers as wide as the characters, so that many are done at once.
            for chunk in chars.chunks(1024) {
                let (mut more, mut broken) = (0u16, false);
                for char in chunk {
                    broken |= char & 0xF800 == 0xD800;
                    more += u16::from(*char >= 0x80) + u16::from(*char >= 0x800);
                }
                if broken {
                    return None;
                }
                size += usize::from(more);
            }
            Some(size)
        }
        #[cfg(not(Py_LIMITED_API))]
        Text::Ucs4(chars) => {
            let mut broken = false;
            let mut size = chars.len();
            for char in chars {
                broken |= char & 0xFFFF_F800 == 0xD800;
                size += usize::from(*char >= 0x80) + usize::from(*char >= 0x800) + usize::from(*char >= 0x1_0000);
            }
            (!broken).then_some(size)
        }
        #[cfg(Py_LIMITED_API)]
        Text::Utf8(text) => Some(text.len()),
        #[cfg(Py_LIMITED_API)]
        Text::Broken => None,
    }
}

/// Whether two exact `str` are equal; `None` where only Python can tell.
#[inline]
pub fn same_text(left: &Bound<'_, PyAny>, right: &Bound<'_, PyAny>) -> Option<bool> {
    match (text(left)?, text(right)?) {
        (Text::Ascii(left), Text::Ascii(right)) => Some(left == right),
        #[cfg(not(Py_LIMITED_API))]
        (Text::Latin1(left), Text::Latin1(right)) => Some(left == right),
        #[cfg(not(Py_LIMITED_API))]
        (Text::Ucs2(left), Text::Ucs2(right)) => Some(left == right),
        #[cfg(not(Py_LIMITED_API))]
        (Text::Ucs4(left), Text::Ucs4(right)) => Some(left == right),
        #[cfg(Py_LIMITED_API)]
        (Text::Utf8(left), Text::Utf8(right)) => Some(left == right),
        #[cfg(Py_LIMITED_API)]
        (Text::Broken, Text::Broken) => None,
        // Each text is stored in the narrowest way, so that one stored in another differs.
        _ => Some(false),
    }
}

/// A `str` of that text.
#[inline]
#[cfg(not(Py_LIMITED_API))]
pub fn new<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyString>> {
    if !text.is_ascii() {
        return wide(py, text);
    }
    // SAFETY: the new `str` has room for as many bytes as are written, and nobody else has seen it yet, but for the
    // shared empty one, into which nothing is written.
    unsafe {
        let string = Bound::from_owned_ptr_or_err(py, ffi::PyUnicode_New(text.len().cast_signed(), 0x7F))?;
        ffi::PyUnicode_DATA(string.as_ptr()).cast::<u8>().copy_from_nonoverlapping(text.as_ptr(), text.len());
        Ok(string.cast_into_unchecked())
    }
}

/// A `str` of a text that isn't ASCII, in half the time of CPython's decoder, which checks and widens as it goes.
#[inline(never)]
#[cfg(not(Py_LIMITED_API))]
fn wide<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyString>> {
    // Bytes that begin a character sort as the characters do, and above those that continue one; so the largest byte
    // tells how wide the text is.
    let first = text.bytes().fold(0, u8::max);
    let largest = if first < 0xC4 {
        0xFF
    } else if first < 0xF0 {
        0xFFFF
    } else {
        0x10_FFFF
    };
    // SAFETY: the new `str` has room for every character of the kind that the largest one asks for, and nobody else
    // has seen it yet.
    unsafe {
        let length = text.chars().count().cast_signed();
        let string = Bound::from_owned_ptr_or_err(py, ffi::PyUnicode_New(length, largest))?;
        let data = ffi::PyUnicode_DATA(string.as_ptr());
        match largest {
            0xFF => write_all(data.cast::<u8>(), text, |code| (code & 0xFF) as u8),
            0xFFFF => write_all(data.cast::<u16>(), text, |code| (code & 0xFFFF) as u16),
            _ => write_all(data.cast::<u32>(), text, |code| code),
        }
        Ok(string.cast_into_unchecked())
    }
}

/// Write each character as one unit.
///
/// # Safety
/// `data` has room for all the characters.
#[inline]
#[cfg(not(Py_LIMITED_API))]
unsafe fn write_all<T>(data: *mut T, text: &str, narrow: impl Fn(u32) -> T) {
    let mut at = data;
    for char in text.chars() {
        // SAFETY: the caller's promise; `at` moves on by what was written.
        unsafe {
            at.write(narrow(char.into()));
            at = at.add(1);
        }
    }
}

#[cfg(Py_LIMITED_API)]
#[expect(clippy::unnecessary_wraps, reason = "the other one can fail")]
pub fn new<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyString>> {
    Ok(PyString::new(py, text))
}

/// Part of a text.
#[derive(Clone, Copy)]
pub enum Run<'a> {
    Ascii(&'a [u8]),
    /// Unicode scalar values.
    Wide(&'a [u32]),
}

impl Run<'_> {
    pub fn len(&self) -> usize {
        match self {
            Run::Ascii(text) => text.len(),
            Run::Wide(text) => text.len(),
        }
    }
}

/// The runs as one `str`.
#[cfg(not(Py_LIMITED_API))]
pub fn join<'py>(py: Python<'py>, runs: &[Run<'_>]) -> PyResult<Bound<'py, PyString>> {
    let length: usize = runs.iter().map(Run::len).sum();
    // The bits that any character has set: they tell the kind of the `str` as its largest one does.
    let bits = runs.iter().fold(0x7F, |bits, run| match run {
        Run::Ascii(_) => bits,
        Run::Wide(text) => text.iter().fold(bits, |bits, code| bits | code),
    });
    // SAFETY: the new `str` has room for `length` characters of the kind that `bits` asks for, and
    // nobody else has seen it yet. Its buffer is aligned for that kind.
    unsafe {
        let size = length.cast_signed();
        let string = Bound::from_owned_ptr_or_err(py, ffi::PyUnicode_New(size, bits.min(0x10_FFFF)))?;
        let data = ffi::PyUnicode_DATA(string.as_ptr());
        match ffi::PyUnicode_KIND(string.as_ptr()) {
            ffi::PyUnicode_1BYTE_KIND => fill(data.cast::<u8>(), runs, |code| (code & 0xFF) as u8),
            ffi::PyUnicode_2BYTE_KIND => fill(data.cast::<u16>(), runs, |code| (code & 0xFFFF) as u16),
            _ => fill(data.cast::<u32>(), runs, |code| code),
        }
        Ok(string.cast_into_unchecked())
    }
}

/// # Safety
/// `data` has room for all the runs.
#[cfg(not(Py_LIMITED_API))]
unsafe fn fill<T: From<u8>>(mut data: *mut T, runs: &[Run<'_>], narrow: impl Fn(u32) -> T) {
    for run in runs {
        // SAFETY: the caller's promise; `data` moves on by what was written.
        let room = unsafe { std::slice::from_raw_parts_mut(data.cast::<MaybeUninit<T>>(), run.len()) };
        match run {
            Run::Ascii(text) => room.iter_mut().zip(*text).for_each(|(to, byte)| _ = to.write(T::from(*byte))),
            Run::Wide(text) => room.iter_mut().zip(*text).for_each(|(to, code)| _ = to.write(narrow(*code))),
        }
        data = data.wrapping_add(run.len());
    }
}

#[cfg(Py_LIMITED_API)]
#[expect(clippy::unnecessary_wraps, reason = "the other one can fail")]
pub fn join<'py>(py: Python<'py>, runs: &[Run<'_>]) -> PyResult<Bound<'py, PyString>> {
    let mut text = String::with_capacity(runs.iter().map(Run::len).sum());
    for run in runs {
        match run {
            Run::Ascii(ascii) => text.extend(ascii.iter().map(|byte| char::from(*byte))),
            Run::Wide(wide) => text.extend(wide.iter().filter_map(|code| char::from_u32(*code))),
        }
    }
    Ok(PyString::new(py, &text))
}
