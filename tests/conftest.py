"""What all tests share: nothing may be skipped unseen."""

from __future__ import annotations

pytest_plugins = ["plugins.no_silent_skip", "postgres.fixtures"]
