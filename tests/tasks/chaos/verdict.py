"""What must hold when the storm is over, whatever it was like."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from taskstate.tasks import DurableTasks, TaskInfo

from .storm import CONVERSATIONS, Storm
from .works import TYPES, expected

Query = Callable[[str], list[tuple[Any, ...]]]

LEFT = """
SELECT count(*) FROM taskstate_task
WHERE slot IS NOT NULL OR lease_expires_at IS NOT NULL OR worker IS NOT NULL OR finished_at IS NULL
"""
UNSETTLED = "SELECT count(*) FROM taskstate_delivery WHERE state NOT IN ('delivered', 'suppressed')"
NO_REASON = "SELECT count(*) FROM taskstate_delivery WHERE state = 'suppressed' AND reason IS NULL"
NOT_IN_ONE_INBOX = """
SELECT count(*) FROM (
    SELECT d.id, d.state, count(i.delivery_id) AS places
    FROM taskstate_delivery d LEFT JOIN taskstate_inbox i ON i.delivery_id = d.id AND i.conversation_id = d.target_id
    WHERE d.target = 'conversation' GROUP BY d.id, d.state) AS found
WHERE places <> CASE WHEN state = 'delivered' THEN 1 ELSE 0 END
"""
TWICE_OWNED = (
    "SELECT count(*) FROM (SELECT task_id, fence FROM taskstate_attempt GROUP BY 1, 2 HAVING count(*) > 1) AS f"
)


async def judge(storm: Storm, query: Query) -> Counter[str]:
    """AssertionError for what doesn't hold; how many tasks ended in each state."""
    assert no_step_ran_after_it_was_kept(storm.journal)
    for statement in (LEFT, UNSETTLED, NO_REASON, NOT_IN_ONE_INBOX, TWICE_OWNED):
        assert query(statement) == [(0,)], statement
    async with DurableTasks(types=TYPES, store=storm.store, worker=False) as client:
        rows = await _all(client)
        for row in rows:
            if row["state"] == "succeeded":
                assert row["result"] == expected(row["name"], row["input"]), row
        states = Counter(row["state"] for row in rows if row["parent_id"] is None)
        assert states.total() == storm.tasks
        assert set(states) <= {"succeeded", "cancelled", "superseded"}, [
            row for row in rows if row["state"] == "failed"
        ][:3]
        for talk in CONVERSATIONS:
            await _read(client, talk)
    return states


def no_step_ran_after_it_was_kept(journal: Path) -> bool:
    kept: dict[tuple[str, str], str] = {}
    for line in journal.read_text().splitlines():
        what, task_id, key, token = line.split()
        place = task_id, key
        if what == "kept":
            assert kept.setdefault(place, token) == token, f"two results of one step: {place}"
        else:
            assert place not in kept, f"a step began again after it was kept: {place}"
    return bool(kept)


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
