//! Numbers as JavaScript prints them, which is how the original renders a state.

/// Append the shortest text of a finite float (`1e+21`, `1e-7`, `0.000001`).
///
/// A whole number keeps `.0` and `-0.0` its sign, so that a float stays a float when read back.
pub fn push_float(out: &mut String, value: f64) {
    if value == 0.0 {
        out.push_str(if value.is_sign_negative() { "-0.0" } else { "0.0" });
        return;
    }
    let mut buffer = ryu_js::Buffer::new();
    let text = buffer.format_finite(value);
    out.push_str(text);
    if !text.contains(['.', 'e']) {
        out.push_str(".0");
    }
}
