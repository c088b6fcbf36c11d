"""Secrets: what is found, what isn't, and that nothing which is refused can be read in the refusal."""

from __future__ import annotations

import copy
import json
import pickle
import re
import time
import traceback
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from taskstate.errors import ConfigurationError, TaskStateError
from taskstate.restart.detectors import names_secret
from taskstate.restart.secrets import (
    DETECTORS,
    REDACTED,
    Detector,
    SecretError,
    find_secrets,
    guard,
    redact_secrets,
    redact_text,
)

pytestmark = pytest.mark.once

# Put together here, so that no scanner takes this file for a leak.
LONG = "a1B2c3D4e5" * 4
SECRETS = {
    "PEM": "-----BEGIN RSA PRIV" + "ATE KEY-----\nMIIEow\nIBAAK\n-----END RSA PRIV" + "ATE KEY-----",
    "PEM cut off": "-----BEGIN PRIV" + "ATE KEY-----\nMIIEow",
    "AWS": "AKIA" + "IOSFODNN7EXAMPLE",
    "GitHub": "ghp_" + LONG[:36],
    "GitHub, fine": "github_pat_" + LONG[:30],
    "GitLab": "glpat-" + LONG[:20],
    "Slack": "xoxb-" + "123456789012-abcdef",
    "JWT": "eyJ" + "hbGciOiJIUzI1NiJ9.eyJ" + "zdWIiOiIxIn0.c2lnbmF0dXJl",
    "model provider": "sk-" + "ant-api03-" + LONG[:30],
    "Stripe": "sk_" + "live_" + LONG[:24],
    "Google": "AIza" + LONG[:35],
    "npm": "npm_" + LONG[:36],
    "SendGrid": "SG." + LONG[:22] + "." + LONG[:30],
    "Hugging Face": "hf_" + LONG[:34],
}
IN_TEXT = {
    "curl -H 'Authorization: Bearer {}' host": "abcdefg",
    "Authorization: Basic {}": "dXNlcjpwYXNz",
    "sent bearer {} along": "abcdef0123456789",
    "postgres://app:{}@db.test/x": "hunter2",
    "psql password={} dbname=x": "swordfish",
    'config {{"password": "{}"}}': "x",
    "password: {}": "hunter2",
    "deploy --password {} now": "swordfish",
    "deploy --api-key={} now": "swordfish",
    "deploy --github-token {} now": "swordfish",
    "OPENAI_API_KEY={}": "abcd1234efgh",
    "export AWS_SECRET_ACCESS_KEY={}": "wJalrXUtnFEMI7K7MDENG",
    "token: {}": "0123456789abcdef",
    "https://hooks.slack.com/services/{}": "T00000000/B00000000/" + "X1" * 10,
}
HARMLESS = [
    "",
    "plain words",
    "the tokenizer counts tokens: 4096",
    "max_tokens=4096",
    "token = parser.next2(state)",
    "password: must be at least eight characters long",
    "the password is reset by mail",
    "run with --token $TOKEN or --password <password>",
    "password=${DB_PASSWORD}",
    "task-0123456789-extract-abcdefgh",
    "risk-assessment-2024-supplier-review-b",
    "basic understanding-of-the-requirements",
    "https://example.test:8443/a@b",
    "https://user@example.test/x",
    "a" * 64,
    "0123456789abcdef" * 4,
    "3f2504e0-4f89-11d3-9a0c-0305e82c3301",
    "sha256:" + "9" * 64,
    "python -m pytest tests/test_token.py -k secret",
    "Bearer token is sent by the client",
]


@pytest.mark.parametrize("kind", SECRETS)
def test_known_credentials_are_found_and_taken_out_of_the_text_around_them(kind: str) -> None:
    for text in (SECRETS[kind], f"before {SECRETS[kind]}"):
        data = {"decisions": [{"id": "D1", "text": text}]}
        assert find_secrets(data) == ["decisions[0].text"]
        cleaned = redact_secrets(data)
        assert cleaned["decisions"][0]["text"] == text.replace(SECRETS[kind], REDACTED)
        assert find_secrets(cleaned) == []


@pytest.mark.parametrize("text", IN_TEXT)
def test_a_credential_in_a_command_or_a_setting_is_taken_out_and_the_rest_stays(text: str) -> None:
    whole = text.format(IN_TEXT[text])
    assert find_secrets([whole]) == ["[0]"]
    assert redact_text(whole) == text.format(REDACTED)


@pytest.mark.parametrize("text", HARMLESS)
def test_hashes_ids_prose_and_references_to_a_secret_are_none(text: str) -> None:
    assert find_secrets({"text": text}) == []
    assert redact_secrets({"text": text}) == {"text": text}


@pytest.mark.parametrize(
    "key",
    "password db_password DB_PASSWORD apiKey api-key X-Api-Key githubToken secret client_secret password2".split(),
)
def test_a_key_can_say_that_its_value_is_a_secret(key: str) -> None:
    assert names_secret(key)
    for value in ("x", "two words", 1234, 1.5):
        assert find_secrets({"env": {key: value}})
        assert redact_secrets({"env": {key: value}}) == {"env": {key: REDACTED}}
    nested = {key: {"user": "u", "parts": ["v", 7]}}
    assert redact_secrets(nested) == {key: {"user": REDACTED, "parts": [REDACTED, REDACTED]}}
    for value in (None, True, "", REDACTED):
        assert find_secrets({key: value}) == []


