"""What a user may do between two runs: judge by more criteria, or get another version of a document."""

from __future__ import annotations

from pathlib import Path

from taskstate.restart import RecordStore, change
from taskstate.restart.transitions import NewCriteria
from taskstate.storage import SQLiteStorage

from .artifacts import Artifacts
from .documents import READ_LIMIT, FolderError, list_folder, read_document
from .findings import EXTRACTED
from .job import Job

_AMENDED = "\n\nAmendment {number}: the warranty period is {months} months.\n"


async def is_recorded(job: Job) -> bool:
    """Whether there is a restart record of this review."""
    async with SQLiteStorage(job.state) as storage:
        return job.thread_id in await RecordStore(storage).tasks()


async def change_criteria(job: Job) -> str:
    """Add a criterion: the criteria's next version, declared in the record. What was done, in a sentence."""
    async with SQLiteStorage(job.state) as storage:
        store = RecordStore(storage)
        record = await store.load(job.thread_id)
        items = record.criteria.items
        more = next((key for key in EXTRACTED if key not in items), None)
        if more is None:
            return f"Criteria version {record.criteria.version} has every criterion that there are rules for."
        wanted = NewCriteria(items={**items, more: EXTRACTED[more]}, at=store.clock())
        record = await store.save(change(record, wanted))
        return f"Criteria version {record.criteria.version}: {EXTRACTED[more]} is added."


def find_document(job: Job, name: str) -> Path:
    """The document of this name, or the only one whose name begins so. Raises FolderError if there is none."""
    paths = list_folder(job.folder).paths
    found = [path for path in paths if path.name == name] or [path for path in paths if path.name.startswith(name)]
    if len(found) != 1:
        raise FolderError(f"{name!r} is the name of {len(found) or 'no'} documents in {str(job.folder)!r}")
    return found[0]


def update_source(job: Job, path: Path) -> str:
    """Put an amended copy of a document among the results, where it is read instead. What was done, in a sentence.

    The user's own file stays as it is.
    """
    artifacts = Artifacts(job.out)
    copy = artifacts.copy_path(read_document(path).sha256, path.name)
    before = job.out / copy if (job.out / copy).exists() else path
    source = read_document(before)
    number = source.text.count("\nAmendment ") + 1
    added = _AMENDED.format(number=number, months=48 + 12 * number).encode(source.encoding)
    artifacts.write(copy, before.read_bytes()[: READ_LIMIT - len(added)] + added)
    return f"{source.name} counts as changed: {job.out / copy} has amendment {number} and is read instead."
