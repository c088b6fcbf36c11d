"""A dict that a part of a restart record can hold without anybody changing it."""

from __future__ import annotations

from typing import Any, NoReturn, TypeVar

_K = TypeVar("_K")
_V = TypeVar("_V")


class FrozenDict(dict[_K, _V]):
    """A dict that refuses to be changed; `{**it}` is one that can be."""

    def __new__(cls, *given: Any) -> FrozenDict[_K, _V]:
        """Fill it here, so that nothing can by calling `__init__` again."""
        made = super().__new__(cls)
        dict.update(made, *given)
        return made

    def __init__(self, *_: Any) -> None:
        pass

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError("a restart record doesn't change: apply and change give a new one")

    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse

    def __copy__(self) -> FrozenDict[_K, _V]:
        return self

    def __deepcopy__(self, memo: Any) -> FrozenDict[_K, _V]:
        return self  # its values are as immutable as it is

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (dict(self),)


def frozen(given: dict[_K, _V]) -> dict[_K, _V]:
    """A copy of a dict that refuses to be changed."""
    return FrozenDict(given)