@pytest.mark.parametrize("key", "idempotency_key request_hash max_tokens next_page_token tokens key sha256 Key".split())
def test_other_keys_say_nothing(key: str) -> None:
    assert not names_secret(key)
    assert find_secrets({key: "value"}) == []


def test_ids_of_a_restart_record_say_nothing_but_their_values_do() -> None:
    record: dict[str, Any] = {
        "schemaVersion": 1,
        "task_id": "t",
        "objective": {"text": "x", "scope": {"kind": "named", "versions": {"token": "v7"}}},
        "criteria": {"items": {"password": "A user can reset it", "secret": "hunter2"}},
        "artifacts": {"extract-token": {"location": "a", "made_from": {"sources": {"secret": 3}}}},
    }
    assert find_secrets(record) == ["criteria.items.secret"]
    record["artifacts"]["extract-token"]["location"] = "https://u:hunter2@host/a"
    assert find_secrets(record) == ["criteria.items.secret", "artifacts.extract-token.location"]


def test_a_value_typed_as_secret_is_one() -> None:
    data = {"value": SecretStr("hunter2")}
    assert find_secrets(data) == ["value"]
    assert redact_secrets(data) == {"value": REDACTED}


def test_a_key_that_is_a_secret_is_found_and_not_shown_in_its_path() -> None:
    data = {"sources": {SECRETS["GitHub"]: {"version": 1}}}
    assert find_secrets(data) == [f'sources["{REDACTED}"]']
    assert redact_secrets(data) == {"sources": {REDACTED: {"version": 1}}}
    two = {SECRETS["GitHub"]: 1, SECRETS["Slack"]: 2}
    with pytest.raises(SecretError) as caught:
        redact_secrets(two)
    assert not any(secret in str(caught.value) for secret in two)


def test_a_refusal_never_holds_the_value() -> None:
    data = {"a": {SECRETS["GitHub"]: SECRETS["Stripe"]}, "password": "hunter2", "b": [SECRETS["PEM"]]}
    before = copy.deepcopy(data)
    with pytest.raises(SecretError) as caught:
        guard(data)
    error = caught.value
    assert isinstance(error, TaskStateError)
    assert error.paths == (f'a["{REDACTED}"]', "password", "b[0]")
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.paths, again.code) == (str(error), error.paths, "secret")
    for shown in (str(error), repr(error), "".join(traceback.format_exception(error)), repr(vars(error))):
        assert not any(secret in shown for secret in (SECRETS["GitHub"], SECRETS["Stripe"], "hunter2", "MIIEow"))
    assert data == before


def test_guard_gives_clean_data_as_it_is_and_redacts_a_copy() -> None:
    clean = {"a": ["b", 1]}
    assert guard(clean, "refuse") is clean
    dirty = {"password": "hunter2", "n": 1}
    assert guard(dirty, "redact") == {"password": REDACTED, "n": 1}
    assert dirty["password"] == "hunter2"
    with pytest.raises(ConfigurationError):
        guard(clean, "ignore")  # type: ignore[arg-type]


def test_many_places_are_counted_and_not_all_listed() -> None:
    error = SecretError([f"a[{n}]" for n in range(25)])
    assert str(error).endswith("a[9] and 15 more: looks like a secret")


def test_an_application_adds_detectors_of_its_own() -> None:
    own = (*DETECTORS, Detector("badge", re.compile(r"BADGE-(?P<secret>\d{4})")))
    assert find_secrets(["BADGE-1234"]) == []
    assert guard(["of BADGE-1234", SECRETS["AWS"]], "redact", own) == [f"of BADGE-{REDACTED}", REDACTED]


def test_what_is_redacted_stays_as_it_is_in_any_mix() -> None:
    parts = [*SECRETS.values(), *(text.format(value) for text, value in IN_TEXT.items())]
    whole = "\n".join(part for part in parts if "PRIVATE" not in part)
    cleaned = redact_text(whole)
    assert redact_text(cleaned) == cleaned
    assert not any(value in cleaned for kind, value in SECRETS.items() if "PEM" not in kind)


@pytest.mark.parametrize("change", [str, str.upper, str.lower, str.title])
def test_no_hint_keeps_a_text_from_being_searched_that_holds_a_secret(change: Any) -> None:
    thorough = tuple(detector._replace(hints=()) for detector in DETECTORS)
    for text in (*SECRETS.values(), *(text.format(value) for text, value in IN_TEXT.items()), *HARMLESS):
        assert redact_text(change(text)) == redact_text(change(text), thorough)


json_data = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text("ab:=\"' @/-.1password", max_size=30),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "token", "b"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(json_data)
def test_redaction_leaves_nothing_to_find_and_is_stable(data: Any) -> None:
    cleaned = redact_secrets(data)
    assert find_secrets(cleaned) == []
    assert redact_secrets(cleaned) == cleaned
    assert (cleaned == json.loads(json.dumps(data))) == (find_secrets(data) == [])


HOSTILE = [
    ("a", 200_000),
    ("password", 20_000),
    ("eyJ", 60_000),
    ("://", 60_000),
    ("-----BEGIN PRIVATE KEY-----", 5_000),
]
HOSTILE += [("--token-", 20_000), ("sk-", 60_000), ("token=a", 30_000), ("bearer ", 30_000), (" ", 200_000)]


@pytest.mark.parametrize("text", [part * times for part, times in HOSTILE])
def test_long_hostile_texts_take_little_time(text: str) -> None:
    start = time.perf_counter()
    redact_text(text)
    assert time.perf_counter() - start < 5
