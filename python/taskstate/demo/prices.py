"""Rules for prices: line items, totals and tax out of tables, labelled lines and sentences."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from decimal import Decimal

from .segments import NUMERIC_CELL, Segment
from .values import currency, moneys, number, percents

_I = re.IGNORECASE
_QTY = re.compile(r"\b(?:qty|quantity|pieces|pcs|units|number)\b|^no\.?$", _I)
_UNIT = re.compile(r"\bunit\b|\beach\b|\bper (?:unit|piece|item)\b|\brate\b", _I)
_TOTAL = re.compile(r"\bamount\b|\btotal\b|\bsum\b|\bvalue\b|\bprice\b|\bcost\b|\bextended\b", _I)
_TAX = re.compile(r"\b(?:VAT|value added tax|MwSt|TVA|BTW|sales tax|GST)\b", _I)
_SUM_LABEL = re.compile(
    r"^(?:sub-?\s?total|(?:grand |net |gross |overall |contract )?(?:total|sum)\b|net\b|gross\b"
    r"|amount (?:due|payable))",
    _I,
)
_DISCOUNT = re.compile(r"^(?:less\b|discount|rebate)|\bdiscount\b", _I)
_GROSS = re.compile(r"\bgross\b|\bgrand\b|\bincl(?:uding|usive|\.)?\b|\bwith (?:VAT|tax)\b|\bpayable\b", _I)
_NET = re.compile(r"\bnet\b|\bexcl(?:uding|usive|\.)?\b|\b(?:without|before) (?:VAT|tax)\b|\bsub-?\s?total\b", _I)
_PRICING = re.compile(
    r"\b(?:prices?|amounts?|totals?|costs?|fees?|sum|each|per|payable|vat|tax|quot(?:e|ation)|offer|unit|apiece)\b", _I
)
_EXTRA = re.compile(
    r"\boption|\bnot (?:included|contained)|\badditional\b|\bextra\b|\bcan be added\b|\bsurcharge\b", _I
)
_EACH = re.compile(
    r"\bunit price\b|\b(?:price|cost) (?:for|of|per) (?:each|one|every|a|unit)\b|\bper (?:unit|piece|item)\b|\beach\b",
    _I,
)
_TAX_OUT = re.compile(
    r"\b(?:excl\w*\.?|plus|without|before|net of|do(?:es)? not include|not including)\s+(?:of\s+)?(?:the\s+)?"
    rf"(?:\w+\s+)?(?:{_TAX.pattern}|tax(?:es)?\b)",
    _I,
)
_TAX_IN = re.compile(rf"\b(?:incl\w*\.?|with)\s+(?:of\s+)?(?:the\s+)?(?:\w+\s+)?(?:{_TAX.pattern}|tax(?:es)?\b)", _I)


@dataclass(frozen=True)
class Item:
    """A line of a price table."""

    name: str
    quantity: Decimal | None
    unit: Decimal | None
    total: Decimal
    line: int
    currency: str = ""


@dataclass(frozen=True)
class Amount:
    """A sum, a price or a tax amount; `kind` is `unit`, `net`, `gross`, `total` (not said which) or `vat`."""

    kind: str
    value: Decimal
    line: int
    currency: str = ""


@dataclass
class Prices:
    """Everything about prices in one document, in order of appearance."""

    items: list[Item] = field(default_factory=list)
    amounts: list[Amount] = field(default_factory=list)
    rates: list[tuple[Decimal, int]] = field(default_factory=list)
    currencies: dict[str, int] = field(default_factory=dict)
    discount: Decimal = Decimal(0)
    quantity: tuple[Decimal, int] | None = None
    tax_excluded: int = 0
    tax_included: int = 0
    unclassified: int = 0

    def first(self, kind: str) -> Amount | None:
        """The first amount of a kind."""
        return next((amount for amount in self.amounts if amount.kind == kind), None)


class PriceReader:
    """Takes the segments of a document in order and fills `prices`."""

    def __init__(self) -> None:
        self.prices = Prices()
        self._columns: dict[str, int] | None = None
        self._code = ""
        self._in_table = False

    def take(self, segment: Segment) -> None:
        """Look at one segment."""
        self._currencies(segment)
        self._taxes(segment)
        if segment.kind == "row":
            self._row(segment)
        else:
            self._in_table = False
            self._columns = None
            if segment.kind != "heading":
                self._prose(segment)

    def _currencies(self, segment: Segment) -> None:
        text = segment.text
        # A dollar sign alone is as likely a shell variable: only where a price is the matter is it a currency.
        if not _PRICING.search(text) and not (segment.kind == "row" and self._columns):
            return
        if _EXTRA.search(text) and segment.kind != "row":
            return
        for name in [money.currency for money in moneys(text)] or [currency(text)]:
            if name:
                self.prices.currencies.setdefault(name, segment.line())

    def _taxes(self, segment: Segment) -> None:
        text = segment.text
        for rate, at, end in percents(text):
            if _TAX.search(text[max(at - 24, 0) : at]) or _TAX.match(text[end:].lstrip()):
                self.prices.rates.append((rate.normalize(), segment.line(at)))
        if found := _TAX_OUT.search(text):
            self.prices.tax_excluded = self.prices.tax_excluded or segment.line(found.start())
        elif (found := _TAX_IN.search(text)) and segment.kind != "row":
            self.prices.tax_included = self.prices.tax_included or segment.line(found.start())

    def _row(self, segment: Segment) -> None:
        cells = segment.cells
        numeric = [index for index, cell in enumerate(cells) if NUMERIC_CELL.match(cell)]
        priced = any(any(moneys(cell)) for cell in cells)
        if not numeric and not priced:
            header = _header(cells)
            if header or not self._in_table:
                self._columns = header
                self._code = currency(segment.text)
            self._in_table = True
            return
        self._in_table = True
        if self._columns is None and not priced:
            return
        words = [cell for index, cell in enumerate(cells) if index not in numeric and any(c.isalpha() for c in cell)]
        label = next((word for word in words if _SUM_LABEL.match(word) or _TAX.match(word)), "")
        money = [index for index in numeric if "%" not in cells[index]]
        if not money:
            return
        last = _amount(cells[money[-1]])
        line = segment.line()
        code = currency(" ".join(cells)) or self._code
        if label:
            kind = "vat" if _TAX.match(label) else _kind(label)
            self.prices.amounts.append(Amount(kind, last, line, code))
        elif any(_DISCOUNT.search(word) for word in words):
            self.prices.discount += abs(last)
        elif not words:
            self.prices.unclassified += 1
        elif not _EXTRA.search(" ".join(words)):
            self._item(cells, money, max(words, key=len), line, code)

    def _item(self, cells: tuple[str, ...], money: list[int], name: str, line: int, code: str) -> None:
        columns = self._columns or {}
        if columns and max(columns.values()) < len(cells):
            value = {key: _amount(cells[at]) for key, at in columns.items() if NUMERIC_CELL.match(cells[at])}
        else:
            # Columns don't line up with the head: count the numbers from the right.
            keys = ("total", "unit", "quantity")
            value = dict(zip(keys, (_amount(cells[at]) for at in reversed(money)), strict=False))
        total = value.get("total")
        if total is None and money[-1] > columns.get("unit", len(cells)):
            total = _amount(cells[money[-1]])
        quantity, unit = value.get("quantity"), value.get("unit")
        if total is None and unit is not None:
            total = unit * (quantity or 1)
        if total is not None:
            self.prices.items.append(Item(name, quantity, unit, total, line, code))

    def _prose(self, segment: Segment) -> None:
        text = segment.text
        found = list(moneys(text))
        if not found:
            if re.match(r"(?:number|quantity|qty)\b", segment.label, _I):
                counts = [number(word) for word in re.findall(r"\b\d{1,6}\b", text)]
                if len(counts) == 1 and counts[0] is not None:
                    self.prices.quantity = (counts[0], segment.line())
            return
        for money in found:
            before = text[max(money.at - 60, 0) : money.at]
            after = re.split(r"[;.](?:\s|$)", text[money.end : money.end + 45])[0]
            line = segment.line(money.at)
            if _EXTRA.search(text) or re.search(r"\bper\b.{0,20}\b(?:month|year|day|hour|km)\b", after, _I):
                continue
            if _EACH.search(before) or re.match(r"\s*(?:each|apiece|per (?:unit|piece|item))\b", after, _I):
                self.prices.amounts.append(Amount("unit", money.amount, line, money.currency))
            elif _TAX.search(before) and not re.search(r"\btotal\b|\bsum\b", before, _I):
                self.prices.amounts.append(Amount("vat", money.amount, line, money.currency))
            elif (
                re.search(r"\btotal\b|\bsum of\b|\b(?:contract|overall|offer) price\b|\blump sum\b", before, _I)
                or re.match(r"\s*in total\b", after, _I)
                or re.fullmatch(r"(?:our |offer |the )?price", segment.label, _I)
            ):
                self.prices.amounts.append(Amount(_kind(before + after), money.amount, line, money.currency))
            else:
                self.prices.unclassified += 1


def _header(cells: tuple[str, ...]) -> dict[str, int] | None:
    columns: dict[str, int] = {}
    for index, cell in enumerate(cells):
        if _UNIT.search(cell) and "unit" not in columns and not re.fullmatch(r"units?", cell.strip(), _I):
            columns["unit"] = index
        elif _QTY.search(cell) and index and "quantity" not in columns:
            columns["quantity"] = index
        elif _TOTAL.search(cell):
            columns["total"] = index
    return columns if "unit" in columns or "total" in columns else None


def _kind(label: str) -> str:
    if _GROSS.search(label):
        return "gross"
    return "net" if _NET.search(label) else "total"


def _amount(cell: str) -> Decimal:
    digits = re.search(r"\d[\d .,'\u00a0\u2009\u202f\u2019]*", cell)
    value = number(digits.group().rstrip(" .,'")) if digits else None
    negative = cell.strip().startswith(("-", "\u2212", "("))
    return (-value if negative else value) if value is not None else Decimal(0)
