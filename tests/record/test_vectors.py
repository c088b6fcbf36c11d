"""The recorded behaviour of the agent-state original, replayed on each twin.

Where this library is deliberately better, `vectors/deviations.json` names the case under the rule it
touches, and the test checks what the rule promises instead.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from itertools import accumulate
from typing import Any

import pytest

from ..replay import kinds, replay
from ..replay.agent_state import UNDEFINED
from ..replay.recordings import load, load_deviations, recorded

FOLDER = "agent_state"
REFUSED = {"error": {"code": "invalid_input", "itemId": None, "message": "Invalid agent state snapshot."}}


def as_text(value: Any) -> str:
    """What tells 1 from 1.0 and from True, and shows the order of keys; a text is its own."""
    return value if type(value) is str else json.dumps(value)


def with_escaped_ids(recorded: Any) -> Any:
    """What was recorded, its messages without control characters and with ids cut to 200 characters."""
    if type(recorded) is list:
        return [with_escaped_ids(item) for item in recorded]
    if type(recorded) is not dict:
        return recorded
    if recorded.keys() != {"error"}:
        return {key: with_escaped_ids(item) for key, item in recorded.items()}
    error = recorded["error"]
    message, item_id = error["message"], error["itemId"]
    if item_id is not None and len(item_id) > 200:
        message = message.replace(item_id, f"{item_id[:200]}...")
    shown = re.sub(r"[\x00-\x1f\x7f-\x9f]", lambda found: f"\\u{ord(found[0]):04x}", message)
    return {"error": {**error, "message": shown}}


def the_snapshot_is_checked(case: dict[str, Any], given: Any) -> None:
    """A1: a summary refuses what restoring refuses."""
    assert given.keys() == {"error"}
    assert given == replay("agent_state/restore", case["input"])


def the_message_escapes_the_id(case: dict[str, Any], given: Any) -> None:
    """A2: nothing but the way in which a message shows an id."""
    assert as_text(given) == as_text(with_escaped_ids(case["expected"]))


def nesting_is_bounded(case: dict[str, Any], given: Any) -> None:
    """A3: a text that nests deeper than 200."""
    steps = [{"[": 1, "{": 1, "]": -1, "}": -1}.get(sign, 0) for sign in case["input"]]
    assert max(accumulate(steps)) > 200
    assert json.loads(given) == REFUSED


def a_lone_surrogate_is_refused(case: dict[str, Any], given: Any) -> None:
    """A4: the text spells one, in an id or a content."""
    assert re.search(r"\\u[dD][89a-fA-F]", case["input"])
    assert json.loads(given) == REFUSED


def what_is_no_json_is_refused(case: dict[str, Any], given: Any) -> None:
    """A5: the original let the parser's own error through."""
    assert json.loads(case["expected"]) == {"throws": "SyntaxError"}
    assert json.loads(given) == REFUSED


def none_is_no_input(case: dict[str, Any], given: Any) -> None:
    """A6: None is the call without argument."""
    assert case["input"] is None
    assert given == replay("agent_state/create", UNDEFINED)


CHECKS: dict[str, Callable[[dict[str, Any], Any], None]] = {
    check.__name__: check
    for check in (
        a_lone_surrogate_is_refused,
        nesting_is_bounded,
        none_is_no_input,
        the_message_escapes_the_id,
        the_snapshot_is_checked,
        what_is_no_json_is_refused,
    )
}
DEVIATING = load_deviations(FOLDER)
CASES = [(kind, case) for kind in kinds(FOLDER) for case in load(kind)]


@pytest.mark.parametrize(("kind", "case"), CASES, ids=[f"{kind}-{case['name']}" for kind, case in CASES])
def test_it_does_what_the_original_did(kind: str, case: dict[str, Any]) -> None:
    given = replay(kind, case["input"])
    alike = as_text(given) == as_text(case["expected"])
    check = DEVIATING.get((kind, case["name"]))
    if check is None:
        assert as_text(given) == as_text(case["expected"])
    else:
        assert not alike, "listed as a deviation, but it is none"
        CHECKS[check](case, given)


def test_every_recording_is_replayed_and_every_deviation_exists() -> None:
    assert recorded(FOLDER) == set(kinds(FOLDER))
    assert DEVIATING.keys() <= {(kind, case["name"]) for kind, case in CASES}
    assert len({(kind, case["name"]) for kind, case in CASES}) == len(CASES)
    assert set(DEVIATING.values()) <= CHECKS.keys()


@pytest.mark.parametrize("levels", [201, 5_000])
def test_nesting_beyond_the_limit_is_refused_in_an_unknown_field_that_the_original_drops(levels: int) -> None:
    """A3: no recorded case differs."""
    text = f'{{"schemaVersion":1,"workItems":[],"decisions":[],"x":{"[" * levels}{"]" * levels}}}'
    nesting_is_bounded({"input": text}, replay("agent_state/restore_text", text))
