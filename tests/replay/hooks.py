"""Replays cases of single hooks, tools and budgets."""

from __future__ import annotations

import asyncio
import hashlib
import json
import types
from typing import Any

import orjson

from taskstate import ExecutionContext, TaskStateError, core, task_state
from taskstate.harness import Lifecycle, allocate_budgets
from taskstate.layer import TaskStateLayer

from .notation import decode, encode, error, field


def layer(case: dict[str, Any] | None = None, clock: Any = None) -> TaskStateLayer:
    """A task-state layer with the options of a case."""
    merge = (case or {}).get("mergeData") or "shallow"
    return task_state(merge_data=merge, clock=clock or (lambda: 0))


def context(execution_id: str = "e", depth: int = 0) -> ExecutionContext:
    return ExecutionContext(execution_id=execution_id, thread_id="t", depth=depth)


def recall(case: dict[str, Any]) -> Any:
    try:
        state = field(case, "parent" if "parentJson" in case else "state")
        shown = layer().recall(state=state, budget=decode(case["budget"]))
    except TaskStateError as failure:
        return error(failure)
    if shown is None:
        return None
    text = shown["items"][0]["content"]
    result = {"text": text, "tokenCount": shown["token_count"]}
    if "stateJson" in case:
        result["textJson"] = json.dumps(text)
        result["textUtf16"] = text.encode("utf-16-be").hex()
    return result


def store(case: dict[str, Any]) -> Any:
    try:
        if "chain" in case:
            state = None
            for step in range(case["chain"]):
                now = case["clockStart"] + step * case["clockStep"]
                state = _stored(state, now, step % case["depthMod"])
            return {"state": state}
        return {"state": _stored(decode(case["state"]), case["clock"], case["depth"])}
    except TaskStateError as failure:
        return error(failure)


def _stored(state: Any, now: int, depth: int) -> Any:
    return layer(clock=lambda: now).store(state=state, ctx=context(depth=depth))["state"]


def on_spawn(case: dict[str, Any]) -> Any:
    try:
        return {
            "childState": layer().on_spawn(parent_state=field(case, "parentState"), child_ctx=context())["child_state"],
            "items": [],
        }
    except TaskStateError as failure:
        return error(failure)


def on_complete(case: dict[str, Any]) -> Any:
    try:
        result = layer(clock=lambda: case["clock"]).on_complete(
            state=decode(case["state"]), outcome=case["outcome"], ctx=context(depth=case["depth"])
        )
    except TaskStateError as failure:
        return error(failure)
    return {"returned": {"$": "undefined"}} if result is None else {"state": result["state"]}


def on_return(case: dict[str, Any]) -> Any:
    own = layer(case)
    try:
        if "rounds" in case:
            return {"parentStates": _rounds(own, case)}
        if "fanout" in case:
            return {"parentState": _fanout(own, case)}
        parent, child = field(case, "parent"), field(case, "child")
        merged = _returned(own, parent, child, case["childExecutionId"])
    except TaskStateError as failure:
        return error(failure)
    return {"parentState": merged, "parentStateJson": orjson.dumps(merged).decode()}


def _returned(own: TaskStateLayer, parent: Any, child: Any, execution_id: str) -> Any:
    return own.on_return(parent_state=parent, child_state=child, child_ctx=context(execution_id))["parent_state"]


def _worked(own: TaskStateLayer, parent: Any, work: dict[str, Any]) -> Any:
    child = own.on_spawn(parent_state=parent, child_ctx=context(work["id"]))["child_state"]
    for now in work.get("stores", []):
        child = task_state(clock=lambda now=now: now).store(state=child, ctx=context(depth=1))["state"]
    child["files"] = [*child["files"], *work.get("files", [])]
    child["data"] = {**child["data"], **decode(work.get("data", {}))}
    return child


def _rounds(own: TaskStateLayer, case: dict[str, Any]) -> list[Any]:
    parent, states = decode(case["parent"]), []
    for work in case["rounds"]:
        parent = _returned(own, parent, _worked(own, parent, work), work["id"])
        states.append(parent)
    return states


def _fanout(own: TaskStateLayer, case: dict[str, Any]) -> Any:
    parent = decode(case["parent"])
    children = {work["id"]: _worked(own, parent, work) for work in case["fanout"]}
    for execution_id in case["order"]:
        parent = _returned(own, parent, children[execution_id], execution_id)
    return parent


