# SPDX-License-Identifier: MIT
"""The options of the optimizers: what values they may have, and how C++ reads them."""

from __future__ import annotations

import math
import numbers
from typing import Any, Callable

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


TO_TEXT: dict[str, ToText] = {
    "lr": _number("learning rate"),
    "alpha": _number("alpha value"),
    "beta": _number("beta value"),
    "weight_decay": _number("weight_decay value"),
    "l2": _number("l2 value"),
    "eps": _number("epsilon value"),
    "betas": _pair,
    "beta2": _number("beta2 value", 1.0),
    "momentum": _number("momentum value", 1.0),
    "initial_accumulator_value": _number("initial_accumulator_value value"),
    "normalize": _flag("normalize"),
    "normalize_eps": _number("normalize_eps value"),
    "schedule_all": _flag("schedule_all"),
    "first_lr": _number("learning rate"),
    "block": _count("block", 1),
    "memory_limit": _count("memory_limit", 1),
    "seed": _count("seed"),
    "stochastic_rounding": _flag("stochastic_rounding"),
    "scope": _choice("scope", "whole", "group", "tensor"),
    "on_nonfinite": _choice("on_nonfinite", "raise", "skip", "ignore"),
}
FORMS = {
    "full-to": _choice("form", "automatic", "dense", "span"),
    "momentum": _choice("form", "ema", "torch"),
}
ALL = {*TO_TEXT, "form"}


def texts(rule: str, names: tuple[str, ...], group: dict[str, Any]) -> dict[str, str]:
    """The options of a parameter group as the native optimizer takes them. Raises TypeError and
    ValueError for those that cannot be."""
    return {
        name: (FORMS[rule] if name == "form" else TO_TEXT[name])(group[name]) for name in names
    }
