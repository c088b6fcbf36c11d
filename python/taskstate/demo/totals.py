"""Turn the prices of a document into findings, and check its arithmetic."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal

from .findings import Contradiction, Finding
from .prices import Amount, Item, Prices
from .values import show

_CENT = Decimal("0.05")


def price_findings(prices: Prices) -> Iterator[Finding]:
    """Unit price of the main item, totals, tax and currency, as far as the document states them."""
    code = next(iter(prices.currencies), "") if len(prices.currencies) == 1 else ""
    main = main_item(prices)
    if main and main.unit is not None:
        times = f" x {main.quantity.normalize():f}" if main.quantity else ""
        yield Finding("unit_price", f"{show(main.unit, main.currency or code)}{times}", main.line, str(main.unit))
    listed = {item.unit for item in prices.items}
    for amount in prices.amounts:
        if amount.kind == "unit" and amount.value not in listed:
            yield Finding("unit_price", show(amount.value, amount.currency or code), amount.line, str(amount.value))
    for amount in _sums(prices):
        criterion = "total_gross" if amount.kind == "gross" else "total_net"
        suffix = " (net or gross not said)" if amount.kind == "total" else ""
        shown = show(amount.value, amount.currency or code) + suffix
        yield Finding(criterion, shown, amount.line, f"{amount.value:.2f}")
    yield from _tax_findings(prices, code)
    for name, line in prices.currencies.items():
        yield Finding("currency", name, line, name)


def _sums(prices: Prices) -> Iterator[Amount]:
    """Totals, with those that don't say net or gross settled where the document leaves only one reading."""
    known = {amount.kind for amount in prices.amounts}
    for amount in prices.amounts:
        if amount.kind in ("net", "gross"):
            yield amount
        elif amount.kind == "total":
            same = next((o.kind for o in prices.amounts if o.kind in ("net", "gross") and o.value == amount.value), "")
            if same:
                continue
            if "gross" in known and "net" not in known:
                yield replace(amount, kind="net")
            elif "net" in known and "gross" not in known and "vat" in known:
                yield replace(amount, kind="gross")
            elif prices.tax_excluded and not prices.tax_included:
                yield replace(amount, kind="net")
            else:
                yield amount


def _tax_findings(prices: Prices, code: str) -> Iterator[Finding]:
    tax = prices.first("vat")
    seen = set()
    for rate, line in prices.rates:
        if rate not in seen:
            seen.add(rate)
            amount = f" ({show(tax.value, tax.currency or code)})" if tax and len(seen) == 1 else ""
            yield Finding("vat", f"{rate:f} %{amount}", line, f"{rate:f} %")
    if seen:
        return
    if tax:
        yield Finding("vat", show(tax.value, tax.currency or code), tax.line)
    elif prices.tax_excluded:
        yield Finding("vat", "excluded, rate left open", prices.tax_excluded, open=True)
    elif prices.tax_included:
        yield Finding("vat", "included, rate left open", prices.tax_included, open=True)


def main_item(prices: Prices) -> Item | None:
    """The item that costs most in all; of equal ones the first."""
    priced = [item for item in prices.items if item.unit is not None]
    return max(priced, key=lambda item: item.total) if priced else None


def price_faults(prices: Prices) -> Iterator[Contradiction]:
    """Lines that aren't quantity times price, totals that aren't the sum, tax that doesn't fit."""
    for item in prices.items:
        if item.quantity and item.unit is not None and abs(item.quantity * item.unit - item.total) > _CENT:
            product = f"{item.quantity.normalize():f} x {item.unit:,.2f} is {item.quantity * item.unit:,.2f}"
            text = f"{product}, not {item.total:,.2f} (line {item.line})"
            yield Contradiction("unit_price", text, (item.line,))
    sums = list(_sums(prices))
    net = next((amount for amount in sums if amount.kind in ("net", "total")), None)
    gross = next((amount for amount in sums if amount.kind == "gross"), None)
    tax = prices.first("vat")
    added = sum((item.total for item in prices.items), Decimal(0)) - prices.discount
    if net and len(prices.items) > 1 and abs(added - net.value) > _CENT:
        if not (net.kind == "total" and tax and abs(added + tax.value - net.value) <= _CENT):
            yield _difference("total_net", net, added, "the lines add up to")
    elif gross and not net and len(prices.items) > 1:
        expected = added + (tax.value if tax else 0)
        if abs(expected - gross.value) > _CENT and abs(added - gross.value) > _CENT:
            yield _difference("total_gross", gross, added, "the lines add up to")
    unit = prices.first("unit")
    if unit and net and prices.quantity and not prices.items:
        expected = unit.value * prices.quantity[0]
        if abs(expected - net.value) > _CENT:
            yield _difference("total_net", net, expected, f"{prices.quantity[0]} x {unit.value:,.2f} is")
    if net and net.kind != "total" and tax and gross and abs(net.value + tax.value - gross.value) > _CENT:
        yield _difference("total_gross", gross, net.value + tax.value, "net total and VAT add up to")
    rates = {rate for rate, _ in prices.rates}
    if net and net.kind != "total" and tax and len(rates) == 1:
        expected = net.value * next(iter(rates)) / 100
        # Rounding line by line may differ by cents, a wrong rate differs by more.
        if abs(expected - tax.value) > 1:
            yield _difference("vat", tax, expected, f"{next(iter(rates)):f} % of the net total is")


def _difference(criterion: str, stated: Amount, expected: Decimal, what: str) -> Contradiction:
    text = f"states {stated.value:,.2f} (line {stated.line}) but {what} {expected:,.2f}"
    return Contradiction(criterion, text, (stated.line,))
