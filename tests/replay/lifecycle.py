"""Replays runs of the layers' hooks: their order, limits, failures and durable writes."""

from __future__ import annotations

import asyncio
import copy
from typing import Any

from taskstate import ContextLayer, ExecutionContext, task_state
from taskstate.harness import Diagnostic, Lifecycle
from taskstate.layer import DEFAULT_TIMEOUTS

from .notation import decode, is_undefined

_HOOKS = {"onSpawn": "on_spawn", "onReturn": "on_return", "onComplete": "on_complete"}
_RECORDED = {name: recorded for recorded, name in _HOOKS.items()}
_RESULTS = {"childState": "child_state", "parentState": "parent_state"}


class Adapter:
    """A storage without options that notes its operations, and fails when told to."""

    def __init__(self) -> None:
        self.records: dict[str, Any] = {}
        self.operations: list[list[Any]] = []
        self.failing: set[str] = set()

    async def get(self, key: str) -> Any:
        self._note("get", key)
        return copy.deepcopy(self.records.get(key))

    async def set(self, key: str, value: Any) -> None:
        self._note("set", key, copy.deepcopy(value))
        self.records[key] = copy.deepcopy(value)

    async def delete(self, key: str) -> None:
        self._note("delete", key)
        self.records.pop(key, None)

    async def list(self, prefix: str) -> Any:
        return [key for key in self.records if key.startswith(prefix)]

    def _note(self, operation: str, *what: Any) -> None:
        self.operations.append([operation, *what])
        if operation in self.failing:
            raise OSError(f"{operation} failed")


class Replay:
    """One case: its layers over its adapter, and what has been seen so far."""

    def __init__(self, case: dict[str, Any], shared_thread: Any = "last_writer") -> None:
        self.now = 0
        self.adapter = Adapter()
        self.diagnostics: list[Diagnostic] = []
        self.layers = [self._layer(options) for options in case["layers"]]
        self.lifecycle = Lifecycle(
            self.layers,
            self.adapter,
            strict=False,
            shared_thread=shared_thread,
            diagnostics=self.diagnostics.append,
        )
        self.contexts = {name: self._context(name, options) for name, options in case["ctxs"].items()}

    def _context(self, name: str, options: dict[str, Any]) -> ExecutionContext:
        return ExecutionContext(
            execution_id=name,
            thread_id=options["threadId"],
            resource_id=options.get("resourceId"),
            depth=options.get("depth", 0),
        )

    def _layer(self, options: dict[str, Any]) -> ContextLayer:
        timeouts = {_HOOKS.get(name, name): limit for name, limit in options.get("timeouts", {}).items()}
        common: dict[str, Any] = {"timeouts": timeouts}
        if "onInitError" in options:
            common["on_init_error"] = options["onInitError"]
        if "slot" in options:
            common["slot"] = options["slot"]
        if "scope" in options:
            common["scope"] = options["scope"]
        if options["kind"] == "probe":
            layer = ContextLayer(options["id"], **common)
        else:
            merge = options.get("mergeData", "shallow")
            layer = task_state(id=options.get("id", "task-state"), merge_data=merge, clock=lambda: self.now, **common)
        for recorded, behaviour in options.get("hooks", {}).items():
            name = _HOOKS.get(recorded, recorded)
            setattr(layer, name, _behaviour(behaviour, getattr(layer, name)))
        return layer

    async def step(self, step: dict[str, Any]) -> dict[str, Any]:
        seen, asked = len(self.diagnostics), len(self.adapter.operations)
        row: dict[str, Any] = {"op": step["op"]}
        try:
            row.update(await self._do(step))
        except Exception as failure:
            row["threw"] = _failure(failure)
        for ctx in self.contexts.values():
            await self.lifecycle.flush(ctx)
        row["diagnostics"] = [
            {"layer": one.layer_id, "hook": _RECORDED.get(one.hook, one.hook), **_failure(one.error)}
            for one in self.diagnostics[seen:]
        ]
        row["adapterOps"] = self.adapter.operations[asked:]
        row["storage"] = copy.deepcopy(self.adapter.records)
        row["live"] = {
            name: {key: {"$": "undefined"} if state is None else state for key, state in states.items()}
            for name, states in self.lifecycle.states.live().items()
        }
        row["disabled"] = [
            [name, layer.id]
            for name, ctx in self.contexts.items()
            for layer in self.layers
            if self.lifecycle.is_disabled(ctx, layer.id)
        ]
        return row

    async def _do(self, step: dict[str, Any]) -> dict[str, Any]:
        lifecycle = self.lifecycle
        ctx = self.contexts[step["exec"]] if "exec" in step else None
        match step["op"]:
            case "put":
                self.adapter.records[step["key"]] = decode(step["value"])
            case "adapter":
                for name, fails in step.items():
                    if name != "op":
                        operation = name.removeprefix("fail_")
                        (self.adapter.failing.add if fails else self.adapter.failing.discard)(operation)
            case "sleep":
                await asyncio.sleep(step["ms"] / 1000)
            case "spawn":
                parent, child = self.contexts[step["parent"]], self.contexts[step["child"]]
                spawned = await lifecycle.spawn(parent, child)
                rows = [
                    {"layerId": one.layer_id, "childState": one.child_state, "items": len(one.items)} for one in spawned
                ]
                return {"spawned": copy.deepcopy(rows)}
            case "return":
                parent, child = self.contexts[step["parent"]], self.contexts[step["child"]]
                return {"result": await lifecycle.merge(parent, child, step.get("result"))}
            case _ if ctx is None:
                raise AssertionError(f"unknown op {step['op']}")
            case "init":
                await lifecycle.init(ctx, step.get("layers"))
            case "store":
                await self._store(ctx, step.get("layers"))
            case "recall":
                recalled = await lifecycle.recall(ctx, step.get("budgets", {}))
                return {
                    "recalled": [
                        {
                            "layerId": one.layer_id,
                            "texts": [item["content"] for item in one.items],
                            "roles": [item["role"] for item in one.items],
                            "tokenCount": one.token_count,
                        }
                        for one in recalled
                    ]
                }
            case "tool":
                layer_id, _, name = step["tool"].rpartition("/")
                functions = lifecycle.layer(layer_id).functions
                function = next(one for one in functions if one.name == name)
                return {"toolResult": await lifecycle.call(ctx, layer_id, function, decode(step["args"]))}
            case "complete":
                await lifecycle.complete(ctx, step["outcome"])
            case "dispose":
                await lifecycle.dispose(ctx)
            case "cleanup":
                lifecycle.forget(ctx)
            case "setState":
                lifecycle.states.set(ctx, lifecycle.layer(step["layer"]), decode(step["value"]))
            case "setStateBurst":
                for value in step["values"]:
                    lifecycle.states.set(ctx, lifecycle.layer(step["layer"]), decode(value))
            case "setStateSpaced":
                for delay, value in step["values"]:
                    await asyncio.sleep(delay / 1000)
                    lifecycle.states.set(ctx, lifecycle.layer(step["layer"]), decode(value))
            case other:
                raise AssertionError(f"unknown op {other}")
        return {}

    async def _store(self, ctx: ExecutionContext, layers: list[str] | None) -> None:
        """Let all layers store; those a step names are the only ones with a state by then."""
        await self.lifecycle.store(ctx)


