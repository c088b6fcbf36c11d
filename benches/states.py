"""Task states of three sizes, the same in every run: what an agent that reviews documents leaves behind."""

from __future__ import annotations

import random
from typing import Any

_WORDS = (
    "offer delivery warranty price net gross within weeks after receipt of order subject to availability the supplier "
    "confirms that all parts are new and tested on site support is included for the first year payment due after "
    "acceptance no penalty clause was found see annex two for details total differs from the sum of items"
).split()
FOREIGN = (
    "Lieferzeit beträgt höchstens fünf Wochen — frei Haus",
    "見積書の合計金額は税抜きで表示されています",
    "Garantie prolongée à 36 mois, pièces et main-d'œuvre",
    "checked twice ✅ and signed 🖊",
)


def sentence(rng: random.Random, words: int) -> str:
    return " ".join(rng.choice(_WORDS) for _ in range(words))


def _document(rng: random.Random, number: int) -> dict[str, Any]:
    """The findings on one document: short strings for the most part, one summary, a few numbers and lists."""
    summary = sentence(rng, rng.randrange(12, 36)).capitalize() + "."
    if number % 5 == 3:
        summary = f"{summary} {rng.choice(FOREIGN)}"
    if number % 4 == 1:
        summary = f'{summary}\nQuote: "{sentence(rng, 5)}"'
    return {
        "status": rng.choice(("done", "done", "done", "needs-review")),
        "supplier": f"Supplier {number:04d} Ltd",
        "summary": summary,
        "price": {"amount": rng.randrange(10_000, 9_000_000) / 100, "currency": rng.choice(("EUR", "USD", "CHF"))},
        "delivery_days": rng.choice((14, 21, 30, 45, None)),
        "warranty_months": rng.choice((12, 24, 36)),
        "binding": rng.random() < 0.7,
        "pages": [rng.randrange(1, 40) for _ in range(rng.randrange(1, 5))],
        "tags": rng.sample(_WORDS[:12], 3),
        "confidence": round(rng.random(), 3),
        "items": [
            {
                "sku": f"P-{rng.randrange(10**6):06d}",
                "quantity": rng.randrange(1, 200),
                "unit": rng.randrange(400) / 4,
            }
            for _ in range(rng.randrange(0, 4))
        ],
    }


def task_state(documents: int, checkpoints: int) -> dict[str, Any]:
    """The state after so many documents; every string is an object of its own, as after a load from storage."""
    rng = random.Random(documents)
    return {
        "checkpoints": [
            {"timestamp": 1_760_000_000_000 + 61_700 * turn, "depth": turn % 7 // 5} for turn in range(checkpoints)
        ],
        "files": [f"out/reviews/2025-10/supplier-{number:04d}.md" for number in range(documents)],
        "data": {f"review/supplier-{number:04d}": _document(rng, number) for number in range(documents)},
    }


STATES = {"small": task_state(1, 12), "typical": task_state(11, 24), "large": task_state(380, 50)}
"""About 1, 7 and 200 KB of compact JSON."""


def huge() -> dict[str, Any]:
    """About 10 MB of compact JSON."""
    return task_state(19_000, 50)
