# SPDX-License-Identifier: MIT
"""The options of the optimizers: what values they may have, and how C++ reads them."""

from __future__ import annotations

import math
import numbers
from typing import Any, Callable

from ._rules import RULES, Option

#: Checks a value; gives it as the library reads it.
Reader = Callable[[Any], str]


def _number(what: str, most: float = math.inf) -> Reader:
    """A number from 0; below `most` where that is finite. Worded as torch's optimizers do."""

    def read(value: Any) -> str:
        try:
            number = float(value)
        except (TypeError, ValueError, RuntimeError):  # of torch: on no device that has values
            raise TypeError(f"{what} must be a number, but got {type(value).__name__}") from None
        if not 0.0 <= number < most:
            raise ValueError(f"Invalid {what}: {number}")
        return repr(number)

    return read


def _rate(what: str) -> Reader:
    """A number, a tensor with one, or a schedule as text: "0.1*0.95^epoch"."""
    number = _number(what)

    def read(value: Any) -> str:
        if not isinstance(value, str):
            return number(value)
        from ._core import schedule_value

        try:
            schedule_value(value, 1, 0)
        except ValueError as error:
            raise ValueError(f"{what} must be a number or a schedule, but got {error}") from None
        return value

    return read


def _pair(value: Any) -> str:
    try:
        first, second = value
    except (TypeError, ValueError):
        raise TypeError(f"betas must be a tuple of two numbers, but got {value!r}") from None
    texts = [
        _number(f"beta parameter at index {i}", 1.0)(beta) for i, beta in enumerate((first, second))
    ]
    return ",".join(texts)


def _flag(name: str) -> Reader:
    def read(value: Any) -> str:
        if not isinstance(value, (bool, numbers.Integral)) or value not in (0, 1):
            raise TypeError(f"{name} must be a bool, but got {value!r}")
        return "true" if value else "false"

    return read


def _count(name: str, least: int = 0) -> Reader:
    def read(value: Any) -> str:
        if isinstance(value, bool) or not isinstance(value, numbers.Integral):
            raise TypeError(f"{name} must be an int, but got {type(value).__name__}")
        count = int(value)
        if not least <= count < 2**64:
            raise ValueError(f"Invalid {name} value: {count}")
        return str(count)

    return read


def _choice(name: str, *choices: str) -> Reader:
    def read(value: Any) -> str:
        if value not in choices:
            raise ValueError(f"Invalid {name} value: {value!r}, expected one of {choices}")
        return str(value)

    return read


# As torch words it.
_WORDS = {"lr": "learning rate", "eps": "epsilon value"}
#: Options that every class has and the library does not.
OF_ALL: dict[str, Reader] = {
    "maximize": _flag("maximize"),
    "backend": _choice("backend", "auto", "fused", "foreach"),
    "capturable": _flag("capturable"),
    "stochastic_rounding": _flag("stochastic_rounding"),
    "seed": _count("seed"),
}


def _reader(name: str, option: Option) -> Reader:
    """Of an option as it was declared."""
    if option.kind == "pair":
        return _pair
    if option.kind == "flag":
        return _flag(name)
    if option.kind == "count":
        return _count(name, 1 if option.range == ">= 1" else 0)
    if option.kind == "choice":
        return _choice(name, *option.choices)
    what = _WORDS.get(name, f"{name} value")
    if option.kind == "rate":
        return _rate(what)
    return _number(what, 1.0 if option.range == ">= 0, < 1" else math.inf)


READERS: dict[str, dict[str, Reader]] = {
    rule: {**OF_ALL, **{name: _reader(name, option) for name, option in facts.options.items()}}
    for rule, facts in RULES.items()
}

#: What schedulers move, and what the library calls it.
RATES: dict[str, dict[str, str]] = {
    rule: {
        name: option.core
        for name, option in facts.options.items()
        if option.kind == "rate" or name in ("weight_decay", "l2")
    }
    for rule, facts in RULES.items()
}


def check(rule: str, group: dict[str, Any]) -> dict[str, str]:
    """The options of a parameter group as texts. Raises TypeError and ValueError for those that
    cannot be. Tensors of a group that is captured are not looked into."""
    captured = bool(group.get("capturable"))
    texts: dict[str, str] = {}
    for name, read in READERS[rule].items():
        value = group[name]
        if not (captured and hasattr(value, "numel")):
            texts[name] = read(value)
        elif value.numel() == 1:
            texts[name] = "0"
        else:
            raise TypeError(f"{name} must be a number, but got a tensor with {value.numel()} elements")
    return texts


def core_options(rule: str, texts: dict[str, str]) -> dict[str, str]:
    """The same as the library calls them."""
    core: dict[str, str] = {}
    for name, option in RULES[rule].options.items():
        if option.core:
            core.update(zip(option.core.split(","), texts[name].split(",")))
    return core