def run(case: dict[str, Any], shared_thread: Any = "last_writer") -> Any:
    """Every step of a case with what it did, as the recording writes it."""
    if case.get("spy") == "timeouts":
        limits = {_RECORDED.get(name, name): limit for name, limit in DEFAULT_TIMEOUTS.items()}
        return {"bare": limits, "taskState": {_RECORDED.get(k, k): v for k, v in task_state().timeouts.items()}}
    return asyncio.run(_run(case, shared_thread))


async def _run(case: dict[str, Any], shared_thread: Any) -> Any:
    replay = Replay(case, shared_thread)
    rows = []
    for step in case["steps"]:
        if step["op"] == "now":
            replay.now = step["ms"]
        else:
            rows.append(await replay.step(step))
    return {"steps": rows}


def _behaviour(behaviour: dict[str, Any], real: Any) -> Any:
    """A hook that does what a case wants of it."""

    async def late(**arguments: Any) -> Any:
        await asyncio.sleep(behaviour["ms"] / 1000)
        result = real(**arguments)
        return await result if asyncio.iscoroutine(result) else result

    async def hang(**_: Any) -> Any:
        await asyncio.Event().wait()

    async def fail(**_: Any) -> Any:
        raise Boom(behaviour["message"])

    def fail_at_once(**_: Any) -> Any:
        raise Boom(behaviour["message"])

    async def give(**_: Any) -> Any:
        return _result(behaviour["value"])

    def give_plainly(**_: Any) -> Any:
        return _result(behaviour["value"])

    async def echo(*, result: Any, **_: Any) -> Any:
        return {"parent_state": None, "result": result + behaviour["suffix"]}

    hooks = {
        "delay": late,
        "hang": hang,
        "throw": fail,
        "throwSync": fail_at_once,
        "return": give,
        "notAPromise": give_plainly,
        "echoResult": echo,
    }
    return hooks[behaviour["do"]]


class Boom(Exception):
    """What a failing hook of a case raises."""


def _result(value: Any) -> Any:
    if is_undefined(value) or value is None:
        return None
    return {_RESULTS.get(name, name): decode(item) for name, item in value.items()}


def _failure(failure: BaseException) -> dict[str, str]:
    return {"name": type(failure).__name__, "message": str(failure)}
