"""Hypothesis profiles: `HYPOTHESIS_PROFILE` is `dev` (the default), `ci` or `thorough`."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

_EXAMPLES = {"dev": 25, "ci": 300, "thorough": 5_000}

for _name, _examples in _EXAMPLES.items():
    settings.register_profile(
        _name,
        max_examples=_examples,
        deadline=None,  # the machine may be busy
        print_blob=True,
        suppress_health_check=[HealthCheck.too_slow],
    )
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))
