"""What lasts beyond a task: facts that any task may read, apart from every task's record."""

from __future__ import annotations

from typing import NamedTuple

from ..clock import Clock, system_clock
from ..core.limits import BLANKS
from ..errors import CorruptRecordError, InvalidValueError
from ..storage.keys import decode_part, encode_part
from ..storage.protocol import KeyList, StorageAdapter
from ..types import JSON
from .secrets import Mode, guard

_FACTS = "restart/facts/"


class Fact(NamedTuple):
    """A value, where it is known from, and when it was put there, in milliseconds since the epoch."""

    value: JSON
    source: str
    at: int


class Facts:
    """Facts by key, which tasks share; nothing gets here unless somebody puts it here.

    A task's record is no fact, and no task's state is visible here. Takes any storage. The last one who puts a fact
    wins. What looks like a secret is refused with SecretError; with `secrets="redact"` a mark is stored in its place.
    """

    def __init__(self, storage: StorageAdapter, *, secrets: Mode = "refuse", clock: Clock = system_clock) -> None:
        self._storage = storage
        guard({}, secrets)  # an unknown mode is refused at once
        self._secrets: Mode = secrets
        self._clock = clock

    async def put(self, key: str, value: JSON, *, source: str) -> None:
        """Keep a value, and where it is known from. InvalidValueError for one that can't be kept."""
        if type(source) is not str or not source.strip(BLANKS):
            raise InvalidValueError("source", "a fact says where it is known from")
        guard(key)  # whatever the mode: redacted it would be another fact's
        # By its key: the value of `db_password` is a secret, whatever it looks like.
        kept = guard({key: value}, self._secrets)[key]
        fact = Fact(kept, guard(source, self._secrets), self._clock())
        await self._storage.set(_key(key), fact._asdict())

    async def get(self, key: str) -> Fact | None:
        """The fact at `key`; None when there is none."""
        match await self._storage.get(_key(key)):
            case None:
                return None
            case {"value": value, "source": str(source), "at": int(at)}:
                return Fact(value, source, at)
            case _:
                raise CorruptRecordError(key, "what is stored is no fact")

    async def list(self, prefix: str = "") -> KeyList:
        """The keys of the facts that start with `prefix`, sorted."""
        keys = [decode_part(key.removeprefix(_FACTS)) for key in await self._storage.list(_FACTS)]
        return sorted(key for key in keys if key.startswith(prefix))

    async def delete(self, key: str) -> None:
        """Remove a fact; an absent one is no error."""
        await self._storage.delete(_key(key))


def _key(key: str) -> str:
    return _FACTS + encode_part(key)
