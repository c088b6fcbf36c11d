"""Rules for the terms of an offer: delivery, warranty, payment, validity."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import date, timedelta
from decimal import Decimal

from .findings import Contradiction, Finding
from .segments import Segment
from .values import Day, Duration, dates, durations, percents

_I = re.IGNORECASE
_NEAR = 80
"""Characters before a value that can say what it is."""
_OPEN = re.compile(
    r"\b(?:to|will|shall|is|are) (?:be )?(?:mutually )?(?:agreed|confirmed|advised|determined|announced|defined)\b"
    r"|\bt\.?b\.?[acdn]\b|\bon request\b|\bby arrangement\b|\b(?:under|subject to|according to) the conditions of\b"
    r"|\bmanufacturer'?s (?:conditions|terms|warranty)\b",
    _I,
)

_WARRANTY = re.compile(r"\bwarrant(?:y|ies|ed)\b|\bguarantees?\b|\bguaranteed\b|\bdefects? liability\b", _I)
_WARRANTY_CUE = re.compile(r"\bcover|\bperiod\b|\bduration\b|\bapplies\b|\bfrom\b|\bparts and labou?r", _I)
_NO_WARRANTY = re.compile(
    r"\bno warrant(?:y|ies)\b|\bwithout (?:\w+ ){0,5}warrant(?:y|ies)\b|\bdisclaims?\b[^.]{0,40}\bwarrant"
    r"|\bwarrant(?:y|ies)\b[^.]{0,200}\bdisclaimed\b|\bexcluding\b[^.]{0,20}\bwarrant",
    _I,
)
_PART = re.compile(
    r"\b(compressors?|cabinets?|vacuum panels?|electronics|controllers?|batter(?:y|ies)|door seals?|gaskets?|coating"
    r"|paint|structure|structural \w+|(?:all )?other parts|frames?|uprights?|beams?|motors?|software|installation"
    r"|workmanship|spare parts|consumables)\b",
    _I,
)
_OPTIONAL = re.compile(r"\boption(?:al|ally)?\b|\bextend|\bextension\b|\bsurcharge\b|\bagainst payment\b", _I)

_DELIVERY = re.compile(r"\bdeliver(?:y|ies|ed|s)?\b|\bship(?:ment|ped|ping)\b|\bdispatch(?:ed)?\b|\blead[- ]time\b", _I)
_DELIVERY_CUE = re.compile(
    r"\b(?:after|from|of|upon|following)\s+(?:the\s+|your\s+)?(?:receipt|order|confirmation)", _I
)
_NOT_DELIVERY = re.compile(
    r"\bdelay|\blate\b|\bpenalt|\bliquidated\b|\bwarrant|\bguarantee|\binvoice|(?<!first )\bpayment\b|\bstorage\b", _I
)
_SINCE_DELIVERY = re.compile(
    r"^[\s(]*(?:\w+\s+){0,3}?(?:after|from|following|of|since|before|prior to|on)\s+(?:the\s+)?(?:date\s+of\s+)?"
    r"(?:delivery|shipment|dispatch|commissioning|acceptance|installation|invoice)\b",
    _I,
)
_WEEK = re.compile(r"\b(?:calendar week|CW|KW|week)\s?(\d{1,2})\b(?:\s?(?:/|of)?\s?(\d{4}))?(?!\s*weeks)", _I)
_INCOTERM = re.compile(
    r"\b(EXW|FCA|FAS|FOB|CFR|CIF|CIP|CPT|DAP|DPU|DDP|DAT)\b(?:,?\s+([A-Z][\w'-]*(?:\s+[A-Z][\w'-]*){0,2}))?"
)

_PAYMENT = re.compile(r"\bpayments?\b|\bpayable\b|\bpaid\b|\bpay\b|\binvoices?d?\b|\binstal?ments?\b", _I)
_NET = re.compile(r"\bnet\s+(\d{1,3})(?:\s+days?)?\b|\b(\d{1,3})\s+days?(?:\s+strictly)?\s+net\b", _I)
_NOT_DUE = re.compile(
    r"\bdiscount\b|\bmay deduct|\bskonto\b|\binterest\b|\boverdue\b|\breminder\b|\barrears\b|\blate\b", _I
)
_DUE_BEFORE = re.compile(r"\b(?:pay\w*|paid|invoic\w*|due|settle\w*|balance)\b[^.;]{0,60}$", _I)
_PART_PAYMENT = re.compile(r"\bbalance\b|\bremain(?:der|ing)\b|\bdown payment\b|\bdeposit\b", _I)
_STAGE = re.compile(
    r"^\s*(?:of the [\w ]{1,20}?)?(?:\w+ ){0,2}?"
    r"(?:with|on|upon|at|after|before|by|against|in|prior to|when|within|down|deposit)\b",
    _I,
)
_ADVANCE = re.compile(
    r"\b(?:payment|payable|paid|cash) in advance\b|\bprepayment\b|\bcash on delivery\b|\bletter of credit\b", _I
)

_OFFER = r"(?:offer|proposal|quotation|quote|tender|bid|prices?)"
_VALID_TOPIC = re.compile(rf"\bvalid(?:ity)?\b|\bduration of (?:the|this|our) {_OFFER}|\bbinding period\b", _I)
_VALID = re.compile(
    rf"(?:^\W*|\b(?:this|our|the|these|all) (?:\w+ )?){_OFFER}\b[^.]{{0,60}}"
    r"\b(?:valid|open|binding|firm|fixed|held|good|stands?|expires?|remains?)\b",
    _I,
)


def warranty(segment: Segment) -> Iterator[Finding]:
    """Warranty periods of at least a month, each for what it covers; a disclaimer counts as a statement."""
    text = segment.text
    named = bool(_WARRANTY.search(text) or _WARRANTY.search(segment.label))
    if not named and not (_WARRANTY.search(segment.topic) and _WARRANTY_CUE.search(text)):
        if _WARRANTY.search(segment.topic) and _OPEN.search(text):
            yield _left_open("warranty", segment)
        return
    periods = [
        span
        for span in durations(text)
        if span.unit in ("month", "year")
        and not _ends(r"\b(?:every|once (?:in|every)|available for(?: at least)?|ordered within)\s*$", text, span.at)
    ]
    for index, span in enumerate(periods):
        until = periods[index + 1].at if index + 1 < len(periods) else len(text)
        since = periods[index - 1].end if index else 0
        # What an earlier period was about ends at the comma; a lone subject may hold commas of its own.
        before = re.split(r"[,;]" if index else ";", text[since : span.at])[-1]
        part = "optional" if _OPTIONAL.search(text) else _part(before, text[span.end : until])
        scope = re.sub("ies$", "y", part).removesuffix("s")
        if scope != "spare part":
            shown = f"{span} ({part})" if part else str(span)
            yield Finding("warranty", shown, segment.line(span.at), span.normal, scope)
    if not periods:
        if found := _NO_WARRANTY.search(text):
            yield Finding("warranty", "disclaimed", segment.line(found.start()), "", "")
        elif _OPEN.search(text):
            yield _left_open("warranty", segment)


def _part(before: str, after: str) -> str:
    """The part of the goods that a period is about: named up to the next comma after it, or as subject before it."""
    found = _PART.search(re.split(r"[,;]| and (?=\d)", after, maxsplit=1)[0]) or _PART.search(before)
    return found.group().lower() if found else ""


def _ends(pattern: str, text: str, at: int) -> bool:
    """Whether the text just before an offset ends in the pattern."""
    return bool(re.search(pattern, text[max(at - _NEAR, 0) : at], _I))


def delivery(segment: Segment) -> Iterator[Finding]:
    """Delivery periods, dates and calendar weeks."""
    text = segment.text
    own = segment.label or (segment.cells[0] if segment.cells else "")
    titled = bool(_DELIVERY.search(own)) and not _NOT_DELIVERY.search(own)
    if _NOT_DELIVERY.search(own) or (not titled and _NOT_DELIVERY.search(text)):
        return
    implied = _DELIVERY.search(segment.topic) and _DELIVERY_CUE.search(text)
    if not titled and not implied and not _DELIVERY.search(text):
        return
    found = False
    for span in durations(text):
        if span.unit == "year" or _SINCE_DELIVERY.match(text[span.end :]):
            continue
        if _ends(r"\b(?:ordered within|notice of|for)\s*$", text, span.at) or re.match(
            r"'?\s*notice", text[span.end :]
        ):
            continue
        found = True
        yield Finding("delivery", _period(text, span), segment.line(span.at), span.normal, "")
    for day in dates(text):
        if _ends(r"\b(?:order|request|enquiry|dated|reaches us|received|signed)\b[^.]{0,25}$", text, day.at):
            continue
        found = True
        yield Finding("delivery", str(day), segment.line(day.at), day.day.isoformat(), "")
    if week := _WEEK.search(text):
        found = True
        shown = f"calendar week {week[1]}{f' of {week[2]}' if week[2] else ''}"
        yield Finding("delivery", shown, segment.line(week.start()), shown, "")
    if not found and _OPEN.search(text) and (titled or re.search(r"\b(?:date|time|delivery)\b", text, _I)):
        yield _left_open("delivery", segment)


def _period(text: str, span: Duration) -> str:
    event = re.match(r"\s+((?:after|from|of|upon)\s[^,.;(|]{3,40})", text[span.end :])
    return f"{span} {event[1].strip()}" if event and len(event[1]) <= 36 else str(span)


def delivery_terms(segment: Segment) -> Iterator[Finding]:
    """Incoterms with their place; a bare three-letter word counts only where delivery or price is the matter."""
    for found in _INCOTERM.finditer(segment.text):
        near = f"{segment.topic} {segment.text}"
        placed = found[2] and found[1] not in ("DAT", "CIP")
        if placed or re.search(r"deliver|incoterm|carriage|freight|transport|price|terms", near, _I):
            shown = f"{found[1]} {found[2]}" if found[2] else found[1]
            yield Finding("delivery_terms", shown, segment.line(found.start()), found[1], "")


def payment(segment: Segment) -> Iterator[Finding]:
    """Days until payment is due, instalments, payment in advance."""
    text = segment.text
    titled = bool(_PAYMENT.search(segment.topic))
    if not titled and not _PAYMENT.search(text) and not _NET.search(text):
        return
    stages = _stages(text) if titled or re.search(r"instal?ment|payment|payable|paid", text, _I) else []
    if len(stages) > 1:
        shares = " / ".join(f"{share:f} %" for share, _ in stages)
        yield Finding("payment", f"instalments {shares}", segment.line(stages[0][1]), shares, "instalments")
    for span in () if _NOT_DUE.search(text) else durations(text):
        if span.unit in ("month", "year"):
            continue
        clause = text[max(span.at - _NEAR, 0) : span.at]
        bound = _DUE_BEFORE.search(clause) or (titled and re.search(r"(?:^|within|[:|,]|net)\s*$", clause, _I))
        if bound or _NET.search(text[max(span.at - 5, 0) : span.end + 14]):
            scope = "instalment" if _PART_PAYMENT.search(text) else ""
            yield Finding("payment", f"within {span}", segment.line(span.at), span.normal, scope)
    if found := re.search(r"\bnet\s+(\d{1,3})\b(?!\s*(?:days?|[.,]\d|%))", text, _I):
        yield Finding("payment", f"within {found[1]} days", segment.line(found.start()), f"{found[1]} day", "")
    if advance := _ADVANCE.search(text):
        yield Finding("payment", advance.group().lower(), segment.line(advance.start()), "", "manner")
    if titled and _OPEN.search(text) and not any(durations(text)) and not stages:
        yield _left_open("payment", segment)


def _stages(text: str) -> list[tuple[Decimal, int]]:
    """Shares of the price that name the stage at which they are due, with their places."""
    return [(value.normalize(), at) for value, at, end in percents(text) if _STAGE.match(text[end : end + _NEAR])]


def instalment_faults(segment: Segment) -> Iterator[Contradiction]:
    """Instalments of one statement that don't add up to the whole."""
    for finding in payment(segment):
        if finding.scope == "instalments":
            stages = _stages(segment.text)
            total = sum(share for share, _ in stages)
            # Two shares below 100 may leave the rest unsaid; three seldom do.
            if total > 100 or (total < 100 and len(stages) > 2):
                text = f"the instalments {finding.normal} add up to {total:f} %"
                yield Contradiction("payment", text, tuple(segment.line(at) for _, at in stages))


