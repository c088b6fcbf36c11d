"""The arguments of the task-state functions."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from pydantic import ValidationError

from taskstate.layer.schemas import RecordArtifact, SetTaskData


class Text(str):
    __slots__ = ()


@pytest.mark.parametrize("path", ["", 7, None, b"x", ["x"], Text("x")], ids=repr)
def test_a_path_is_a_plain_text_of_at_least_one_character(path: Any) -> None:
    with pytest.raises(ValidationError):
        RecordArtifact.model_validate({"path": path})
    assert RecordArtifact.model_validate({"path": " "}).path == " "


def test_a_key_needs_a_value_which_may_be_null() -> None:
    with pytest.raises(ValidationError):
        SetTaskData.model_validate({"key": "k"})
    assert SetTaskData.model_validate({"key": "k", "value": None}).value is None


def test_a_value_is_handed_on_as_it_is() -> None:
    value = {"a": (1, {"b": object()})}
    assert SetTaskData.model_validate({"key": "k", "value": value}).value is value


def test_what_a_model_adds_is_ignored() -> None:
    assert RecordArtifact.model_validate({"path": "x", "reason": "y"}).model_dump() == {"path": "x"}


def test_pydantic_is_loaded_only_when_a_function_is_used() -> None:
    program = "import sys, taskstate, taskstate.harness, taskstate.storage; print('pydantic' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "False\n"
