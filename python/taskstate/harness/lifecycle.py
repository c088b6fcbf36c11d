"""Run the hooks of layers in order, for those who have a loop of their own.

`Harness` is built on this. Every method is called on one event loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Literal

from .. import core
from ..errors import AgentStateError, ConfigurationError, InvalidStateError, LifecycleError, MergeConflict
from ..layer.context import ContextLayer, ExecutionContext, check_outcome
from ..layer.functions import LayerFunction, alias
from ..storage import MemoryStorage, StorageAdapter
from ..types import JSON, Message
from .budget import budget_bounds
from .diagnostics import DiagnosticsCallback, Reporter
from .hooks import Hook, find_hooks
from .loading import InitStorage, set_aside
from .records import Records, SharedThread
from .redact import Fixed, Redact, redact_arguments, redact_value
from .states import States

_held: ContextVar[frozenset[tuple[str, str]]] = ContextVar("taskstate_held", default=frozenset())
"""The states that this task's hooks have to themselves: waiting for one of them would wait for ever."""

_CONFLICTS: dict[str, Literal["parent", "child"]] = {"conflicts": "child", "rejected": "parent"}
"""Whose change was kept, by the field of an on_return that names the path."""


@dataclass(frozen=True)
class Recalled:
    """What one layer shows to the model."""

    layer_id: str
    items: list[Any]
    token_count: int


@dataclass(frozen=True)
class Spawned:
    """What one layer gave to a child."""

    layer_id: str
    child_state: JSON
    items: list[Any]


