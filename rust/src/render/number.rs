//! Numbers as JavaScript prints them, which is how the original renders a state.

use crate::value::bytes::push_padded;
use crate::value::raw::Int;

pub fn push_int(out: &mut Vec<u8>, value: Int) {
    if let Int::Signed(number @ 0..10_000) = value {
        return push_small(out, number.unsigned_abs());
    }
    let mut buffer = itoa::Buffer::new();
    let text = match value {
        Int::Signed(number) => buffer.format(number),
        Int::Unsigned(number) => buffer.format(number),
    };
    out.extend_from_slice(text.as_bytes());
}

/// Append the shortest text of a finite float (`1e+21`, `1e-7`, `0.000001`).
///
/// A whole number keeps `.0` and `-0.0` its sign, so that a float stays a float when read back.
pub fn push_float(out: &mut Vec<u8>, value: f64) {
    if push_decimal(out, value) {
        return;
    }
    if value == 0.0 {
        out.extend_from_slice(if value.is_sign_negative() { b"-0.0" } else { b"0.0" });
        return;
    }
    let mut buffer = ryu_js::Buffer::new();
    let text = buffer.format_finite(value).as_bytes();
    out.extend_from_slice(text);
    if !text.iter().any(|byte| matches!(byte, b'.' | b'e')) {
        out.extend_from_slice(b".0");
    }
}

/// Append a float that somebody wrote with at most six decimals and nine digits before them, as most are.
///
/// Two numbers of up to 15 digits never give the same float, so that if one of them gives this float,
/// its digits are the shortest.
fn push_decimal(out: &mut Vec<u8>, value: f64) -> bool {
    const SCALE: u32 = 1_000_000;
    let size = value.abs();
    if !(1e-6..1e9).contains(&size) {
        return false;
    }
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is from 1 to 10^15")]
    let scaled = (size * f64::from(SCALE) + 0.5) as u64;
    #[allow(
        clippy::cast_precision_loss,
        clippy::float_cmp,
        reason = "10^15 is below 2^53, and it has to be this float"
    )]
    if scaled as f64 / f64::from(SCALE) != size {
        return false;
    }
    if value < 0.0 {
        out.push(b'-');
    }
    let (whole, mut decimals) = (scaled / u64::from(SCALE), scaled % u64::from(SCALE));
    push_int(out, Int::Unsigned(whole));
    let mut text = *b".000000 ";
    for place in text[1..7].iter_mut().rev() {
        *place = b'0' + (decimals % 10) as u8;
        decimals /= 10;
    }
    let zeros = text[2..7].iter().rev().take_while(|digit| **digit == b'0').count();
    push_padded(out, &text, 7 - zeros);
    true
}

/// Append a number below 10 000.
fn push_small(out: &mut Vec<u8>, number: u64) {
    let mut text = *b"0000";
    let mut rest = number;
    for place in text.iter_mut().rev() {
        *place = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    let size = match number {
        0..10 => 1,
        10..100 => 2,
        100..1000 => 3,
        _ => 4,
    };
    let digits = (u32::from_be_bytes(text) << (8 * (4 - size))).to_be_bytes();
    push_padded(out, &digits, size);
}
