from __future__ import annotations

import profiles  # noqa: F401  (loads the Hypothesis profile)
