"""What a secret looks like: the documented list of patterns and of names.

There is no guess by entropy: hashes, ids and versions are what a restart record is made of. What a list like this
one doesn't know it lets through, so an application adds detectors for credentials of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

REDACTED = "[redacted]"
"""What stands in the place of a secret."""


class Detector(NamedTuple):
    """A kind of secret, and the pattern that finds it; the group `secret` is what is replaced, or the whole match.

    Only a text that holds one of the `hints`, in whatever case, is searched; without hints every text is.
    """

    name: str
    pattern: re.Pattern[str]
    hints: tuple[str, ...] = ()


# A value that refers to a secret ($TOKEN, <token>, ***) or that was redacted already is none.
_NO_REFERENCE = r"(?![$<%{*\[])"


def _value(least: int) -> str:
    """A value that may be any word."""
    return rf"(?P<secret>{_NO_REFERENCE}[^\s\"',;&<>]{{{least},}})"


def _mixed(least: int) -> str:
    """A value with a digit in it, and no call of a function: where any word would be found in prose."""
    word = r"A-Za-z0-9_./+=~-"
    return rf"(?P<secret>(?=[A-Za-z_./+-]{{0,200}}[0-9]){_NO_REFERENCE}[{word}]{{{least},400}}+(?![(]))"


_PEM = r"[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_PASSWORD = r"(?:password|passwd|passphrase|pwd)"  # noqa: S105 - a pattern
_PASSWORD_HINTS = "passw|passphrase|pwd"  # noqa: S105 - as above
_KEY_HINTS = "secret|token|key|credential"
_KEY = r"(?:secret|token|api[_-]?key|access[_-]?key|private[_-]?key|account[_-]?key|secret[_-]?key|credentials?)"

DETECTORS: tuple[Detector, ...] = tuple(
    Detector(name, re.compile(pattern), tuple(hints.split("|")))
    for name, hints, pattern in (
        # PEM and PGP: with its end cut off, all that follows.
        ("private key", "private key", rf"-----BEGIN {_PEM}(?s:.*?)(?:-----END {_PEM}|\Z)"),
        # With its beginning cut off: all the lines before.
        ("private key", "private key", rf"(?m:^)(?:[A-Za-z0-9+/=]{{1,100}}\r?\n){{1,400}}+-----END {_PEM}"),
        (
            "AWS access key",
            "akia|asia|abia|acca",
            r"(?<![A-Za-z0-9])(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])",
        ),
        (
            "GitHub token",
            "ghp_|gho_|ghu_|ghs_|ghr_|github_pat_",
            r"(?<![A-Za-z0-9])(?:gh[opsur]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{22,})",
        ),
        (
            "GitLab token",
            "glpat-|gldt-|glrt-|glptt-|glcbt-|glft-",
            r"(?<![A-Za-z0-9])gl(?:pat|dt|rt|ptt|cbt|ft)-[A-Za-z0-9_-]{20,}",
        ),
        ("Slack token", "xox|xapp-", r"(?<![A-Za-z0-9])(?:xox[a-z]|xapp)-[A-Za-z0-9-]{10,}"),
        (
            "Slack webhook",
            "hooks.slack.com/",
            r"hooks\.slack\.com/(?:services|workflows)/(?P<secret>[A-Za-z0-9/_-]{20,})",
        ),
        ("JSON web token", "eyj", r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]*"),
        ("model provider key", "sk-", r"(?<![A-Za-z0-9])sk-(?=[A-Za-z_-]{0,200}[0-9])[A-Za-z0-9_-]{20,}"),
        ("Stripe key", "k_live_|k_test_|whsec_", r"(?<![A-Za-z0-9])(?:[rs]k_(?:live|test)_|whsec_)[A-Za-z0-9+/=]{16,}"),
        (
            "Google key",
            "aiza|ya29.|gocspx-",
            r"(?<![A-Za-z0-9])(?:AIza[A-Za-z0-9_-]{35}|ya29\.[A-Za-z0-9_-]{20,}|GOCSPX-[A-Za-z0-9_-]{20,})",
        ),
        ("package registry token", "npm_|pypi-", r"(?<![A-Za-z0-9])(?:npm_[A-Za-z0-9]{36}|pypi-[A-Za-z0-9_-]{50,})"),
        ("SendGrid key", "sg.", r"(?<![A-Za-z0-9])SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
        ("Hugging Face token", "hf_", r"(?<![A-Za-z0-9])hf_[A-Za-z0-9]{30,}"),
        # The password between the user's name and the host.
        ("password in a URL", "://", r"://[^\s/?#:@]{0,200}:(?P<secret>(?!\[)[^\s/?#@]{1,200})@"),
        (
            "authorization header",
            "authorization",
            r"(?i:authorization[\"']?\s{0,3}[:=]\s{0,3}[\"']?\w{2,20}\s{1,3})" + _value(4),
        ),
        ("bearer token", "bearer", r"(?i:\bbearer\s{1,3})" + _mixed(16)),
        # In a text or a command: password=..., "password": "...", --password ..., PASSWORD: ...
        ("password", _PASSWORD_HINTS, rf"(?i:{_PASSWORD}[\"']?\s{{0,3}}=\s{{0,3}}[\"']?)" + _value(4)),
        ("password", _PASSWORD_HINTS, rf"(?i:{_PASSWORD}[\"']?\s{{0,3}}:\s{{0,3}}[\"']?)" + _mixed(4)),
        ("password", _PASSWORD_HINTS, rf"(?i:{_PASSWORD}[\"']\s{{0,3}}:\s{{0,3}}[\"'])" + _value(1)),
        ("password", _PASSWORD_HINTS, rf"(?i:(?<![\w-])--?{_PASSWORD}\s{{1,3}}[\"']?)(?!-)" + _value(4)),
        ("key or token", _KEY_HINTS, rf"(?i:{_KEY}[\"']?\s{{0,3}}[:=]\s{{0,3}}[\"']?)" + _mixed(8)),
        (
            "key or token",
            _KEY_HINTS,
            rf"(?i:(?<![\w-])--?(?:[a-z]{{1,20}}-){{0,3}}{_KEY}(?:\s{{1,3}}|=)[\"']?)(?!-)" + _value(4),
        ),
    )
)
"""The detectors that are used unless others are given."""

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_NAMES = frozenset(
    "password passwd passphrase pwd secret secrets token apikey credential credentials cookie bearer "
    "accesskey secretkey privatekey accountkey signingkey encryptionkey authkey clientsecret".split()
)
_PAIRS = frozenset({(word, "key") for word in "api access secret private account signing encryption auth".split()})
_NOT_SECRET = frozenset({("page", "token"), ("continuation", "token"), ("cursor", "token"), ("stop", "token")})


def names_secret(key: str) -> bool:
    """Whether the key of a value says that it is a secret: `db_password`, `apiKey`, `GITHUB_TOKEN`."""
    words = [word.lower() for word in _WORDS.findall(key[-200:])]
    while words and words[-1].isdigit():
        words.pop()
    if not words or tuple(words[-2:]) in _NOT_SECRET:
        return False
    return words[-1] in _NAMES or tuple(words[-2:]) in _PAIRS


def spans(text: str, detectors: tuple[Detector, ...]) -> Iterator[tuple[int, int, str]]:
    """Where in a text secrets are: start, end, kind; they may overlap."""
    lowered = text.lower()
    for detector in detectors:
        if detector.hints and not any(hint in lowered for hint in detector.hints):
            continue
        group = "secret" if "secret" in detector.pattern.groupindex else 0
        for found in detector.pattern.finditer(text):
            start, end = found.span(group)
            if end > start and text[start:end] != REDACTED:
                yield start, end, detector.name
