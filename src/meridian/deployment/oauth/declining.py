"""What a client is told where it is not given what it asked for: the standards' word for it, and a sentence."""

from __future__ import annotations

__all__ = ["Declined"]


class Declined(Exception):
    """A no to a client: `error` is the standards' word, `said` a sentence for whoever reads its log."""

    def __init__(self, error: str, said: str, *, status_code: int = 400) -> None:
        self.error = error
        self.said = said
        self.status_code = status_code
        super().__init__(f"{error}: {said}")
