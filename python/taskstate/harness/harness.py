"""The harness: layers over a storage, and the executions that use them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Self

from .. import core
from ..errors import ConfigurationError, InvalidValueError, LifecycleError
from ..ids import IdFactory, random_id
from ..layer.context import ContextLayer, ExecutionContext
from ..storage import StorageAdapter
from .diagnostics import DiagnosticsCallback
from .execution import Execution, outcome_of
from .lifecycle import Lifecycle
from .records import SharedThread
from .redact import Redact
from .threads import Threads
from .waiting import uninterrupted

CONTEXT_WINDOW = 128_000
RESPONSE_RESERVE = 4_000


class Harness:
    """Keeps the states of layers for any number of executions.

    An async context manager. Without a storage, states live in memory. On exit it waits for writes
    under way and closes the storage (which opens again when it is next used).

    `strict=False` reports durable writes that fail to `diagnostics` instead of raising them.
    `redact` is a callable from str to str, applied to every string that is stored, shown or reported, also to its
    own results: it must leave those as they are.
    `shared_thread` says what the second of two root executions on one thread meets when it writes:
    `conflict` (ConflictError, nothing overwritten) or `last_writer`. `context_window` and
    `response_reserve` are tokens out of which `recall` allocates. `max_state_bytes` limits one state.
    """

    def __init__(
        self,
        *,
        layers: Sequence[ContextLayer] = (),
        storage: StorageAdapter | None = None,
        strict: bool = True,
        redact: Redact | None = None,
        diagnostics: DiagnosticsCallback | None = None,
        shared_thread: SharedThread = "conflict",
        context_window: float = CONTEXT_WINDOW,
        response_reserve: float = RESPONSE_RESERVE,
        max_state_bytes: int = core.DEFAULT_MAX_BYTES,
        ids: IdFactory = random_id,
    ) -> None:
        self.lifecycle = Lifecycle(
            layers,
            storage,
            strict=strict,
            shared_thread=shared_thread,
            redact=redact,
            diagnostics=diagnostics,
            max_state_bytes=max_state_bytes,
        )
        self.max_state_bytes = max_state_bytes
        self.context_window = context_window
        self.response_reserve = response_reserve
        self.threads = Threads(
            self.lifecycle.records.storage, self.lifecycle.layers, redact=redact, max_bytes=max_state_bytes
        )
        """The threads that have state: list, read, export, import, delete, prune."""
        self._ids = ids
        self._running: set[str] = set()
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def storage(self) -> StorageAdapter:
        """Where the states are kept."""
        return self.lifecycle.storage

    async def __aenter__(self) -> Self:
        if self._loop is not None:
            raise LifecycleError("the harness is open already")
        self._loop = asyncio.get_running_loop()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop = None
        await uninterrupted(self._close())

    async def _close(self) -> None:
        await self.lifecycle.records.drain()
        close = getattr(self.storage, "close", None)
        if close is not None:
            await close()

    @asynccontextmanager
    async def execution(
        self, *, thread_id: str | None = None, resource_id: str | None = None, execution_id: str | None = None
    ) -> AsyncIterator[Execution]:
        """Run as a root on a thread (a new one where no id is given).

        The layers' states are loaded on entry; a failing init is raised. At the end they learn the
        outcome: `success`, `failure` after an exception, `aborted` after a cancellation,
        KeyboardInterrupt or SystemExit, and it is durable when the block is left. After an exception
        a write that fails is reported only, so that the exception isn't hidden.
        """
        loop = self._open_loop()
        ctx = ExecutionContext(
            thread_id=self._ids() if thread_id is None else _checked_id("thread_id", thread_id),
            resource_id=None if resource_id is None else _checked_id("resource_id", resource_id),
            max_state_bytes=self.max_state_bytes,
            execution_id=self._take_id(execution_id),
        )
        run = Execution(self, ctx, loop)
        try:
            await run._start()
        except BaseException:
            await uninterrupted(run._dispose())
            raise
        try:
            yield run
        except BaseException as error:
            try:
                await uninterrupted(run._finish(outcome_of(error)))
            except Exception as failure:  # noqa: BLE001 - it must not hide what ended the run
                self.lifecycle.reporter.report("", "on_complete", ctx.execution_id, failure)
            raise
        await uninterrupted(run._finish("success"))

    def _take_id(self, wanted: str | None) -> str:
        """Take an execution id into use; LifecycleError if it is in use already."""
        execution_id = self._ids() if wanted is None else _checked_id("execution_id", wanted)
        if execution_id == core.OUTCOME_KEY:
            raise ConfigurationError(f"{core.OUTCOME_KEY!r} is a reserved key, and can't be an execution id")
        if execution_id in self._running:
            raise LifecycleError(f"an execution with the id {execution_id!r} is running already")
        self._running.add(execution_id)
        return execution_id

    def _release_id(self, execution_id: str) -> None:
        """Let an execution id be used again."""
        self._running.discard(execution_id)

    def _open_loop(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            raise LifecycleError("the harness is not open; use it as `async with Harness(...) as harness:`")
        if asyncio.get_running_loop() is not self._loop:
            raise LifecycleError("the harness was opened on another event loop")
        return self._loop


def _checked_id(name: str, value: str) -> str:
    if type(value) is not str:
        raise InvalidValueError(name, f"{type(value).__name__} is not a str")
    core.validate(value, name)
    return value
