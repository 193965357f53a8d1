# SPDX-License-Identifier: MIT
"""What is kept of a parameter in `optimizer.state`: its keys, types and starting values, and what a state
that is loaded must have. Where torch has the rule the keys are torch's, so that state dicts pass between
its optimizers and ours."""

from __future__ import annotations

import math
from typing import Any, Callable, Optional

import torch
from torch import Tensor

from ._core import StateError
from ._rules import RULES

Group = dict[str, Any]

#: Options of torch's optimizers that say how, not what: they stay as they are here.
IMPLEMENTATION = ("backend", "capturable", "foreach", "fused", "differentiable")


def _momentum_dampening(group: Group) -> Any:
    return group["momentum"] if group["form"] == "ema" else 0.0


#: What torch's optimizers can be told and the rules here cannot: the one value that is the same rule, or a
#: function of the group's options. Groups have these keys too, because torch asks for them.
FIXED: dict[str, dict[str, Any]] = {
    "sgd": {"momentum": 0.0, "dampening": 0.0, "nesterov": False},
    "momentum": {"dampening": _momentum_dampening, "nesterov": False},
    "nesterov": {"dampening": 0.0, "nesterov": True},
    "adagrad": {"lr_decay": 0.0},
    "rmsprop": {"momentum": 0.0, "centered": False},
    "adam": {"amsgrad": False, "decoupled_weight_decay": False},
    "adamw": {"amsgrad": False, "decoupled_weight_decay": True},
    "nadamw": {"decoupled_weight_decay": True},
}


def fixed(rule: str, group: Group) -> dict[str, Any]:
    """The keys of torch's for this group, with the only values that they can have."""
    values = FIXED.get(rule, {})
    return {key: value(group) if callable(value) else value for key, value in values.items()}


def check_fixed(rule: str, group: Group, what: str) -> None:
    """Raises ValueError where a group asks for what the rule is not."""
    for key, value in fixed(rule, group).items():
        found = group.get(key, value)
        if found == value:
            continue
        hint = ""
        if rule == "momentum" and key == "dampening":
            hint = '; form="torch" is torch\'s momentum without dampening'
        raise ValueError(
            f"{what}: {key} is {found!r}, but {RULES[rule].class_name} is torch's rule with "
            f"{key}={value!r} only{hint}"
        )


def array_keys(rule: str) -> dict[str, str]:
    """Arrays shaped like the parameter: the library's name and the key in the state."""
    return {s.name: s.key for s in RULES[rule].state if s.shape == "like_weights"}


def scalar_keys(rule: str) -> dict[str, float]:
    """Numbers that a rule carries for each parameter, and where they start."""
    carried = {s.key: s.initial for s in RULES[rule].state if s.shape == "scalar"}
    return {**carried, "c_known": 0} if rule == "ro-to" else carried


def has_unit(rule: str) -> bool:
    """Whether the state is that of a whole unit (Full-TO, Block-TO), kept at its first parameter."""
    return any(s.shape == "other" for s in RULES[rule].state)


def state_type(parameter: Tensor, group: Group) -> torch.dtype:
    """Of arrays shaped like the parameter."""
    if group.get("state_type", "full") == "bfloat16":
        return torch.bfloat16
    return torch.float64 if parameter.dtype == torch.float64 else torch.float32


def counter(value: float, parameter: Tensor) -> Tensor:
    """A number of a state where steps are captured."""
    return torch.full((), float(value), dtype=torch.float32, device=parameter.device)


def new_state(rule: str, parameter: Tensor, group: Group) -> dict[str, Any]:
    """As before the first step. Arrays lie in memory as the parameter does; a sharded parameter has a
    sharded state."""
    state: dict[str, Any] = {"step": 0, **scalar_keys(rule)}
    if group["capturable"]:
        for key, value in state.items():
            state[key] = counter(value, parameter)
    start = float(group["initial_accumulator_value"]) if rule == "adagrad" else 0.0
    for key in array_keys(rule).values():
        state[key] = torch.full_like(
            parameter.detach(),
            start,
            dtype=state_type(parameter, group),
            memory_format=torch.preserve_format,
        )
    return state


#: torch's SGD, which is all of these, keeps no count.
_NOT_COUNTED = ("sgd", "momentum", "nesterov")

# ---- States that are loaded ----------------------------------------------------------------------


def _count(value: Any, what: str, most: float = math.inf) -> int:
    try:
        number = float(value)
    except (TypeError, ValueError, RuntimeError):
        raise StateError(f"{what} is {type(value).__name__}, expected a number") from None
    if not (number >= 0 and number == int(number) and number <= most):
        raise StateError(f"{what} is {number}, expected a count")
    return int(number)


