//! Appending short texts to a byte vector, with one check of its room for all that is written.

#![allow(unsafe_code, reason = "a call that copies a few bytes costs more than they do; each block says why it may")]
#![allow(clippy::inline_always, reason = "each of these runs for every value; measured")]

/// The bytes of an ASCII text that JSON escapes, and `<`, which may begin a closing tag.
#[inline]
#[allow(clippy::needless_bitwise_bool, reason = "without a branch many bytes are looked at at once")]
pub fn is_special(byte: u8) -> bool {
    (byte < 0x20) | (byte == b'"') | (byte == b'\\') | (byte == b'<')
}

/// Append a quote, an ASCII text and what follows it; nothing, and `false`, where a byte of the text is special.
///
/// The text is looked at while it is copied, by pieces of a fixed size of which the last two may overlap.
#[inline(always)]
pub fn push_plain<const N: usize>(out: &mut Vec<u8>, text: &[u8], end: &[u8; N]) -> bool {
    out.reserve(1 + text.len() + N);
    // SAFETY: there is room for all three, and the length is set when they are written. No piece is
    // longer than the text, and the last one ends where the text does.
    unsafe {
        let start = out.as_mut_ptr().add(out.len());
        start.write(b'"');
        let (from, to, size) = (text.as_ptr(), start.add(1), text.len());
        let special = match size {
            16.. => {
                let mut special = block(from.add(size - 16), to.add(size - 16));
                let mut done = 0;
                while done + 16 < size {
                    special |= block(from.add(done), to.add(done));
                    done += 16;
                }
                special
            }
            8.. => special_in_word(word(from, to)) | special_in_word(word(from.add(size - 8), to.add(size - 8))),
            4.. => {
                let (first, last) = (half(from, to), half(from.add(size - 4), to.add(size - 4)));
                special_in_word(u64::from(first) | u64::from(last) << 32)
            }
            _ => text.iter().enumerate().fold(false, |special, (index, byte)| {
                to.add(index).write(*byte);
                special | is_special(*byte)
            }),
        };
        if special {
            return false;
        }
        to.add(size).cast::<[u8; N]>().write_unaligned(*end);
        out.set_len(out.len() + 1 + size + N);
        true
    }
}

/// Copy 16 bytes; gives whether one of them is special.
///
/// # Safety
/// There are as many on both sides.
#[inline(always)]
unsafe fn block(from: *const u8, to: *mut u8) -> bool {
    // SAFETY: the caller's promise.
    let bytes = unsafe { from.cast::<[u8; 16]>().read_unaligned() };
    unsafe { to.cast::<[u8; 16]>().write_unaligned(bytes) };
    bytes.iter().fold(false, |special, byte| special | is_special(*byte))
}

/// Copy 8 bytes and give them, the first one lowest.
///
/// # Safety
/// There are as many on both sides.
#[inline(always)]
unsafe fn word(from: *const u8, to: *mut u8) -> u64 {
    // SAFETY: the caller's promise.
    let bytes = unsafe { from.cast::<[u8; 8]>().read_unaligned() };
    unsafe { to.cast::<[u8; 8]>().write_unaligned(bytes) };
    u64::from_le_bytes(bytes)
}

/// Copy 4 bytes and give them, the first one lowest.
///
/// # Safety
/// There are as many on both sides.
#[inline(always)]
unsafe fn half(from: *const u8, to: *mut u8) -> u32 {
    // SAFETY: the caller's promise.
    let bytes = unsafe { from.cast::<[u8; 4]>().read_unaligned() };
    unsafe { to.cast::<[u8; 4]>().write_unaligned(bytes) };
    u32::from_le_bytes(bytes)
}

/// Whether one of eight ASCII bytes is special.
#[inline(always)]
fn special_in_word(word: u64) -> bool {
    const ONES: u64 = u64::MAX / 255;
    // A subtraction borrows into the high bit of the lowest byte that is below what is taken away.
    // Control characters and the quote are those below 0x21 once bit 1 is flipped.
    let quote_or_control = (word ^ (ONES * 2)).wrapping_sub(ONES * 0x21);
    let backslash = (word ^ (ONES * 0x5C)).wrapping_sub(ONES);
    let less_than = (word ^ (ONES * 0x3C)).wrapping_sub(ONES);
    (quote_or_control | backslash | less_than) & (ONES * 0x80) != 0
}

/// Append a text of at most `MOST` bytes, padded to that size, of which `size` count.
#[inline(always)]
pub fn push_padded<const MOST: usize>(out: &mut Vec<u8>, text: &[u8; MOST], size: usize) {
    out.reserve(MOST);
    // SAFETY: there is room for the whole text, and no more than it counts.
    unsafe {
        out.as_mut_ptr().add(out.len()).cast::<[u8; MOST]>().write_unaligned(*text);
        out.set_len(out.len() + size.min(MOST));
    }
}

/// Append the end of a line and the spaces that begin the next one.
#[inline(always)]
pub fn push_line<const N: usize>(out: &mut Vec<u8>, text: &[u8; N], spaces: usize) {
    const MOST: usize = 16;
    out.reserve(N + MOST);
    // SAFETY: there is room for the text and for as many spaces as are written; fewer may count.
    unsafe {
        let start = out.as_mut_ptr().add(out.len());
        start.cast::<[u8; N]>().write_unaligned(*text);
        start.add(N).cast::<[u8; MOST]>().write_unaligned([b' '; MOST]);
        out.set_len(out.len() + N + spaces.min(MOST));
    }
    if spaces > MOST {
        out.resize(out.len() + spaces - MOST, b' ');
    }
}
