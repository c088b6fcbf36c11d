"""Code as a user would write it. Never run: mypy --strict must accept it as it stands."""

from __future__ import annotations

import asyncio
from typing import Any, assert_type

from taskstate import task_state
from taskstate.core import BACKEND, cap, clone, merge, render, validate
from taskstate.errors import InvalidValueError, TaskStateError
from taskstate.harness import Harness
from taskstate.record import (
    AgentState,
    AgentStateError,
    AgentStateErrorCode,
    AgentStateInput,
    AgentStateSnapshot,
    AgentStateSummary,
    Decision,
    DecisionInput,
    Operation,
    WorkItem,
    WorkItemInput,
    WorkItemStatus,
    create_agent_state,
    restore_agent_state,
    summarize_agent_state,
)
from taskstate.storage import FileStorage, MemoryStorage, SQLiteStorage, StorageAdapter
from taskstate.tasks import (
    Definition,
    DurableTasks,
    EventInfo,
    Limits,
    Outcome,
    SyncTaskContext,
    TaskContext,
    TaskHandle,
    TaskInfo,
    WaitInfo,
    task,
)
from taskstate.types import JSON, Message, TaskState


async def call_my_model(items: list[Message]) -> str:
    return items[-1]["content"]


async def keep_a_thread(storage: StorageAdapter) -> JSON:
    async with Harness(storage=storage, layers=[task_state(merge_data="three_way")]) as harness:
        async with harness.execution(thread_id="review-22") as run:
            items = await run.recall()
            response = await call_my_model(items)
            await run.store(response)
            await run.context["task-state"].record_artifact(path="out/report.md")
            await run.context["task-state"].set_task_data(key="verdict", value={"ok": True})
            async with run.spawn() as child:
                await child.context["task-state"].set_task_data(key="sub", value=[1, 2.5, None])
        return run.state("task-state")


def count_words(text: str) -> int:
    return len(text.split())


def use_the_core(state: TaskState, child: TaskState) -> str:
    validate(state)
    merged: Any = merge(clone(state), child, mode="shallow")
    merged["checkpoints"] = cap(merged["checkpoints"])
    text, tokens = render(merged, 800, count_tokens=count_words)
    return f"{text} ({tokens} tokens, {BACKEND})"


def tell(error: TaskStateError) -> str:
    return error.path if isinstance(error, InvalidValueError) else error.code


def plan(given: AgentStateInput) -> AgentState:
    state = create_agent_state(given)
    new: WorkItemInput = {"id": "cutover", "content": "Run the cutover."}
    assert_type(state.add_work_item(new), WorkItem)
    assert_type(state.add_work_item({"id": "check", "content": "Check it.", "status": "blocked"}), WorkItem)
    following: dict[WorkItemStatus, WorkItemStatus] = {"open": "in_progress", "in_progress": "done"}
    for item in state.list_work_items():
        assert_type(item["status"], WorkItemStatus)
        assert_type(state.set_work_item_status(item["id"], following.get(item["status"], "done")), WorkItem)
    assert_type(state.set_work_item_content("check", "Check it twice."), WorkItem)
    assert_type(state.get_work_item("cutover"), WorkItem | None)
    assert_type(state.remove_work_item("cutover"), bool)
    decision: DecisionInput = {"id": "database", "content": "Write to the primary."}
    assert_type(state.add_decision(decision), Decision)
    assert_type(state.get_decision("database"), Decision | None)
    assert_type(state.list_decisions(), list[Decision])
    assert_type(state.remove_decision("database"), bool)
    state.set_objective(None)
    assert_type(state.objective, str | None)
    operations: list[Operation] = [{"op": "addWorkItem", "args": [new]}, {"op": "list_work_items", "args": []}]
    assert_type(state.apply(operations), list[Any])
    return state.copy() if "check" in state and len(state) > 0 else state


def cross_a_boundary(state: AgentState, loaded: JSON) -> AgentStateSummary:
    snapshot = state.snapshot()
    assert_type(snapshot, AgentStateSnapshot)
    assert_type(snapshot["workItems"], list[WorkItem])
    assert_type(snapshot.get("objective"), str | None)
    assert_type(state.to_json(), str)
    assert_type(AgentState.from_json(state.to_json().encode(), unknown="reject"), AgentState)
    assert_type(restore_agent_state(loaded, unknown="drop"), AgentState)
    assert_type(create_agent_state(), AgentState)
    same = AgentState(objective="o", work_items=[{"id": "a", "content": "x"}], decisions=[{"id": "a", "content": "y"}])
    assert_type(summarize_agent_state(same), AgentStateSummary)
    assert_type(summarize_agent_state(snapshot)["in_progress"], int)
    return restore_agent_state(snapshot).summary()