def _array(value: Any, what: str, parameter: Tensor, group: Group) -> Tensor:
    if not isinstance(value, Tensor):
        raise StateError(f"{what} is {type(value).__name__}, expected a tensor")
    if value.shape != parameter.shape:
        raise StateError(
            f"{what} has shape {list(value.shape)}, expected {list(parameter.shape)}"
        )
    if value.layout != torch.strided or not value.is_floating_point():
        raise StateError(f"{what} is {value.dtype} ({value.layout}), expected dense floats")
    if type(value) is not type(parameter.data) and hasattr(parameter, "device_mesh"):
        raise StateError(f"{what} is a plain tensor, expected one sharded as its parameter")
    wanted = state_type(parameter, group)
    exact = torch.promote_types(value.dtype, wanted) == wanted
    if not exact:
        raise StateError(
            f"{what} is {value.dtype}, which {wanted} cannot hold; the state of this parameter is "
            f"{wanted} here"
        )
    return value.to(device=parameter.device, dtype=wanted)


def _unit(value: Any, what: str, parameter: Tensor) -> dict[str, Any]:
    """Tensors and numbers, and dicts of them. What they mean is checked where they are used."""
    if not isinstance(value, dict):
        raise StateError(f"{what} is {type(value).__name__}, expected a dict")
    unit: dict[str, Any] = {}
    for key, item in value.items():
        if isinstance(item, Tensor):
            unit[key] = item.to(device=parameter.device)
        elif isinstance(item, dict):
            unit[key] = _unit(item, f"{what}.{key}", parameter)
        elif isinstance(item, (int, float)):
            unit[key] = item
        else:
            raise StateError(f"{what}.{key} is {type(item).__name__}, expected a tensor or a number")
    return unit


def loaded_state(
    rule: str, saved: Any, parameter: Tensor, group: Group, name: str
) -> Optional[dict[str, Any]]:
    """A state of this rule, or of torch's counterpart, for a parameter; None for none. Raises StateError
    that names what is missing, unknown or of another shape. Tensors are those that were given, where
    type and device allow it, as with torch."""
    if not isinstance(saved, dict):
        raise StateError(f"{name}: the state is {type(saved).__name__}, expected a dict")
    saved = {key: value for key, value in saved.items() if value is not None}  # torch's SGD
    if not saved:
        return None
    arrays = set(array_keys(rule).values())
    scalars = scalar_keys(rule)
    known = {"step", *arrays, *scalars, *(("unit",) if has_unit(rule) else ())}
    unknown = sorted(str(key) for key in saved if key not in known)
    if unknown:
        raise StateError(
            f"{name}: the state has {unknown}, which {RULES[rule].class_name} does not have; it has "
            f"{sorted(known)}"
        )
    counted = () if rule in _NOT_COUNTED else ("step",)
    missing = sorted({*counted, *arrays, *scalars} - set(saved))
    if missing:
        raise StateError(f"{name}: the state has no {', '.join(map(repr, missing))}")
    state: dict[str, Any] = {"step": _count(saved.get("step", 0), f"{name}: step")}
    for key in scalars:
        value = saved[key]
        if key == "c_known":
            state[key] = _count(value, f"{name}: {key}", 2)
            continue
        try:
            state[key] = float(value)
        except (TypeError, ValueError, RuntimeError):
            raise StateError(
                f"{name}: {key} is {type(value).__name__}, expected a number"
            ) from None
    for key in array_keys(rule).values():  # in this order on all ranks, which gather one by one
        state[key] = _array(saved[key], f"{name}: {key}", parameter, group)
    if "unit" in saved:
        state["unit"] = _unit(saved["unit"], f"{name}: unit", parameter)
    if group["capturable"]:
        for key in ("step", *scalars):
            state[key] = counter(state[key], parameter)
    return state


def check_unit(rule: str, state: dict[str, Any], elements: int, name: str) -> None:
    """Raises StateError where a unit over so many weights, whose first parameter has this state, lacks its
    matrix or has one of another size."""
    unit = state.get("unit")
    if not unit:
        raise StateError(f"{name}: the state has no 'unit'")
    sizes = {"b": elements}
    if rule == "full-to":
        if not unit.get("dense", 1):
            return  # a history, which grows
        sizes["A"] = elements**2
    else:
        block = max(1, min(_count(unit.get("block", 0), f"{name}: unit.block"), elements))
        sizes["A"] = elements // block * block**2 + (elements % block) ** 2
    for key, size in sizes.items():
        array = unit.get(key)
        if not isinstance(array, Tensor) or array.numel() != size:
            found = f"has {array.numel()} elements" if isinstance(array, Tensor) else "is missing"
            raise StateError(f"{name}: unit.{key} {found}, expected {size}")


def for_tensors(state: dict[str, Any], visit: Callable[[Tensor], None]) -> None:
    """Calls visit() for all tensors of a parameter's state, nested ones too."""
    for value in state.values():
        if isinstance(value, Tensor):
            visit(value)
        elif isinstance(value, dict):
            for_tensors(value, visit)
