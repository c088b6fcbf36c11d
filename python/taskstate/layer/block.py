"""What the layers that show a block within a token budget share."""

from __future__ import annotations

from typing import Any

from .. import core
from ..errors import ConfigurationError
from ..types import JSON, Message
from .context import ContextLayer


class BlockLayer(ContextLayer):
    """A layer that shows its state as one message: `role` is that of the message, `count_tokens` counts its tokens."""

    def __init__(self, id: str, *, count_tokens: core.CountTokens | None, role: str, **options: Any) -> None:
        super().__init__(id, **options)
        if not isinstance(role, str) or not role:
            raise ConfigurationError(f"layer {id}: role is a str of at least one character")
        if count_tokens is not None and not callable(count_tokens):
            raise ConfigurationError(f"layer {id}: count_tokens can't be called")
        self.count_tokens = count_tokens
        self.role = role

    def _shown(self, text: str, tokens: int) -> dict[str, JSON]:
        """What `recall` gives for a block of so many tokens."""
        message: Message = {"role": self.role, "content": text}
        return {"items": [message], "token_count": tokens}