def growth(case: dict[str, Any]) -> Any:
    own = layer(case)
    first = parent = decode(case["parent"])
    rows = []
    for index in range(case["rounds"]):
        data = {"none": {}, "same_key": {"result": f"value-{index}"}, "own_key": {f"result_{index}": f"value-{index}"}}
        work = {
            "id": f"exec-{index:04d}",
            "stores": [1700000001000 + 100 * index + step for step in range(case["childStores"])],
            "files": [f"out/{index}.txt"] if case["childFiles"] else [],
            "data": data[case["childData"]],
        }
        parent = _returned(own, parent, _worked(own, first if case["fanout"] else parent, work), work["id"])
        text = orjson.dumps(parent)
        rows.append(
            {
                "bytes": len(text),
                "sha256": hashlib.sha256(text).hexdigest(),
                "checkpoints": len(parent["checkpoints"]),
                "files": len(parent["files"]),
                "topLevelKeys": len(parent["data"]),
                "nesting": _nesting(parent["data"]),
                "renderTokens": core.render(parent, 0)[1],
            }
        )
    return {"rounds": rows}


def _nesting(value: Any) -> int:
    return 1 + max((_nesting(item) for item in value.values()), default=0) if type(value) is dict else 0


def by_op(case: dict[str, Any]) -> Any:
    """A case of any hook or tool, with states as text."""
    match case["op"]:
        case "on_return":
            result = on_return(case)
            return {"stateJson": result["parentStateJson"]} if "parentStateJson" in result else result
        case "on_spawn":
            result = on_spawn({"parentStateJson": case["parentJson"]})
            return {"stateJson": orjson.dumps(result["childState"]).decode()} if "childState" in result else result
        case "on_complete":
            state = field(case, "parent")
            result = layer(clock=lambda: 5).on_complete(state=state, outcome=case["outcome"], ctx=context())
            return {"stateJson": orjson.dumps(result["state"]).decode()} if result else {"returned": None}
        case "recall":
            return recall({key: value for key, value in case.items() if key != "op"})
        case "setTaskData" | "recordArtifact" as tool:
            calls = [{"tool": f"task-state/{tool}", "args": orjson.loads(case["argsJson"])}]
            (step,) = tools({"initialState": field(case, "parent"), "calls": calls})["steps"]
            return {"result": step["result"], "stateJson": orjson.dumps(step["state"]).decode()}
        case other:
            raise AssertionError(f"unknown op {other}")


def tools(case: dict[str, Any]) -> Any:
    return asyncio.run(_tools(case))


async def _tools(case: dict[str, Any]) -> Any:
    own = layer()
    lifecycle = Lifecycle([own], strict=False)
    ctx = context()
    initial = decode(case["initialState"])
    if initial is not None:
        lifecycle.states.set(ctx, own, initial)

    async def call(one: dict[str, Any]) -> dict[str, Any]:
        function = next(f for f in own.functions if f"{own.id}/{f.name}" == one["tool"])
        try:
            return {"result": await lifecycle.call(ctx, own.id, function, decode(one["args"]))}
        except TaskStateError as failure:
            issues = [{"path": list(path)} for path, _ in getattr(failure, "issues", ())]
            return {**error(failure), **({"issues": issues} if issues else {})}

    steps = []
    for one in case["calls"]:
        if "parallel" in one:
            step: dict[str, Any] = {"results": list(await asyncio.gather(*map(call, one["parallel"])))}
        else:
            step = await call(one)
        steps.append({**step, "state": lifecycle.states.get(ctx.execution_id, own.id)})
    return {"steps": steps}


def budget(case: dict[str, Any]) -> Any:
    case = decode(case)
    layers = [types.SimpleNamespace(id=one["id"], budget=one.get("budget", "auto")) for one in case["layers"]]
    try:
        result = allocate_budgets(layers, case["totalBudget"], case["systemPromptTokens"], case["responseReserve"])
    except TaskStateError as failure:
        return error(failure)
    allocations = [{"layerId": one.layer_id, "allocated": one.allocated} for one in result.allocations]
    return encode({"allocations": allocations, "historyBudget": result.history_budget})
