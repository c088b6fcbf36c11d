"""Code as a user would write it. Never run: mypy --strict must accept it as it stands."""

from __future__ import annotations

import asyncio
from typing import Any

from taskstate import task_state
from taskstate.core import BACKEND, cap, clone, merge, render, validate
from taskstate.errors import InvalidValueError, TaskStateError
from taskstate.harness import Harness
from taskstate.storage import FileStorage, MemoryStorage, SQLiteStorage, StorageAdapter
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


async def on_each_storage() -> list[JSON]:
    storages: list[StorageAdapter] = [MemoryStorage(), FileStorage("states"), SQLiteStorage("agent.db")]
    return [await keep_a_thread(storage) for storage in storages]


if __name__ == "__main__":
    asyncio.run(on_each_storage())
