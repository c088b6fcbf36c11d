"""The conformance suite for task stores."""

# ruff: noqa: D102 - the name of a test says what it states

from __future__ import annotations

from pathlib import Path

from .tasks_cancel import CancelConformance, OrphanConformance
from .tasks_children import BoundedConformance, ResumeConformance, SpawnConformance
from .tasks_claims import ClaimConformance, LeaseConformance
from .tasks_conversations import GenerationConformance, InboxConformance
from .tasks_fences import FenceConformance
from .tasks_looking import HintConformance, LifeConformance, LookConformance
from .tasks_requests import EnqueueConformance, SingleFlightConformance
from .tasks_sharing import TaskPersistence, TaskSharing
from .tasks_suite import Bench
from .tasks_upkeep import PurgeConformance, RetryConformance, UpkeepConformance
from .tasks_waits import SignalConformance, WaitConformance
from .tasks_work import CheckpointConformance, FinishConformance


class TaskStoreConformance(
    LifeConformance,
    EnqueueConformance,
    SingleFlightConformance,
    ClaimConformance,
    LeaseConformance,
    FenceConformance,
    CheckpointConformance,
    FinishConformance,
    WaitConformance,
    SignalConformance,
    SpawnConformance,
    ResumeConformance,
    BoundedConformance,
    CancelConformance,
    OrphanConformance,
    GenerationConformance,
    InboxConformance,
    UpkeepConformance,
    RetryConformance,
    PurgeConformance,
    LookConformance,
    HintConformance,
):
    """What every task store must do. Subclass it in a test module and say how a store is made, and how time passes::

        class TestMyStore(TaskStoreConformance, TaskPersistence, TaskSharing):
            now = 1_700_000_000_000

            def make_store(self, tmp_path):
                return MyStore(tmp_path / "tasks", clock=lambda: self.now)

            def advance_clock(self, store, ms):
                self.now += ms

    What a store can do beyond this is declared by inheriting the suite of that option; a test here fails if it
    can do more than is declared, so nothing goes untested.
    """

    def test_what_it_keeps_after_it_was_closed_is_what_is_declared(self, tmp_path: Path) -> None:
        async def write(b: Bench) -> None:
            await b.put(id="task")

        async def read(b: Bench) -> int:
            return len(await b.store.get(["task"]))

        self.use(tmp_path, write)
        kept = self.use(tmp_path, read) == 1
        assert kept == isinstance(self, TaskPersistence), (
            "inherit TaskPersistence exactly if a later store has the tasks of the first one"
        )
        assert kept == isinstance(self, TaskSharing), (
            "inherit TaskSharing exactly if several stores have the same tasks"
        )
