//! The inside of a JSON string: what needs no escape is copied as it is.

/// The beginning of a closing tag that a string must not hold; it is written with an escaped slash.
pub type Closing = Option<&'static [u8]>;

/// A code unit as CPython stores it: one, two or four bytes wide.
pub trait Unit: Copy + Into<u32> {}
impl Unit for u8 {}
impl Unit for u16 {}
impl Unit for u32 {}

/// Append an ASCII string.
pub fn push_ascii(out: &mut Vec<u8>, text: &[u8], closing: Closing) {
    let mut rest = text;
    loop {
        let (run, after) = rest.split_at(plain_prefix(rest));
        out.extend_from_slice(run);
        let Some((first, following)) = after.split_first() else { return };
        let closes = *first == b'<' && closing.is_some_and(|tag| after.starts_with(tag));
        out.extend_from_slice(if closes { b"<\\" } else { escaped(first) });
        rest = following;
    }
}

pub struct LoneSurrogate;

/// Append a string that isn't ASCII.
pub fn push_wide<T: Unit>(out: &mut Vec<u32>, text: &[T], closing: Closing) -> Result<(), LoneSurrogate> {
    out.reserve(text.len());
    let mut rest = text;
    loop {
        let (run, after) = rest.split_at(plain_prefix(rest));
        out.extend(run.iter().map(|unit| (*unit).into()));
        let Some((first, following)) = after.split_first() else { return Ok(()) };
        let Ok(ascii) = u8::try_from((*first).into()) else { return Err(LoneSurrogate) };
        let closes = ascii == b'<' && closing.is_some_and(|tag| starts_with(after, tag));
        out.extend(if closes { b"<\\" } else { escaped(&ascii) }.iter().map(|byte| u32::from(*byte)));
        rest = following;
    }
}

fn starts_with<T: Unit>(text: &[T], tag: &[u8]) -> bool {
    text.len() >= tag.len() && text.iter().zip(tag).all(|(unit, byte)| (*unit).into() == u32::from(*byte))
}

/// Whether a character has to be looked at: one to escape, the start of a closing tag, or a surrogate.
#[inline]
fn is_special<T: Unit>(unit: T) -> bool {
    let code: u32 = unit.into();
    (code < 0x20)
        | (code == u32::from(b'"'))
        | (code == u32::from(b'\\'))
        | (code == u32::from(b'<'))
        | (size_of::<T>() > 1 && code & 0xFFFF_F800 == 0xD800)
}

/// How many characters from the start are not special.
fn plain_prefix<T: Unit>(text: &[T]) -> usize {
    const CHUNK: usize = 16;
    let mut done = 0;
    for chunk in text.chunks_exact(CHUNK) {
        // Without a branch inside, so that it is done for the whole chunk at once.
        if chunk.iter().fold(false, |found, unit| found | is_special(*unit)) {
            break;
        }
        done += CHUNK;
    }
    let rest = &text[done..];
    done + rest.iter().position(|unit| is_special(*unit)).unwrap_or(rest.len())
}

/// The JSON text of an ASCII character that is escaped, any other as it is.
fn escaped(byte: &u8) -> &[u8] {
    match byte {
        b'"' => b"\\\"",
        b'\\' => b"\\\\",
        b'\n' => b"\\n",
        b'\r' => b"\\r",
        b'\t' => b"\\t",
        0x08 => b"\\b",
        0x0C => b"\\f",
        control @ 0..0x20 => &CONTROLS[usize::from(*control)],
        _ => std::slice::from_ref(byte),
    }
}

const CONTROLS: [[u8; 6]; 32] = {
    let mut table = [*b"\\u0000"; 32];
    let mut code = 0;
    while code < 32 {
        table[code][4] = b"0123456789abcdef"[code >> 4];
        table[code][5] = b"0123456789abcdef"[code & 15];
        code += 1;
    }
    table
};
