"""Read money, durations, dates and percentages out of plain text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal, InvalidOperation

_GAP = "[ \u00a0\u2009\u202f]"
NUMBER = rf"(?:\d{{1,3}}(?:(?:{_GAP}|[.,'\u2019])\d{{3}})+(?:[.,]\d{{1,2}})?|\d+(?:[.,]\d{{1,2}})?)(?![\d])"
CURRENCY = r"(?:EUR|USD|GBP|CHF|SEK|NOK|DKK|PLN|CZK|CAD|AUD|JPY|euros?|pounds sterling|US\$|\u20ac|\$|\u00a3)"
_ISO = {"€": "EUR", "$": "USD", "US$": "USD", "£": "GBP", "EURO": "EUR", "EUROS": "EUR", "POUNDS STERLING": "GBP"}
_MONEY = re.compile(
    rf"(?<![\w.,])(?:(?P<before>{CURRENCY}){_GAP}?(?P<a>{NUMBER})|(?P<b>{NUMBER}){_GAP}?(?P<after>{CURRENCY})(?!\w))",
    re.IGNORECASE,
)
_CURRENCY = re.compile(rf"(?<!\w){CURRENCY}(?!\w)", re.IGNORECASE)

_WORDS = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen twenty"
).split()
_SPELLED = {word: value for value, word in enumerate(_WORDS, 1)} | {
    "twenty-four": 24, "thirty": 30, "thirty-six": 36, "forty": 40, "forty-five": 45, "sixty": 60, "ninety": 90,
}  # fmt: skip
_COUNT = rf"(?:\d{{1,4}}|{'|'.join(sorted(_SPELLED, key=len, reverse=True))})"
_DURATION = re.compile(
    rf"(?<![\w.,-])(?P<low>{_COUNT})(?:{_GAP}\(\d+\))?"
    rf"(?:{_GAP}?(?:-|\u2013|to|or|bis){_GAP}?(?P<high>{_COUNT}))?[ \u00a0\n-]{{0,2}}"
    r"(?P<unit>(?:(?:working|business|calendar)[ \n-])?(?:days?|weeks?|months?|years?))\b",
    re.IGNORECASE,
)
_MONTHS = "january february march april may june july august september october november december".split()
_MONTH = "|".join(rf"{name[:3]}(?:{name[3:]})?" if len(name) > 3 else name for name in _MONTHS)
_DATE = re.compile(
    rf"(?<!\w)(?:(?P<y1>\d{{4}})-(?P<m1>\d\d)-(?P<d1>\d\d)|(?P<d2>\d{{1,2}})[./](?P<m2>\d{{1,2}})[./](?P<y2>\d{{4}})"
    rf"|(?P<d3>\d{{1,2}})(?:st|nd|rd|th)?\.?[ \n](?P<n3>{_MONTH})\.?,?[ \n](?P<y3>\d{{4}})"
    rf"|(?P<n4>{_MONTH})\.?[ \n](?P<d4>\d{{1,2}})(?:st|nd|rd|th)?,?[ \n](?P<y4>\d{{4}}))(?!\w)",
    re.IGNORECASE,
)
_PERCENT = re.compile(rf"(?<![\w.,])(?P<n>\d{{1,3}}(?:[.,]\d{{1,2}})?){_GAP}?(?:%|per ?cent\b)", re.IGNORECASE)


@dataclass(frozen=True)
class Money:
    """An amount; `currency` is an ISO code or empty, `at` and `end` are offsets into the text."""

    amount: Decimal
    currency: str
    at: int
    end: int


@dataclass(frozen=True)
class Duration:
    """A span of time; `low` and `high` are equal unless a range was given, `unit` is singular."""

    low: int
    high: int
    unit: str
    at: int
    end: int

    @property
    def normal(self) -> str:
        """One spelling for equal spans: 2 years and 24 months agree, days and working days don't."""
        factor, unit = {"year": (12, "month"), "week": (7, "day"), "calendar day": (1, "day")}.get(
            self.unit, (1, self.unit)
        )
        low, high = self.low * factor, self.high * factor
        return f"{low} {unit}" if low == high else f"{low}-{high} {unit}"

    def __str__(self) -> str:
        count = str(self.low) if self.low == self.high else f"{self.low} to {self.high}"
        return f"{count} {self.unit}{'' if self.high == 1 else 's'}"


@dataclass(frozen=True)
class Day:
    """A calendar date and where it was found."""

    day: date
    at: int
    end: int

    def __str__(self) -> str:
        return f"{self.day.day} {_MONTHS[self.day.month - 1].capitalize()} {self.day.year}"


def number(text: str) -> Decimal | None:
    """The value of a number in English, German, French or Swiss spelling; None if it is none."""
    text = re.sub(rf"{_GAP}|['\u2019]", "", text)
    seen = [mark for mark in text if mark in ".,"]
    if len(set(seen)) == 2:
        text = text.replace(seen[0], "").replace(seen[-1], ".")
    elif len(seen) > 1 or (seen and re.search(r"^\d{1,3}[.,]\d{3}$", text)):
        text = text.replace(seen[0], "")
    elif seen:
        text = text.replace(seen[0], ".")
    try:
        return Decimal(text)
    except InvalidOperation:
        return None


def currency(text: str) -> str:
    """The ISO code of the first currency named in the text, or an empty string."""
    found = _CURRENCY.search(text)
    return _iso(found.group()) if found else ""


def _iso(name: str) -> str:
    return _ISO.get(name.upper(), name.upper())


def moneys(text: str) -> Iterator[Money]:
    """Every amount that carries a currency."""
    for found in _MONEY.finditer(text):
        amount = number(found["a"] or found["b"])
        if amount is not None:
            yield Money(amount, _iso(found["before"] or found["after"]), found.start(), found.end())


def durations(text: str) -> Iterator[Duration]:
    """Every span of time, with digits or words (`8 to 10 weeks`, `five years`, `24-month`)."""
    for found in _DURATION.finditer(text):
        low = _count(found["low"])
        high = _count(found["high"]) if found["high"] else low
        unit = re.sub(r"[\n-]", " ", found["unit"].lower()).removesuffix("s")
        yield Duration(low, high, unit.replace("business", "working"), found.start(), found.end())


def _count(text: str) -> int:
    return int(text) if text.isdigit() else _SPELLED[text.lower()]


def dates(text: str) -> Iterator[Day]:
    """Every calendar date; `03/04/2025` is read as day, month, year."""
    for found in _DATE.finditer(text):
        part = found.groupdict()
        year = next(int(part[key]) for key in ("y1", "y2", "y3", "y4") if part[key])
        name = part["n3"] or part["n4"]
        month = _month(name) if name else int(part["m1"] or part["m2"])
        day = next(int(part[key]) for key in ("d1", "d2", "d3", "d4") if part[key])
        try:
            yield Day(date(year, month, day), found.start(), found.end())
        except ValueError:
            continue


def _month(name: str) -> int:
    return next(index for index, full in enumerate(_MONTHS, 1) if full.startswith(name.lower()))


def percents(text: str) -> Iterator[tuple[Decimal, int, int]]:
    """Every percentage with its place in the text."""
    for found in _PERCENT.finditer(text):
        value = number(found["n"])
        if value is not None:
            yield value, found.start(), found.end()


def show(amount: Decimal, code: str) -> str:
    """An amount for reading: `EUR 67,320.00`."""
    return f"{code} {amount:,.2f}".strip()
