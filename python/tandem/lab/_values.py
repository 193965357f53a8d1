# SPDX-License-Identifier: MIT
"""Values of options as the library reads them, and numbers that must be in a range."""

from __future__ import annotations

import math
import numbers
from typing import Any


def text(value: Any, name: str) -> str:
    """0.1 -> "0.1"; True -> "true"; a schedule, which is text, as it is."""
    if isinstance(value, str):
        return value
    if hasattr(value, "item") and getattr(value, "ndim", 0) == 0:
        value = value.item()  # a scalar of numpy
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, numbers.Integral):
        return str(int(value))
    if isinstance(value, numbers.Real):
        if not math.isfinite(value):
            raise ValueError(f"{name} must be finite, got {value!r}")
        short = repr(float(value))
        return short[:-2] if short.endswith(".0") else short
    raise TypeError(f"{name} must be a number, a truth value or text, got {type(value).__name__}")


def count(value: Any, name: str, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} must be an instance of int, not {type(value).__name__}.")
    if value < least:
        raise ValueError(f"{name} == {value}, must be >= {least}.")
    return int(value)


def number(value: Any, name: str, least: float = 0.0, finite: bool = True) -> float:
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be an instance of float, not {type(value).__name__}.")
    found = float(value)
    if not found >= least or (finite and math.isinf(found)):
        raise ValueError(f"{name} == {value}, must be >= {least}{' and finite' if finite else ''}.")
    return found


def choice(value: Any, name: str, known: tuple[str, ...]) -> str:
    if value not in known:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, known))}, got {value!r}")
    return str(value)


def threads(wanted: int | None, work: float) -> int:
    """What the library is told: 0 is as many as there are. Where there is little work between two
    points at which threads wait for each other (in multiply-adds), one is faster than many.
    """
    if wanted is not None:
        return count(wanted, "n_threads", 1)
    return 1 if work < 2e5 else 0
