from __future__ import annotations

import re
import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from taskstate.storage.filenames import file_name, is_hashed, key_of
from taskstate.testing.samples import KEYS

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
RESERVED = {"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))}


def as_a_file_system_may_see_it(name: str) -> str:
    """Whatever case and Unicode form a file system folds, and without the dots and spaces that Windows drops."""
    return unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", name).casefold()).rstrip(". ")


def test_the_names_of_different_keys_differ_on_every_file_system() -> None:
    assert len({as_a_file_system_may_see_it(file_name(key)) for key in KEYS}) == len(KEYS)


@given(TEXT, TEXT)
def test_the_names_of_any_two_keys_differ(one: str, other: str) -> None:
    same = as_a_file_system_may_see_it(file_name(one)) == as_a_file_system_may_see_it(file_name(other))
    assert same == (one == other)


@given(TEXT | st.sampled_from(KEYS))
def test_every_name_is_allowed_everywhere_and_leads_back_to_its_key(key: str) -> None:
    name = file_name(key)
    assert re.fullmatch(r"[kh]-[a-z0-9.%-]*\.json", name)
    assert len(name) <= 140
    assert name.split(".")[0] not in RESERVED
    assert (key_of(name) == key) != is_hashed(name)


def test_ordinary_keys_stay_readable() -> None:
    assert file_name("layers/task-state/review-22/state") == "k-layers%2ftask-state%2freview-22%2fstate.json"
    assert file_name("A") == "k-%41.json"
    assert file_name("") == "k-.json"


def test_only_the_name_that_a_key_would_get_is_a_record() -> None:
    for name in (
        "",
        ".lock",
        "notes.txt",
        "k-a",
        "a.json",
        "k-A.json",
        "k-%61.json",
        "k-%2F.json",
        "k-%ff.json",
        "k-%.json",
    ):
        assert key_of(name) is None, name
    assert key_of("k-" + "a" * 200 + ".json") is None