class Lifecycle:
    """The hooks of some layers over one storage.

    Order: init and on_complete as the layers are given, dispose the other way round, recall, on_spawn
    and on_return by slot, store at the same time. A hook that fails is reported to `diagnostics` and
    changes nothing; a failing init is raised, unless its layer says otherwise.

    `strict` makes `flush` raise what prevented a durable write; `shared_thread` is `conflict` (a state
    written by someone else since it was read raises ConflictError) or `last_writer`; `redact` is
    applied to every string of a state as it enters and to what layers show; `max_state_bytes` limits
    one state, in bytes as `core.measure` counts them.
    """

    def __init__(
        self,
        layers: Sequence[ContextLayer] = (),
        storage: StorageAdapter | None = None,
        *,
        strict: bool = True,
        shared_thread: SharedThread = "conflict",
        redact: Redact | None = None,
        diagnostics: DiagnosticsCallback | None = None,
        max_state_bytes: int = core.DEFAULT_MAX_BYTES,
    ) -> None:
        if shared_thread not in ("conflict", "last_writer"):
            raise ConfigurationError(f"shared_thread {shared_thread!r} is neither conflict nor last_writer")
        self.layers = _checked_layers(layers)
        if storage is not None and not isinstance(storage, StorageAdapter):
            raise ConfigurationError(f"storage is no adapter but {type(storage).__name__}")
        if redact is not None and not callable(redact):
            raise ConfigurationError("redact can't be called")
        if type(max_state_bytes) is not int or max_state_bytes < 1:
            raise ConfigurationError("max_state_bytes is a whole number of at least 1")
        self.storage: StorageAdapter = MemoryStorage(max_bytes=max_state_bytes) if storage is None else storage
        if getattr(self.storage, "max_bytes", max_state_bytes) < max_state_bytes:
            raise ConfigurationError(f"max_state_bytes is {max_state_bytes}, but the storage takes less")
        self.reporter = Reporter(diagnostics, redact)
        self.records = Records(self.storage, shared_thread)
        self.states = States(self.records, self.reporter, strict=strict, redact=redact, max_bytes=max_state_bytes)
        self._redact = redact
        self._by_id = {layer.id: layer for layer in self.layers}
        if len(self._by_id) != len(self.layers):
            raise ConfigurationError("two layers have the same id")
        self._by_slot = sorted(self.layers, key=lambda layer: layer.slot)
        self._hooks = {layer.id: find_hooks(layer) for layer in self.layers}
        self.tools = {
            f"{layer.id}/{function.name}": (layer.id, function)
            for layer in self.layers
            for function in layer.functions
            if function.for_model
        }
        """The layers' functions that are the model's too, by full name, each with the id of its layer."""
        self._full_names = {alias(name): name for name in self.tools} | {name: name for name in self.tools}
        self._busy: dict[tuple[str, str], asyncio.Lock] = {}
        self._disabled: set[tuple[str, str]] = set()

    def layer(self, layer_id: str) -> ContextLayer:
        """The layer with this id; ConfigurationError where there is none."""
        try:
            return self._by_id[layer_id]
        except KeyError:
            raise ConfigurationError(f"no layer has the id {layer_id!r}") from None

    def find_tool(self, name: str) -> tuple[str, LayerFunction]:
        """The layer's id and the function that a tool's name or alias means; ConfigurationError for no tool."""
        full_name = self._full_names.get(name) if isinstance(name, str) else None
        if full_name is None:
            raise ConfigurationError(f"no tool has the name {name!r}; there are {', '.join(self.tools) or 'none'}")
        return self.tools[full_name]

    async def init(self, ctx: ExecutionContext, layers: Iterable[str] | None = None) -> None:
        """Load the state of each layer for a root execution, and write it through from then on."""
        chosen = self.layers if layers is None else [self.layer(layer_id) for layer_id in layers]
        loaded = []
        for layer in chosen:
            storage = InitStorage(self.records, layer, ctx, self._redact)
            hook = self._hooks[layer.id].get("init")
            if hook is not None:
                await self._init_layer(layer, hook, ctx, storage)
            loaded.append((layer, storage))
        for layer, storage in loaded:
            if layer.scope != "execution" and not self.is_disabled(ctx, layer.id):
                self.states.bind(ctx, layer, storage.record)

    async def _init_layer(self, layer: ContextLayer, hook: Hook, ctx: ExecutionContext, storage: InitStorage) -> None:
        try:
            try:
                result = await hook(storage=storage, scope_key=storage.scope_key, ctx=ctx)
            except (InvalidStateError, AgentStateError) as error:
                if layer.on_init_error != "set_aside":
                    raise
                await set_aside(storage)
                self.reporter.report(layer.id, "init", ctx.execution_id, error)
                result = await hook(storage=storage, scope_key=storage.scope_key, ctx=ctx)
            # Not within that `try`: what only redaction spoils is no reason to move a good record away.
            self.states.set(ctx, layer, _field(result, "state", layer, "init"))
        except Exception as error:
            self.reporter.report(layer.id, "init", ctx.execution_id, error)
            if layer.on_init_error != "disable":
                error.add_note(f"while layer {layer.id} loaded {storage.record.key}")
                raise
            self._disabled.add((ctx.execution_id, layer.id))

    async def recall(
        self, ctx: ExecutionContext, budgets: Mapping[str, float], *, query: str = "", log: Sequence[Any] = ()
    ) -> list[Recalled]:
        """What each layer shows within its budget; a layer without one shows everything."""
        recalled = []
        for layer, hook in self._active(ctx, "recall", self._by_slot):
            async with self._attempt(layer, "recall", ctx):
                state = self.states.lend(ctx.execution_id, layer)
                result = await hook(log=log, query=query, ctx=ctx, state=state, budget=budgets.get(layer.id, 0))
                if not result:
                    continue
                if type(result) is str:
                    message: Message = {"role": "developer", "content": result}
                    result = {"items": [message], "token_count": core.estimate_tokens(result)}
                items = result["items"]
                if self._redact is not None and not layer.pure:
                    items = redact_value(items, self._redact)
                if result.get("state") is not None:
                    self.states.set(ctx, layer, result["state"])
                recalled.append(Recalled(layer.id, items, result["token_count"]))
        return recalled

    async def store(
        self, ctx: ExecutionContext, response: Any = None, *, new_items: Sequence[Any] = (), log: Sequence[Any] = ()
    ) -> None:
        """Let every layer take in a model's response. `flush` to wait until that is durable."""

        async def one(layer: ContextLayer, hook: Hook) -> None:
            async with self._attempt(layer, "store", ctx):
                state = self.states.lend(ctx.execution_id, layer)
                result = await hook(new_items=new_items, log=log, response=response, ctx=ctx, state=state)
                self._take(ctx, layer, "store", result)

        active = list(self._active(ctx, "store", self.layers))
        if len(active) == 1:
            await one(*active[0])
        else:
            await asyncio.gather(*(one(layer, hook) for layer, hook in active))

    async def spawn(self, parent: ExecutionContext, child: ExecutionContext) -> list[Spawned]:
        """Give a child what it inherits. A child's states are never written to the storage."""
        spawned = []
        self._disabled |= {
            (child.execution_id, layer.id) for layer in self.layers if self.is_disabled(parent, layer.id)
        }
        for layer, hook in self._having("on_spawn", self._by_slot):
            if self.states.get(parent.execution_id, layer.id) is None:
                continue
            async with self._attempt(layer, "on_spawn", parent):
                parent_state = self.states.lend(parent.execution_id, layer)
                result = await hook(parent_state=parent_state, child_ctx=child)
                child_state = _field(result, "child_state", layer, "on_spawn")
                if child_state is None:
                    continue
                self.states.inherit(child, layer, child_state)
                items = result.get("items") or []
                spawned.append(Spawned(layer.id, self.states.get(child.execution_id, layer.id), items))
        return spawned

    async def merge(
        self, parent: ExecutionContext, child: ExecutionContext, result: Any = None, *, child_log: Sequence[Any] = ()
    ) -> Any:
        """Bring a child's states into its parent's; gives the result, as the layers left it."""
        for layer, hook in self._having("on_return", self._by_slot):
            if self.states.get(child.execution_id, layer.id) is None:
                continue
            async with self._attempt(layer, "on_return", parent):
                returned = await hook(
                    child_state=self.states.lend(child.execution_id, layer),
                    child_log=child_log,
                    parent_state=self.states.lend(parent.execution_id, layer),
                    result=result,
                    child_ctx=child,
                    inherited=self.states.inherited(child.execution_id, layer),
                )
                if returned is None:
                    continue
                only_result = type(returned) is dict and "result" in returned and "parent_state" not in returned
                parent_state = None if only_result else _field(returned, "parent_state", layer, "on_return")
                if parent_state is not None:
                    self.states.set(parent, layer, parent_state)
                if returned.get("result") is not None:
                    result = returned["result"]
                for field, kept in _CONFLICTS.items():
                    for path in returned.get(field, ()):
                        conflict = MergeConflict(path, parent.execution_id, child.execution_id, kept)
                        self.reporter.report(layer.id, "on_return", parent.execution_id, conflict)
        return result

    async def complete(self, ctx: ExecutionContext, outcome: str, *, log: Sequence[Any] = ()) -> None:
        """Tell every layer how an execution ended."""
        outcome = check_outcome(outcome)
        for layer, hook in self._active(ctx, "on_complete", self.layers):
            async with self._attempt(layer, "on_complete", ctx):
                state = self.states.lend(ctx.execution_id, layer)
                result = await hook(log=log, ctx=ctx, state=state, outcome=outcome)
                self._take(ctx, layer, "on_complete", result)

    async def dispose(self, ctx: ExecutionContext) -> None:
        """Let every layer let go of what it holds, and forget the execution."""
        try:
            for layer, hook in self._having("dispose", self.layers[::-1]):
                async with self._attempt(layer, "dispose", ctx):
                    await hook(state=self.states.lend(ctx.execution_id, layer))
        finally:
            self.forget(ctx)

    def forget(self, ctx: ExecutionContext) -> None:
        """Drop the states of an execution."""
        self.states.forget(ctx)
        for layer in self.layers:
            self._disabled.discard((ctx.execution_id, layer.id))
            self._busy.pop((ctx.execution_id, layer.id), None)

    async def settle(self, ctx: ExecutionContext) -> None:
        """Wait for hooks and functions under way, so that what they change is still taken in."""
        for layer in self.layers:
            async with self._exclusive(ctx, layer):
                pass

    async def flush(self, ctx: ExecutionContext) -> None:
        """Wait until all states of an execution are durable; in strict mode raise what prevented it."""
        await self.states.flush(ctx)

    async def call(self, ctx: ExecutionContext, layer_id: str, function: LayerFunction, arguments: Any) -> JSON:
        """Call a function of a layer; when this returns, what its result says of the state is durable."""
        layer = self.layer(layer_id)
        self.check_enabled(ctx, layer_id)
        parsed = function.parse(f"{layer_id}/{function.name}", arguments)
        if self._redact is not None:
            parsed = redact_arguments(parsed, self._redact, Fixed.of(layer), function.nested)
        async with self._exclusive(ctx, layer):
            change = function.apply(self.states.lend(ctx.execution_id, layer), parsed, ctx)
            if change.state is None:
                write = self.states.under_way(ctx, layer)
            else:
                write = self.states.set(ctx, layer, change.state)
        if write is not None:
            await self.states.ended(ctx, write)
        return change.result

    def check_enabled(self, ctx: ExecutionContext, layer_id: str) -> None:
        """Raise LifecycleError where a failed init took a layer out of this execution."""
        if self.is_disabled(ctx, layer_id):
            raise LifecycleError(f"layer {layer_id} is disabled in this run: its state couldn't be loaded")

    def is_disabled(self, ctx: ExecutionContext, layer_id: str) -> bool:
        """Whether a failed init took a layer out of this execution."""
        return (ctx.execution_id, layer_id) in self._disabled

    def _take(self, ctx: ExecutionContext, layer: ContextLayer, hook: str, result: Any) -> None:
        """Keep the state that a hook gave, where it gave one."""
        if result is not None and result != {}:
            self.states.set(ctx, layer, _field(result, "state", layer, hook))

    def _having(self, hook: str, layers: Sequence[ContextLayer]) -> Iterable[tuple[ContextLayer, Hook]]:
        for layer in layers:
            found = self._hooks[layer.id].get(hook)
            if found is not None:
                yield layer, found

    def _active(
        self, ctx: ExecutionContext, hook: str, layers: Sequence[ContextLayer]
    ) -> Iterable[tuple[ContextLayer, Hook]]:
        """Those layers with a hook that have a state, or never had to load one."""
        for layer, found in self._having(hook, layers):
            if self.states.get(ctx.execution_id, layer.id) is not None or (
                "init" not in self._hooks[layer.id] and not self.is_disabled(ctx, layer.id)
            ):
                yield layer, found

    @asynccontextmanager
    async def _attempt(self, layer: ContextLayer, name: str, ctx: ExecutionContext) -> AsyncIterator[None]:
        """Have a layer's state to oneself, and report what fails."""
        try:
            async with self._exclusive(ctx, layer):
                yield
        except Exception as error:  # noqa: BLE001 - whatever a user's hook raises is reported
            self.reporter.report(layer.id, name, ctx.execution_id, error)

    @asynccontextmanager
    async def _exclusive(self, ctx: ExecutionContext, layer: ContextLayer) -> AsyncIterator[None]:
        """Keep others from changing a state between its read and its write, where a hook may await."""
        place = (ctx.execution_id, layer.id)
        if place in _held.get():
            raise LifecycleError(f"a hook of layer {layer.id} called a function of its own layer")
        lock = self._busy.get(place)
        if lock is None:
            lock = self._busy[place] = asyncio.Lock()
        async with lock:
            token = _held.set(_held.get() | {place})
            try:
                yield
            finally:
                _held.reset(token)


def _field(result: Any, name: str, layer: ContextLayer, hook: str) -> JSON:
    if result is None or result == {}:
        return None
    if type(result) is not dict or name not in result:
        given = "a dict without it" if type(result) is dict else type(result).__name__
        raise LifecycleError(f"{hook} of layer {layer.id} gave {given}, not a dict with {name!r}")
    return result[name]


def _checked_layers(layers: Sequence[ContextLayer]) -> tuple[ContextLayer, ...]:
    if not isinstance(layers, Sequence):
        raise ConfigurationError("layers is no sequence of layers")
    for layer in layers:
        if not isinstance(layer, ContextLayer) or not hasattr(layer, "id"):
            raise ConfigurationError(
                f"{type(layer).__name__} is no layer, or its __init__ didn't call that of ContextLayer"
            )
        budget_bounds(layer)
    return tuple(layers)
