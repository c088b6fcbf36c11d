"""What must hold when the storm is over, whatever it was like."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from taskstate.tasks import DurableTasks, TaskInfo

from .storm import CONVERSATIONS, Storm
from .works import TYPES, expected

Query = Callable[[str], list[tuple[Any, ...]]]

# What no row may be like.
NEVER = {
    "a task that hasn't ended, or holds something": """
        SELECT id FROM taskstate_task
        WHERE slot IS NOT NULL OR lease_expires_at IS NOT NULL OR worker IS NOT NULL OR finished_at IS NULL
            OR available_at IS NOT NULL OR state NOT IN ('succeeded', 'failed', 'cancelled', 'superseded')""",
    "a delivery that is neither made nor suppressed for a reason": """
        SELECT id FROM taskstate_delivery
        WHERE state NOT IN ('delivered', 'suppressed') OR state = 'suppressed' AND reason IS NULL""",
    "a delivery in no inbox or several, or in one that isn't its own": """
        SELECT d.id FROM taskstate_delivery d LEFT JOIN taskstate_inbox i ON i.delivery_id = d.id
        GROUP BY d.id, d.state, d.target, d.target_id
        HAVING count(i.delivery_id) <> CASE WHEN d.target = 'conversation' AND d.state = 'delivered' THEN 1 ELSE 0 END
            OR max(i.conversation_id) <> d.target_id""",
    "an inbox in which the events of a task aren't in their order": """
        SELECT i.delivery_id FROM taskstate_inbox i JOIN taskstate_delivery d ON d.id = i.delivery_id
        JOIN taskstate_inbox j ON j.conversation_id = i.conversation_id
        JOIN taskstate_delivery e ON e.id = j.delivery_id AND e.task_id = d.task_id
        WHERE i.seq < j.seq AND d.seq >= e.seq""",
    "a listener who isn't told of an end, or twice": """
        SELECT s.task_id FROM taskstate_subscription s LEFT JOIN taskstate_delivery d
            ON d.task_id = s.task_id AND d.target = 'conversation' AND d.target_id = s.conversation_id
                AND d.generation = s.generation AND d.kind = 'result'
        GROUP BY s.task_id, s.conversation_id, s.generation HAVING count(d.id) <> 1""",
    "a parent that isn't told of a child's end, or twice": """
        SELECT t.id FROM taskstate_task t LEFT JOIN taskstate_delivery d ON d.task_id = t.id AND d.target = 'parent'
        WHERE t.awaited = 1 GROUP BY t.id HAVING count(d.id) <> 1""",
    "a child that outlived what waited for it": """
        SELECT t.id FROM taskstate_task t JOIN taskstate_task p ON p.id = t.parent_id
        WHERE t.awaited = 1 AND p.state = 'succeeded' AND t.state <> 'succeeded'""",
    "a wait that is open though its task went on": """
        SELECT w.id FROM taskstate_wait w JOIN taskstate_task t ON t.id = w.task_id
        WHERE t.state = 'succeeded' AND w.outcome IS NULL""",
    "a success that was recorded more or less than once": """
        SELECT t.id FROM taskstate_task t LEFT JOIN taskstate_attempt a ON a.task_id = t.id AND a.outcome = 'succeeded'
        GROUP BY t.id, t.state HAVING count(a.fence) <> CASE WHEN t.state = 'succeeded' THEN 1 ELSE 0 END""",
    "an owner later than the last one": """
        SELECT t.id FROM taskstate_task t JOIN taskstate_attempt a ON a.task_id = t.id WHERE a.fence > t.fence""",
    "a step that was kept in the name of nobody who ever owned the task": """
        SELECT c.task_id FROM taskstate_checkpoint c LEFT JOIN taskstate_attempt a
            ON a.task_id = c.task_id AND a.fence = c.fence
        WHERE a.fence IS NULL""",
    "a wait that two signals ended": """
        SELECT wait_id FROM taskstate_signal WHERE wait_id IS NOT NULL GROUP BY wait_id HAVING count(*) > 1""",
    "a listener of a generation that is over": """
        SELECT s.task_id FROM taskstate_subscription s JOIN taskstate_conversation c ON c.id = s.conversation_id
        WHERE s.generation < c.generation AND s.ended_at IS NULL""",
}


async def judge(storm: Storm, query: Query) -> Counter[str]:
    """AssertionError for what doesn't hold; how many of the tasks that were asked for ended in each state."""
    assert storm.kills
    assert query("SELECT count(*) FROM taskstate_attempt WHERE outcome = 'lost'") != [(0,)], "nobody had work in hand"
    for what, statement in NEVER.items():
        found = query(statement)
        assert not found, (what, len(found), found[:3])
    no_step_ran_after_it_was_kept(storm.journal, query("SELECT task_id, key, fence, value FROM taskstate_checkpoint"))
    async with DurableTasks(types=TYPES, store=storm.store, worker=False) as client:
        rows = await _all(client)
        for row in rows:
            if row["state"] == "succeeded":
                assert row["result"] == expected(row["name"], row["input"]), row
        roots = [row for row in rows if row["parent_id"] is None]
        assert {row["id"]: row["name"] for row in roots} == storm.started
        states = Counter(row["state"] for row in roots)
        assert set(states) <= {"succeeded", "cancelled", "superseded"}, [
            row for row in rows if row["state"] == "failed"
        ][:3]
        for talk in CONVERSATIONS:
            await _read(client, talk)
    return states


def no_step_ran_after_it_was_kept(journal: Path, checkpoints: list[tuple[str, str, int, str]]) -> None:
    """What was written down while it went on agrees with what the store has of it.

    A fence is raised with each change of owner, so that a step recorded under one was there before any later owner
    began: none of those may begin it. One that was stopped, and goes on when all is over, still has an earlier fence.
    """
    records = {(task_id, key): (fence, json.loads(value)) for task_id, key, fence, value in checkpoints}
    began: dict[tuple[str, str], dict[int, str]] = defaultdict(dict)
    kept: dict[tuple[str, str], str] = {}
    for line in journal.read_text().splitlines():
        what, task_id, key, token, number = line.split()
        place, fence = (task_id, key), int(number)
        if what == "kept":
            assert kept.setdefault(place, token) == token, f"two results of one step: {place}"
        else:
            assert place not in kept, f"a step began again after it was kept: {place}"
            assert began[place].setdefault(fence, token) == token, f"one owner began a step twice: {place}, {fence}"
    assert began
    for place, token in kept.items():
        assert records[place][1] == token, f"a result was given that isn't recorded: {place}"
    for place, tries in began.items():
        if place in records:
            fence, token = records[place]
            assert tries[fence] == token, f"a result is recorded that its owner didn't come to: {place}"
            assert max(tries) == fence, f"a step began again after it was recorded: {place}, {tries}, {fence}"


async def _all(client: DurableTasks) -> list[TaskInfo]:
    rows: list[TaskInfo] = []
    while page := await client.list(limit=1000, before=rows[-1]["id"] if rows else None):
        rows += page
    return rows


async def _read(client: DurableTasks, talk: str) -> None:
    """Each event comes once, and those of one task in their order."""
    seen: dict[str, list[int]] = defaultdict(list)
    inbox = client.inbox(talk)
    while events := await inbox.take():
        for event in events:
            seen[event["task_id"]].append(event["seq"])
        assert await inbox.ack(events) == len(events)
    for task_id, numbers in seen.items():
        assert numbers == sorted(set(numbers)), (talk, task_id, numbers)
