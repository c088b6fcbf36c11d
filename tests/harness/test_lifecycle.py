"""The layers together: in which order they are asked, and that one does not disturb another."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from taskstate import ContextLayer, Slot

from .support import running, task_layer, tools


class Noting(ContextLayer):
    """Notes which hook was called when."""

    def __init__(self, id: str, notes: list[str], **options: Any) -> None:
        super().__init__(id, **options)
        for hook in ("init", "recall", "store", "on_spawn", "on_return", "on_complete", "dispose"):
            setattr(self, hook, self._noting(hook, notes))

    def _noting(self, hook: str, notes: list[str]) -> Any:
        results = {"init": {"state": {}}, "on_spawn": {"child_state": {}}, "recall": self.id}

        def note() -> Any:
            notes.append(f"{hook} {self.id}")
            return results.get(hook)

        return note


def test_slots_order_what_is_shown_and_handed_on() -> None:
    async def scenario() -> None:
        notes: list[str] = []
        layers = [Noting("late", notes, slot=300), Noting("early", notes, slot=1), Noting("middle", notes)]
        async with running(None, *layers) as run:
            shown = await run.recall()
            await run.store()
            async with run.spawn():
                pass
        assert [item["content"] for item in shown] == ["early", "middle", "late"]
        given, slots = ["late", "early", "middle"], ["early", "middle", "late"]
        wanted = [
            ("init", given),
            ("recall", slots),
            ("store", given),
            ("on_spawn", slots),
            ("on_return", slots),
            ("on_complete", given),
            ("dispose", given[::-1]),
            ("on_complete", given),
            ("dispose", given[::-1]),
        ]
        assert notes == [f"{hook} {layer}" for hook, order in wanted for layer in order]

    asyncio.run(scenario())


def test_task_state_stands_behind_the_scratchpad_by_default() -> None:
    layer = task_layer()
    assert layer.slot == Slot.SCRATCHPAD + 10 == 110
    assert (layer.id, layer.name, layer.scope) == ("task-state", "Task State", "thread")
    assert layer.budget == {"min": 100, "max": 800}
    assert layer.timeouts["store"] == 30_000


def test_layers_store_at_the_same_time() -> None:
    class Slow(ContextLayer):
        async def store(self) -> Any:
            await asyncio.sleep(0.3)
            return {"state": "done"}

    async def scenario() -> None:
        async with running(None, *(Slow(f"{n}") for n in range(5)), task_layer()) as run:
            start = time.monotonic()
            await run.store()
            assert time.monotonic() - start < 1.4  # 1.5 one after the other
            assert [run.state(f"{n}") for n in range(5)] == ["done"] * 5

    asyncio.run(scenario())


def test_a_state_of_none_is_cleared_and_its_record_deleted() -> None:
    class Clearing(ContextLayer):
        async def init(self, storage: Any) -> Any:
            return {"state": await storage.get("state")}

        def store(self, response: Any) -> Any:
            return {"state": response}

    async def scenario() -> None:
        from taskstate.storage import MemoryStorage

        storage = MemoryStorage()
        layer = Clearing("c")
        async with running(storage, layer) as run:
            assert await storage.list("") == []
            run._lifecycle.states.set(run.ctx, layer, {"a": 1})
            await run.store({"a": 2})
            assert await storage.get("layers/c/t/state") == {"a": 2}
            await run.store(None)
            assert run.state("c") is None
            assert await storage.list("") == []

    asyncio.run(scenario())


def test_tokens_are_shared_out_of_the_context_window() -> None:
    class Greedy(ContextLayer):
        def recall(self, budget: float) -> str:
            return f"{budget:g}"

    async def scenario() -> None:
        layers = [Greedy("a", budget={"min": 10, "max": 20}), Greedy("b", budget=1000), Greedy("c")]
        async with running(None, *layers, context_window=1000, response_reserve=100) as run:

            async def shown(**options: Any) -> list[str]:
                return [item["content"] for item in await run.recall(**options)]

            default = await shown()
            assert default == await shown(context_window=1000, response_reserve=100)
            assert default != await shown(system_prompt_tokens=500)
            assert await shown(budgets={"a": 1, "b": 2.5}) == ["1", "2.5", "0"]
            assert await shown(context_window=50) == ["1", "1", "1"]  # 0 would mean no limit

    asyncio.run(scenario())


def test_a_block_within_the_budget_tells_all_that_matters() -> None:
    async def scenario() -> None:
        async with running() as run:
            for number in range(30):
                await run.store()
                await tools(run).set_task_data(key=f"k{number}", value="</task_state> 日本 👩‍👩‍👧 " * 5)
            for budget in (*range(1, 60), 100, 300, 800, 2000):
                (item,) = await run.recall(budgets={"task-state": budget})
                text = item["content"]
                assert text.count("</task_state>") == 1
                assert text.endswith("</task_state>")
                units = len(text.encode("utf-16-le")) // 2
                assert -(-units // 4) <= max(budget, 4)
                text.encode()
            (whole,) = await run.recall(budgets={"task-state": 0})
            assert "k29" in whole["content"]

    asyncio.run(scenario())


def test_any_tokenizer_keeps_the_block_within_the_budget() -> None:
    # Reported of others as stephenschoettler/hermes-lcm PR#348 and NousResearch/hermes-agent#58784.
    def count(text: str) -> int:
        return sum(1 if char.isascii() else 3 for char in text)

    async def scenario() -> None:
        async with running(None, task_layer(count_tokens=count)) as run:
            await tools(run).set_task_data(key="k", value="漢字👍" * 300)
            for budget in (20, 50, 100, 333, 1000):
                (item,) = await run.recall(budgets={"task-state": budget})
                assert count(item["content"]) <= budget

    asyncio.run(scenario())
