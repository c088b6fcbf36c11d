"""Numbered migrations, each applied once and known by a checksum."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import NamedTuple

from ....errors import SchemaError


class Migration(NamedTuple):
    """A file `<number>_<name>.sql` of a dialect's folder `migrations`."""

    number: int
    text: str
    checksum: str


def migrations(dialect: str) -> list[Migration]:
    """All migrations of a dialect, in order."""
    found: list[Migration] = []
    for file in files("taskstate.tasks").joinpath("sql", dialect, "migrations").iterdir():
        if file.name.endswith(".sql"):
            text = file.read_text(encoding="utf-8")
            found.append(Migration(int(file.name.split("_")[0]), text, hashlib.sha256(text.encode()).hexdigest()))
    return sorted(found)


def missing(known: Sequence[Migration], applied: Mapping[int, str], place: str) -> list[Migration]:
    """What is still to be applied; SchemaError if what was applied isn't what is known here."""
    for number, checksum in sorted(applied.items()):
        mine = next((one for one in known if one.number == number), None)
        if mine is None:
            raise SchemaError(f"{place}: has schema version {number}, which this version of taskstate doesn't know")
        if mine.checksum != checksum:
            raise SchemaError(f"{place}: schema version {number} was made by another text than this version has")
    rest = [one for one in known if one.number not in applied]
    if rest and applied and rest[0].number < max(applied):
        raise SchemaError(f"{place}: schema version {rest[0].number} is missing below {max(applied)}")
    return rest


def not_current(place: str, rest: Sequence[Migration]) -> SchemaError:
    """What a check without changes says of missing migrations."""
    return SchemaError(f"{place}: schema version {rest[0].number} is not applied yet")
