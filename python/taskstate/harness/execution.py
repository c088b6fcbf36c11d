"""One execution of an agent: a root on a thread, or a child that it spawned."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Literal, overload

from .. import core
from ..errors import LifecycleError
from ..layer.context import ContextLayer, ExecutionContext
from ..layer.functions import LayerFunction, ToolStyle, decode_arguments, tool_specs
from ..types import JSON, Outcome
from .budget import allocate_budgets
from .crossing import from_thread, on_loop
from .handles import LayerHandles
from .parallel import Settled, Worker, run_paths
from .waiting import uninterrupted

if TYPE_CHECKING:
    from .harness import Harness

PATIENCE_SECONDS = 60.0
"""How long a call from another thread waits for the run's event loop."""


class Execution:
    """What `harness.execution()` and `spawn()` give. Recall and store once a turn; see the README.

    Methods that are awaited belong to the harness's event loop, except the functions of layers
    (`context`, `call_tool`), which may be called from any thread.
    """

    def __init__(self, harness: Harness, ctx: ExecutionContext, loop: asyncio.AbstractEventLoop) -> None:
        self.result: Any = None
        """The result that a child hands to its parent's layers when it returns."""
        self._harness = harness
        self._lifecycle = harness.lifecycle
        self._ctx = ctx
        self._loop = loop
        self._merging = asyncio.Lock()
        self._ended = False
        self.context: Mapping[str, Any] = LayerHandles(self, harness.lifecycle.layers)
        """The layers by id, with their functions and the fields of their states."""

    @property
    def execution_id(self) -> str:
        """The id of this execution."""
        return self._ctx.execution_id

    @property
    def thread_id(self) -> str:
        """The id of the thread that this execution works on."""
        return self._ctx.thread_id

    @property
    def depth(self) -> int:
        """0 for a root, and one more for each spawn."""
        return self._ctx.depth

    @property
    def ctx(self) -> ExecutionContext:
        """What the hooks of layers are told about this execution."""
        return self._ctx

    def __repr__(self) -> str:
        return f"<Execution {self.execution_id} of thread {self.thread_id!r}, depth {self.depth}>"

    async def recall(
        self,
        query: str = "",
        *,
        log: Sequence[Any] = (),
        budgets: Mapping[str, float] | None = None,
        context_window: float | None = None,
        system_prompt_tokens: float = 0,
        response_reserve: float | None = None,
    ) -> list[Any]:
        """The messages that show the layers' states to the model, by slot.

        The tokens of each layer are allocated out of the context window (default: the harness's),
        less the system prompt and what is reserved for the response. `budgets` sets them by layer id
        instead; a layer that it leaves out, or gives 0, shows everything.
        """
        self._check_here()
        if budgets is None:
            window = self._harness.context_window if context_window is None else context_window
            reserve = self._harness.response_reserve if response_reserve is None else response_reserve
            shares = allocate_budgets(self._lifecycle.layers, window, system_prompt_tokens, reserve)
            # A budget of 0 means no limit to a layer; one that was given no room must not show everything.
            budgets = {share.layer_id: share.allocated or 1 for share in shares.allocations}
        for layer_id in budgets:
            self._lifecycle.layer(layer_id)
        recalled = await self._lifecycle.recall(self._ctx, budgets, query=query, log=log)
        return [item for part in recalled for item in part.items]

    async def store(self, response: Any = None, *, new_items: Sequence[Any] = (), log: Sequence[Any] = ()) -> None:
        """Let the layers take in a model's response; durable when this returns.

        Raises what prevented a durable write (StorageError, ConflictError, the adapter's own), unless
        the harness isn't strict; the live state keeps what wasn't written, and the next write that
        succeeds writes it too. If the caller is cancelled, the write still ends, old or new.
        """
        self._check_here()
        await self._lifecycle.store(self._ctx, response, new_items=new_items, log=log)
        await self._lifecycle.flush(self._ctx)

    def state(self, layer_id: str) -> JSON:
        """A copy of a layer's state; None where it has none."""
        state = self._peek(layer_id)
        return None if state is None else core.clone(state, "", max_bytes=sys.maxsize)  # it is within the limit

    def _peek(self, layer_id: str) -> JSON:
        """The state itself, for reading only."""
        self._check_running()
        self._lifecycle.layer(layer_id)
        return self._lifecycle.states.get(self.execution_id, layer_id)

    def _view(self, layer: ContextLayer) -> Any:
        state = self._peek(layer.id)
        self._lifecycle.check_enabled(self._ctx, layer.id)
        return layer.view(state)

    def tools(self, style: ToolStyle = "plain") -> list[dict[str, JSON]]:
        """The layers' functions as tools for a model.

        `plain` gives `{"name", "description", "parameters"}`; `openai-chat`, `openai-responses` and
        `anthropic` wrap that as those APIs take it. Names are safe for every provider.
        """
        return tool_specs({name: function for name, (_, function) in self._lifecycle.tools.items()}, style)

    async def call_tool(self, name: str, arguments: Any) -> JSON:
        """Call a tool by its name (`task-state/setTaskData`) or its alias, from any thread or loop.

        `arguments` is a dict or the JSON text of one. Durable when this returns. Raises
        ConfigurationError for an unknown tool, InvalidArgumentError for bad arguments, and what the function
        itself refuses (AgentStateError, say): all of them TaskStateError, whose text can be told to the model.
        """
        layer_id, function = self._lifecycle.find_tool(name)
        return await self._call_function(layer_id, function, decode_arguments(name, arguments))

    def call_tool_sync(self, name: str, arguments: Any) -> JSON:
        """`call_tool` for a plain thread that has no event loop."""
        layer_id, function = self._lifecycle.find_tool(name)
        decoded = decode_arguments(name, arguments)
        self._check_running()
        return from_thread(self._loop, lambda: self._call(layer_id, function, decoded), PATIENCE_SECONDS)

    async def _call_function(self, layer_id: str, function: LayerFunction, arguments: Any) -> JSON:
        """Call a function of a layer, from any thread or loop."""
        self._check_running()
        return await on_loop(self._loop, lambda: self._call(layer_id, function, arguments), PATIENCE_SECONDS)

    async def _call(self, layer_id: str, function: LayerFunction, arguments: Any) -> JSON:
        self._check_running()
        return await self._lifecycle.call(self._ctx, layer_id, function, arguments)

    @asynccontextmanager
    async def spawn(self, *, execution_id: str | None = None) -> AsyncIterator[Execution]:
        """A child execution: a deep copy of the states goes in, and its changes are merged on return.

        A child that ends by an exception is not merged. Nothing of a child is stored before it is
        merged; when the block ends, the merged state is durable.
        """
        self._check_here()
        child_ctx = ExecutionContext(
            execution_id=self._harness._take_id(execution_id),
            thread_id=self._ctx.thread_id,
            resource_id=self._ctx.resource_id,
            depth=self._ctx.depth + 1,
            parent_id=self._ctx.execution_id,
            max_state_bytes=self._ctx.max_state_bytes,
        )
        child = Execution(self._harness, child_ctx, self._loop)
        try:
            await self._lifecycle.spawn(self._ctx, child_ctx)
            yield child
        except BaseException as error:
            await uninterrupted(child._end(outcome_of(error), merge_into=None))
            raise
        await uninterrupted(child._end("success", merge_into=self))

    @overload
    async def in_parallel(
        self,
        workers: Sequence[Worker],
        *,
        mode: Literal["all"] = "all",
        limit: int | None = None,
        ids: Sequence[str] | None = None,
    ) -> list[Any]: ...
    @overload
    async def in_parallel(
        self,
        workers: Sequence[Worker],
        *,
        mode: Literal["settle"],
        limit: int | None = None,
        ids: Sequence[str] | None = None,
    ) -> list[Settled]: ...
    @overload
    async def in_parallel(
        self,
        workers: Sequence[Worker],
        *,
        mode: Literal["race"],
        limit: int | None = None,
        ids: Sequence[str] | None = None,
    ) -> Any: ...
    async def in_parallel(
        self,
        workers: Sequence[Worker],
        *,
        mode: Literal["all", "race", "settle"] = "all",
        limit: int | None = None,
        ids: Sequence[str] | None = None,
    ) -> Any:
        """Run workers side by side, each in a child of its own, at most `limit` at once.

        A worker is called with its child execution. Children are merged one at a time, as they end;
        one that fails is not merged. Results come in the order of the workers:

        - `all` waits for every path and raises ParallelError if any failed;
        - `settle` gives a Settled for each path and raises nothing;
        - `race` gives the first result; the other paths are cancelled, awaited and not merged.

        `ids` names the children's execution ids.
        """
        self._check_here()
        return await run_paths(self, workers, mode, limit, ids, self._lifecycle.reporter)

    async def _end(self, outcome: Outcome, merge_into: Execution | None) -> None:
        """End a child: merge it if it succeeded, tell its layers, forget it."""
        self._ended = True
        try:
            await self._lifecycle.settle(self._ctx)
            if merge_into is not None:
                await self._return_to(merge_into)
        finally:
            try:
                await self._lifecycle.complete(self._ctx, outcome)
            finally:
                await self._dispose()

    async def _return_to(self, parent: Execution) -> None:
        async with parent._merging:
            if parent._ended:
                raise LifecycleError(f"execution {self.execution_id} returned after its parent had ended")
            self.result = await self._lifecycle.merge(parent._ctx, self._ctx, self.result)
        await self._lifecycle.flush(parent._ctx)

    async def _start(self) -> None:
        """Load the layers' states for a root; called by the harness."""
        await self._lifecycle.init(self._ctx)
        await self._lifecycle.flush(self._ctx)

    async def _finish(self, outcome: Outcome) -> None:
        """Record the outcome of a root durably; called by the harness."""
        try:
            async with self._merging:
                self._ended = True
            await self._lifecycle.settle(self._ctx)
            await self._lifecycle.complete(self._ctx, outcome)
            await self._lifecycle.flush(self._ctx)
        finally:
            await self._dispose()

    async def _dispose(self) -> None:
        """Let the layers let go, and the id be used again, whatever a hook raises."""
        try:
            await self._lifecycle.dispose(self._ctx)
        finally:
            self._harness._release_id(self.execution_id)

    def _check_running(self) -> None:
        if self._ended:
            raise LifecycleError(f"execution {self.execution_id} has ended")

    def _check_here(self) -> None:
        self._check_running()
        if asyncio.get_running_loop() is not self._loop:
            raise LifecycleError(f"execution {self.execution_id} belongs to another event loop")


def outcome_of(error: BaseException) -> Outcome:
    """How a run ends that this exception left: a cancellation or an exit is `aborted`, the rest `failure`."""
    return "failure" if isinstance(error, Exception) else "aborted"
