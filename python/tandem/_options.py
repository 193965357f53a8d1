# SPDX-License-Identifier: MIT
"""The options of the optimizers: what values they may have, and how C++ reads them."""

from __future__ import annotations

import math
import numbers
from typing import Any, Callable

from ._rules import RULES

ToText = Callable[[Any], str]


def _number(what: str, most: float = math.inf) -> ToText:
    """A number from 0; below `most` where that is finite. Worded as torch's optimizers do."""

    def to_text(value: Any) -> str:
        try:
            number = float(value)
        except (TypeError, ValueError):
            raise TypeError(f"{what} must be a number, but got {type(value).__name__}") from None
        if not 0.0 <= number < most:
            raise ValueError(f"Invalid {what}: {number}")
        return repr(number)

    return to_text


def _pair(value: Any) -> str:
    try:
        first, second = value
    except (TypeError, ValueError):
        raise TypeError(f"betas must be a tuple of two numbers, but got {value!r}") from None
    texts = [
        _number(f"beta parameter at index {i}", 1.0)(beta) for i, beta in enumerate((first, second))
    ]
    return ",".join(texts)


def _flag(name: str) -> ToText:
    def to_text(value: Any) -> str:
        if not isinstance(value, (bool, numbers.Integral)) or value not in (0, 1):
            raise TypeError(f"{name} must be a bool, but got {value!r}")
        return "true" if value else "false"

    return to_text


def _count(name: str, least: int = 0) -> ToText:
    def to_text(value: Any) -> str:
        if isinstance(value, bool) or not isinstance(value, numbers.Integral):
            raise TypeError(f"{name} must be an int, but got {type(value).__name__}")
        count = int(value)
        if not least <= count < 2**64:
            raise ValueError(f"Invalid {name} value: {count}")
        return str(count)

    return to_text


def _choice(name: str, *choices: str) -> ToText:
    def to_text(value: Any) -> str:
        if value not in choices:
            raise ValueError(f"Invalid {name} value: {value!r}, expected one of {choices}")
        return str(value)

    return to_text


# As torch words it.
_WORDS = {"lr": "learning rate", "eps": "epsilon value"}
_OF_ALL: dict[str, ToText] = {
    "first_lr": _number("learning rate"),
    "stochastic_rounding": _flag("stochastic_rounding"),
    "seed": _count("seed"),
}


def _reader(name: str, kind: str, *more: str) -> ToText:
    """Of an option as it was declared."""
    if kind == "pair":
        return _pair
    if kind == "flag":
        return _flag(name)
    if kind == "count":
        return _count(name, 1 if more == (">= 1",) else 0)
    if kind == "choice":
        return _choice(name, *more)
    return _number(_WORDS.get(name, f"{name} value"), 1.0 if more == (">= 0, < 1",) else math.inf)


READERS: dict[str, dict[str, ToText]] = {
    rule: {**_OF_ALL, **{name: _reader(name, *kind) for name, kind in facts.options.items()}}
    for rule, facts in RULES.items()
}

#: What schedulers move.
RATES: dict[str, frozenset[str]] = {
    rule: frozenset(
        ("lr", "weight_decay") + (("alpha", "beta", "l2") if facts.weights_per_estimate else ())
    )
    for rule, facts in RULES.items()
}


def texts(rule: str, names: tuple[str, ...], group: dict[str, Any]) -> dict[str, str]:
    """The options of a parameter group as the native optimizer takes them. Raises TypeError and
    ValueError for those that cannot be."""
    return {name: READERS[rule][name](group[name]) for name in names}