def tell_what_was_refused(error: AgentStateError) -> str:
    code: AgentStateErrorCode = error.code
    assert_type(error.item_id, str | None)
    return f"{code} at {error.path}: {error.reason}"


def misuse(state: AgentState) -> None:
    state.set_work_item_status("a", "finished")  # type: ignore[arg-type]
    state.add_work_item({"id": "a"})  # type: ignore[typeddict-item]
    state.add_work_item({"id": "a", "content": "x", "status": "Open"})  # type: ignore[typeddict-item]
    state.add_decision({"id": "a", "content": "x", "status": "open"})  # type: ignore[typeddict-unknown-key]
    state.objective = "o"  # type: ignore[misc]
    AgentState.from_json("{}", unknown="keep")  # type: ignore[arg-type]


async def on_each_storage() -> list[JSON]:
    storages: list[StorageAdapter] = [MemoryStorage(), FileStorage("states"), SQLiteStorage("agent.db")]
    return [await keep_a_thread(storage) for storage in storages]


@task("extract", limits=Limits(attempts=3, timeout_s=60))
async def extract(ctx: TaskContext, input: dict[str, str]) -> list[int]:
    found: list[int] = await ctx.checkpoint("read", len, input["path"])
    return found


@task("count", result=int)
def count(ctx: SyncTaskContext, input: str) -> int:
    assert_type(ctx.run(extract, {"path": input}), list[int])
    assert_type(ctx.fan_out(extract, [{"path": input}], limit=2), list[list[int]])
    assert_type(ctx.fan_out(extract, [], settle=True), list[Outcome])
    assert_type(ctx.publish({"half": 1}), int)
    assert_type(ctx.attempt, Any)
    return len(input)


@task("parent")
async def parent(ctx: TaskContext, input: list[str]) -> int:
    assert_type(await ctx.run(extract, {"path": "p"}), list[int])
    assert_type(await ctx.fan_out(count, input, limit=4), list[int])
    assert_type(await ctx.fan_out(count, input, settle=True), list[Outcome])
    assert_type(await ctx.start(count, "p"), str)
    assert_type(ctx.cancelled, bool)
    await ctx.sleep(1)
    await ctx.wait_for("approval", timeout=60)
    return len(input)


async def work_that_outlives_a_turn() -> None:
    assert_type(extract, Definition[dict[str, str], list[int]])
    assert_type(count, Definition[str, int])
    async with DurableTasks(types=[extract, count, parent], store="memory:") as tasks:
        assert_type(await tasks.run(extract, {"path": "p"}), list[int])
        handle = await tasks.start(count, "p", owner="u", conversation="c", generation=7, single_flight="p")
        assert_type(handle, TaskHandle[int])
        assert_type(await handle.result(timeout=5), int)
        assert_type(await tasks.start_many(parent, [["p"]]), list[TaskHandle[int]])
        assert_type(await handle.info(), TaskInfo)
        assert_type((await handle.info())["attempt"], int)
        assert_type(await tasks.waits(handle.id), list[WaitInfo])
        assert_type(await tasks.inbox("c").take(), list[EventInfo])
        async for event in tasks.events("c"):
            assert_type(event["seq"], int)
        assert_type(await tasks.purge({"succeeded": 3600, "failed": 86_400}), int)
        by_name: int = await tasks.run("count", "p")
        print(by_name)


async def misuse_tasks(tasks: DurableTasks) -> None:
    await tasks.list(states=["finished"])  # type: ignore[list-item]
    await tasks.purge({"finished": 1})  # type: ignore[dict-item]
    text: str = await tasks.run(count, "p")  # type: ignore[arg-type]
    tasks.tools(["count"], 5)  # type: ignore[call-arg]
    Limits(5)  # type: ignore[call-arg]
    print(text)


if __name__ == "__main__":
    asyncio.run(on_each_storage())
