"""Numbers as JavaScript prints them, which is how the original renders a state."""

from __future__ import annotations


def float_text(value: float) -> str:
    """The shortest text of a finite float.

    Laid out by ECMAScript's Number::toString (`1e+21`, `1e-7`, `0.000001`), except that a whole
    number keeps `.0` and `-0.0` its sign, so that a float stays a float when read back.
    """
    mantissa, _, exponent = repr(value).partition("e")
    sign = "-" if mantissa[0] == "-" else ""
    whole, _, fraction = mantissa.lstrip("-").partition(".")
    digits = (whole + fraction).lstrip("0")
    if not digits:
        return sign + "0.0"
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0")
    if not -6 < point <= 21:
        head, tail = digits[0], digits[1:]
        return f"{sign}{head}{'.' + tail if tail else ''}e{point - 1:+d}"
    if point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    if point >= len(digits):
        return f"{sign}{digits.ljust(point, '0')}.0"
    return f"{sign}{digits[:point]}.{digits[point:]}"
