"""The `<agent_state>` block that shows an agent state to a model."""

from __future__ import annotations

from typing import Any

from ..core.lines import Group, Layout, Quote, fit
from ..core.tokens import CountTokens, checked, estimate_tokens, whole_tokens
from .diff import snapshot_of
from .state import AgentState
from .types import AgentStateSnapshot

_UNFINISHED = ("in_progress", "blocked", "open")


def render_agent_state(
    snapshot: AgentStateSnapshot | AgentState | Any, budget: float, count_tokens: CountTokens | None = None
) -> str:
    """The block that shows an agent state to a model in at most `budget` tokens; a snapshot is checked first.

    It begins with how much there is and, where the budget can't hold everything, how much of what is left out.
    Then come the objective, unfinished work (in progress, blocked, open), decisions and finished work; what comes
    first is kept longest. Long texts are cut before anything is left out, and say by how much. The closing tag
    always stays. A budget above 0 is floored, but not below 1; one of 0 or less, or infinity, gives the whole block.

    `count_tokens` counts with a real tokenizer; without it a token is four UTF-16 code units.
    Raises AgentStateError, and InvalidBudgetError for NaN or no number. This library's own.
    """
    return render(snapshot, budget, count_tokens)[0]


def render(snapshot: Any, budget: float, count_tokens: CountTokens | None = None) -> tuple[str, int]:
    """`render_agent_state`, and how many tokens the block has."""
    tokens = whole_tokens(budget)
    count = estimate_tokens if count_tokens is None else checked(count_tokens)
    text = fit(_layout(snapshot_of(snapshot)), tokens, count)
    return text, count(text)


def _layout(snapshot: AgentStateSnapshot) -> Layout:
    work = snapshot["workItems"]
    decisions = snapshot["decisions"]
    by_status = {status: [item for item in work if item["status"] == status] for status in (*_UNFINISHED, "done")}
    unfinished = [item for status in _UNFINISHED for item in by_status[status]]
    statuses = ", ".join(f"{len(items)} {status}" for status, items in by_status.items() if items)
    counted = f"{len(work)} ({statuses})" if work else "0"
    objective = [snapshot["objective"]] if "objective" in snapshot else []
    totals = f"Work items: {counted}. Decisions: {len(decisions)}."
    return Layout(
        tag="agent_state",
        head=lambda _: [totals],
        groups=[
            Group("the objective", "", objective),
            Group("unfinished work item", "unfinished work items", unfinished),
            Group("decision", "decisions", decisions),
            Group("finished work item", "finished work items", by_status["done"]),
        ],
        line=_line,
        brief=f"{'the objective, ' * len(objective)}{len(work)} work items, {len(decisions)} decisions",
        characters=_characters(snapshot),
    )


def _line(group: str, entry: Any, quoted: Quote) -> str:
    if group == "the objective":
        return f"Objective: {quoted(entry)}"
    return f"- [{entry.get('status', group)}] {quoted(entry['id'])}: {quoted(entry['content'])}"


def _characters(snapshot: AgentStateSnapshot) -> int:
    """How many characters the texts of a snapshot have."""
    items: list[Any] = [*snapshot["workItems"], *snapshot["decisions"]]
    return len(snapshot.get("objective", "")) + sum(len(item["id"]) + len(item["content"]) for item in items)