def validity(segment: Segment) -> Iterator[Finding]:
    """How long the offer itself stands: a period or a last day."""
    text = segment.text
    if not (_VALID.search(text) or _VALID_TOPIC.search(segment.topic if segment.kind != "text" else "")):
        return
    for day in dates(text):
        if _ends(r"(?:\b(?:until|till|to|through|by|on|before|valid)\b|[:|])[^.]{0,20}$", text, day.at):
            yield Finding("validity", f"until {day}", segment.line(day.at), day.day.isoformat(), "")
    for span in durations(text):
        if re.search(r"\b(?:in advance|notice|warranty)\b", text[span.end : span.end + 30], _I):
            continue
        yield Finding("validity", str(span), segment.line(span.at), span.normal, "")


def validity_faults(findings: Iterable[Finding], dated: date | None) -> Iterator[Contradiction]:
    """A last day and a period that can't both be true, counted from the date of the document."""
    statements = [finding for finding in findings if finding.criterion == "validity" and finding.normal]
    days = {finding.normal: finding for finding in statements if re.match(r"\d{4}-", finding.normal)}
    spans = {finding.normal: finding for finding in statements if finding.normal not in days}
    for group in (days, spans):
        if len(group) > 1:
            yield _versus(list(group.values()), "")
    for last in days.values():
        for span in spans.values():
            ends = _end(span.normal, dated)
            # Whether the first day counts is a matter of taste; two days' difference is not.
            if ends and abs((ends - date.fromisoformat(last.normal)).days) > 2:
                yield _versus([last, span], f", which ends on {Day(ends, 0, 0)}")
                break


def _end(normal: str, dated: date | None) -> date | None:
    found = re.fullmatch(r"(\d+) (day|month)", normal)
    if not found or dated is None or int(found[1]) > 3650:
        return None
    count = int(found[1])
    try:
        if found[2] == "day":
            return dated + timedelta(days=count)
        year, month = divmod(dated.year * 12 + dated.month - 1 + count, 12)
        return date(year, month + 1, min(dated.day, 28))
    except (OverflowError, ValueError):
        return None


def _versus(findings: list[Finding], suffix: str) -> Contradiction:
    text = " but ".join(f"{finding.value} (line {finding.line})" for finding in findings)
    return Contradiction("validity", text + suffix, tuple(finding.line for finding in findings))


def _left_open(criterion: str, segment: Segment) -> Finding:
    found = _OPEN.search(segment.text)
    return Finding(criterion, "left open", segment.line(found.start() if found else 0), open=True)
