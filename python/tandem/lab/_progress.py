# SPDX-License-Identifier: MIT
"""How far a long call is, on stderr: a bar on a terminal, else a line now and then."""

from __future__ import annotations

import shutil
import sys
import time


class Reporter:
    """Shows how much is done. On a terminal one line that is drawn anew, else a line in 10 s."""

    def __init__(self, wanted: bool) -> None:
        self._terminal = sys.stderr.isatty() if wanted else False
        self._wanted = wanted
        self._last = 0.0 if self._terminal else time.monotonic()
        self._drawn = False

    def show(self, part: float, text: str) -> None:
        now = time.monotonic()
        if not self._wanted or now - self._last < (0.1 if self._terminal else 10):
            return
        self._last = now
        part = min(max(part, 0.0), 1.0)
        if not self._terminal:
            print(f"{100 * part:.0f} % {text}", file=sys.stderr, flush=True)
            return
        bar = "#" * round(20 * part)
        line = f"[{bar:<20}] {100 * part:3.0f} % {text}"
        width = shutil.get_terminal_size().columns - 1
        print(f"\r\x1b[K{line[:width]}", end="", file=sys.stderr, flush=True)
        self._drawn = True

    def finish(self, text: str = "") -> None:
        if self._drawn:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
        if self._wanted and text:
            print(text, file=sys.stderr, flush=True)
