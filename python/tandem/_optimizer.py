# SPDX-License-Identifier: MIT
"""What all optimizers share: parameter groups, steps, states."""

from __future__ import annotations

import math
import os
import sys
import warnings
from collections import defaultdict
from copy import deepcopy
from typing import Any, Callable, ClassVar, Iterable, Iterator, NamedTuple, Optional, Union

import torch
from torch import Tensor

from . import _files, _options, _sharding, _state
from ._core import NonFiniteGradient, StateError
from ._fused import Stale
from ._plan import Plan
from ._rules import RULES
from ._settings import Settings

Params = Union[Iterable[Tensor], Iterable[tuple[str, Tensor]], Iterable[dict[str, Any]]]
#: A number, a tensor with one (which may be changed in place), or a schedule such as "0.1*0.95^epoch".
Rate = Union[float, Tensor, str]

#: Keys of groups beside options; schedulers add theirs, and people name groups.
_OTHER_KEYS = {"params", "param_names", "name", "initial_lr", "first_lr", "rule"}


def _eager(function: Any) -> Any:
    """torch.compile leaves it to Python."""
    compiler: Any = getattr(torch, "compiler", None)
    return compiler.disable(function) if hasattr(compiler, "disable") else function


def _is_captured() -> bool:
    """Whether torch.compile or a CUDA graph is looking on."""
    compiler: Any = getattr(torch, "compiler", None)
    if hasattr(compiler, "is_compiling") and compiler.is_compiling():
        return True
    return torch.cuda.is_available() and torch.cuda.is_current_stream_capturing()


def _own(rate: Rate) -> Rate:
    """A rate that does not move where schedulers write to a tensor."""
    return rate.detach().clone() if isinstance(rate, Tensor) else rate


def _callers_level() -> int:
    """What warnings.warn takes as stacklevel to name the line outside this package and torch.optim."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None:
        module = frame.f_globals.get("__name__", "")
        if not module.startswith((f"{__package__}.", "torch.")):
            break
        level, frame = level + 1, frame.f_back
    return level


class Diagnostics(NamedTuple):
    """What a trainable rule saw in its last step; NaN before, for the other rules, and with
    backend="foreach"."""

    residual_norm: float  #: |g - p|: how far the prediction was from the gradient it was shown
    gradient_norm: float
    delta: float  #: how much of the residual was taken in, the largest; stable below 2


class Optimizer(torch.optim.Optimizer):
    """What all optimizers here share.

    The state is in `optimizer.state[parameter]`, as tensors shaped like the parameter: double for double
    parameters, float for the others. A step that raises has changed neither weights nor state.

    Parameters
    ----------
    params
        Parameters, pairs of name and parameter (`model.named_parameters()`), or groups of either.
        Messages and state files use the names.
    on_nonfinite
        A gradient that holds NaN or infinity: "raise" NonFiniteGradient before anything changes,
        "skip" the step, or "ignore", which saves one read of the gradients.
    maximize
        Goes up the gradient.
    backend
        "fused": the kernels of the library, for float, double and bfloat16 on the CPU. "foreach": torch's
        own operations, for any device and type. "auto" takes the first where it can.
    capturable
        No step waits for the device: for CUDA graphs and torch.compile. Counters are tensors, rates may
        be. Of backend "foreach"; `on_nonfinite` must be "skip" or "ignore" while capturing.
    stochastic_rounding, seed
        Of bfloat16 parameters, which lose every update below half a unit in the last place without.
    """

    rule: ClassVar[str]
    #: Ranks that must agree on gradients, where a wrapper has divided the parameters among them.
    _ranks: Optional[_sharding.Ranks] = None
    #: torch.amp.GradScaler then leaves it to step() to divide by its scale and to skip.
    _step_supports_amp_scaling = True

    def __init__(self, params: Params, defaults: dict[str, Any]) -> None:
        wrapper = _sharding.wrapper_of(self)
        if wrapper is not None:
            if defaults.get("scope", "tensor") != "tensor":
                _sharding.refuse_part_of_a_scope(self, wrapper)
            self._ranks = _sharding.ranks_of(wrapper)
        _options.check(self.rule, defaults)  # even where every group has its own
        self._forget()
        groups: Any = params
        if not isinstance(groups, (Tensor, dict)):
            groups = list(groups)
            if groups and not isinstance(groups[0], dict):
                groups = [{"params": groups}]
        super().__init__(groups, {**defaults, **_state.fixed(self.rule, defaults), **self._counters()})

    def _counters(self) -> dict[str, Any]:
        return {"rule": self.rule, "epoch": 0, "skipped_steps": 0}

    # ---- Groups ----------------------------------------------------------------------------------

    def _forget(self) -> None:
        """What was found out about groups and tensors is found out anew."""
        self._settings: list[Settings] = []
        self._plan: Optional[Plan] = None

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Adds a group; what it leaves unset is the optimizer's."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        group = dict(param_group)
        params = group["params"]
        if isinstance(params, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the "
                "ordering of tensors in sets will change between runs. Please use a list instead."
            )
        params = [params] if isinstance(params, Tensor) else list(params)
        if params and isinstance(params[0], tuple):
            group["param_names"] = [name for name, _ in params]
            params = [param for _, param in params]
        group["params"] = params
        self._check_names([*self.param_groups, group])
        unknown = sorted(set(group) - set(self.defaults) - _OTHER_KEYS)
        if unknown:
            warnings.warn(
                f"{type(self).__name__} has no {', '.join(map(repr, unknown))}, which a parameter group "
                f"sets; its options are {', '.join(sorted(_options.READERS[self.rule]))}",
                stacklevel=_callers_level(),
            )
        merged = {**self.defaults, **group}
        if self.rule == "momentum" and "dampening" not in group:
            merged["dampening"] = _state.fixed(self.rule, merged)["dampening"]
        if merged.get("schedule_all"):
            group.setdefault("first_lr", _own(merged["lr"]))
        Settings(self.rule, {**merged, **group})  # raises for what cannot be
        if self.rule == "momentum":
            group["dampening"] = merged["dampening"]
        if merged["capturable"] and not isinstance(merged["skipped_steps"], Tensor) and params:
            group["skipped_steps"] = torch.zeros((), dtype=torch.int64, device=params[0].device)
        super().add_param_group(group)
        self._forget()

    def name_parameters(self, named: Iterable[tuple[str, Tensor]]) -> None:
        """Gives parameters their names, as of `model.named_parameters()`."""
        names = {id(param): name for name, param in named}
        for number, group in enumerate(self.param_groups):
            for index, param in enumerate(group["params"]):
                if id(param) not in names:
                    raise ValueError(
                        f"parameter {index} of group {number} is not among the named ones"
                    )
        for group in self.param_groups:
            group["param_names"] = [names[id(param)] for param in group["params"]]
        self._plan = None

    def _check_names(self, groups: list[dict[str, Any]]) -> None:
        if not groups:
            return
        named = "param_names" in groups[-1]
        if named != ("param_names" in groups[0]):
            raise ValueError(
                "all optimizer param groups should be with/without names. cannot add param group "
                f"{'with' if named else 'without'} names to the optimizer"
            )
        if not named:
            return
        names = [name for group in groups for name in group["param_names"]]
        params = sum(len(group["params"]) for group in groups)
        if len(set(names)) != len(names):
            twice = sorted({name for name in names if names.count(name) > 1})
            raise ValueError(f"parameter names are not unique: {', '.join(map(repr, twice))}")
        if len(names) != params:
            raise ValueError(f"{len(names)} parameter names for {params} parameters")

    def _name_of(self, group: int, index: int) -> str:
        names = self.param_groups[group].get("param_names")
        return f"parameter '{names[index]}'" if names else f"parameter {index} of group {group}"

    def _named_params(self) -> Iterator[tuple[str, Tensor, int]]:
        """Name, parameter and number of the group. Raises ValueError where there are no names."""
        for number, group in enumerate(self.param_groups):
            for index, param in enumerate(group["params"]):
                if "param_names" not in group:
                    raise ValueError(
                        f"parameter {index} of group {number} has no name: call name_parameters first"
                    )
                yield group["param_names"][index], param, number

    def _read_groups(self) -> dict[int, Optional[list[str]]]:
        """Takes over what was changed in `param_groups` since the last step: for each group that was, its
        rates, or None for more than rates."""
        groups = self.param_groups
        if len(self._settings) != len(groups) or any(
            settings.group is not group for settings, group in zip(self._settings, groups)
        ):
            self._settings = [Settings(self.rule, group) for group in groups]
            self._plan = None
            return {}
        moved = {}
        for number, settings in enumerate(self._settings):
            kind, plan = settings.kind, self._plan
            self._plan = None  # where this raises
            changed = settings.look()
            if changed is None or changed:
                moved[number] = changed
            if settings.kind == kind:
                self._plan = plan
        return moved

    def rates(self) -> list[dict[str, float]]:
        """lr, alpha, beta and decays of the next step, for each group: what schedule strings and
        `schedule_all` make of them."""
        self._read_groups()
        found = []
        for settings in self._settings:
            steps = [
                int(self.state[param]["step"])
                for param in settings.group["params"]
                if self.state.get(param)
            ]
            now = settings.rates_at(max(steps, default=0) + 1)
            found.append({name: float(rate) for name, rate in now.items()})
        return found

    def epoch_end(self) -> None:
        """Schedules that count epochs move on: `lr="0.1*0.95^epoch"`."""
        for group in self.param_groups:
            group["epoch"] += 1

    # ---- A step ----------------------------------------------------------------------------------

    @torch.no_grad()
    def step(self, closure: Optional[Callable[[], float]] = None) -> Optional[float]:
        """One step on all parameters that have a gradient. Gives what `closure` gave, which is
        called first, with gradients enabled."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        if self._scaled_gradients_are_usable():
            self._step()
        return loss

    def _step(self) -> None:
        gradients = [param.grad for group in self.param_groups for param in group["params"]]
        if not all(group["capturable"] for group in self.param_groups):
            self._step_here(gradients)
            return
        if any(group["on_nonfinite"] == "raise" for group in self.param_groups):
            if _is_captured():
                raise ValueError(
                    'on_nonfinite="raise" waits for the device, which a step that is compiled or captured '
                    'cannot: give on_nonfinite="skip" or "ignore"'
                )
            self._step_here(gradients)
            return
        plan = self._plan
        if plan is None or not plan.is_capturable or not plan.fits(self, gradients):
            self._make_plan(gradients)
        assert self._plan is not None
        self._plan.step_without_waiting(self, gradients)

    @_eager
    def _make_plan(self, gradients: list[Optional[Tensor]]) -> None:
        self._read_groups()
        for group in self.param_groups:  # some may have become so since
            if group["params"] and not isinstance(group["skipped_steps"], Tensor):
                device = group["params"][0].device
                group["skipped_steps"] = torch.tensor(group["skipped_steps"], device=device)
        self._plan = Plan(self, self._settings, gradients)

    @_eager
    def _step_here(self, gradients: list[Optional[Tensor]]) -> None:
        moved = self._read_groups()
        if self._plan is not None and self._plan.fits(self, gradients):
            try:
                if moved:
                    self._plan.configure(moved)
            except Exception:
                self._forget()  # some parts may have the new options
                raise
        else:
            self._plan = Plan(self, self._settings, gradients)
        try:
            self._plan.step(self, gradients)
        except Stale:
            self._plan = Plan(self, self._settings, gradients)
            self._plan.step(self, gradients)

    def _scaled_gradients_are_usable(self) -> bool:
        """Does what a GradScaler leaves to optimizers: it sets `found_inf` and `grad_scale`."""
        found_inf = getattr(self, "found_inf", None)
        if found_inf is not None and float(found_inf) != 0.0:
            self._count_skipped()
            return False
        scale = getattr(self, "grad_scale", None)
        if scale is not None:
            factor = 1.0 / float(scale)
            for group in self.param_groups:
                for param in group["params"]:
                    if param.grad is not None:
                        param.grad.mul_(factor)
        return True

    def _count_skipped(self, by: Any = 1) -> None:
        for group in self.param_groups:
            group["skipped_steps"] += by

    @property
    def skipped_steps(self) -> int:
        """Steps left out: under `on_nonfinite="skip"`, and where a GradScaler found infinities."""
        return int(self.param_groups[0]["skipped_steps"])

    @property
    def last(self) -> Diagnostics:
        """What a trainable rule saw in its last step. Of a sharded model: what of it is here."""
        nothing = Diagnostics(math.nan, math.nan, math.nan)
        if self._plan is None:
            return nothing
        seen = [part.last() for part in self._plan.parts]
        if not seen or math.isnan(seen[0][2]):
            return nothing
        return Diagnostics(
            math.sqrt(sum(one[0] ** 2 for one in seen)),
            math.sqrt(sum(one[1] ** 2 for one in seen)),
            max(one[2] for one in seen),
        )

    @property
    def state_bytes(self) -> int:
        """Bytes of the arrays that are kept here."""
        total = 0

        def add(tensor: Tensor) -> None:
            nonlocal total
            here = _sharding.local(tensor)
            total += here.numel() * here.element_size() if here.dim() > 0 else 0

        for state in self.state.values():
            _state.for_tensors(state, add)
        return total

    # ---- State -----------------------------------------------------------------------------------

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Loads what state_dict() gave, here or in torch's own optimizer of the same rule: options of the
        groups and the state. Tensors keep their type, which torch's own would change to the parameter's.

        Raises ValueError (StateError where the state itself is at fault) and changes nothing where
        it is of another rule, other groups or other parameters.
        """
        state_dict = dict(state_dict)  # the caller's stays as it is, whatever hooks do
        for hook in getattr(self, "_optimizer_load_state_dict_pre_hooks", {}).values():
            changed = hook(self, state_dict)
            state_dict = state_dict if changed is None else changed
        for key in ("state", "param_groups"):
            if key not in state_dict:
                raise StateError(f"loaded state dict has no '{key}'")
        saved_groups = deepcopy(state_dict["param_groups"])
        self._check_groups(saved_groups)
        groups = [self._loaded_group(n, saved) for n, saved in enumerate(saved_groups)]
        places: dict[Any, tuple[int, int]] = {}
        for number, saved in enumerate(saved_groups):
            for index, key in enumerate(saved["params"]):
                places[key] = (number, index)
        state: dict[Any, Any] = defaultdict(dict)
        for key, saved in state_dict["state"].items():
            if key not in places:
                raise StateError(f"loaded state dict has a state of {key!r}, which is in no group")
            number, index = places[key]
            param = self.param_groups[number]["params"][index]
            found = _state.loaded_state(
                self.rule, saved, param, groups[number], self._name_of(number, index)
            )
            if found is not None:
                state[param] = found
        self._check_units(state, groups)
        self.__setstate__({"state": state, "param_groups": groups})
        for hook in getattr(self, "_optimizer_load_state_dict_post_hooks", {}).values():
            hook(self)

    def _loaded_group(self, number: int, saved: dict[str, Any]) -> dict[str, Any]:
        """A group's options as they were saved; what was not gets its default."""
        own = self.param_groups[number]
        found = saved.get("rule", self.rule)
        if found != self.rule:
            raise ValueError(f"loaded state dict is of rule '{found}', expected '{self.rule}'")
        group = {**self.defaults, **saved, "params": own["params"]}
        for key in _state.IMPLEMENTATION:
            group.pop(key, None)
            if key in own:
                group[key] = own[key]
        if "param_names" in own:
            group["param_names"] = own["param_names"]
        if self.rule == "momentum" and "dampening" not in saved:
            group["dampening"] = _state.fixed(self.rule, group)["dampening"]
        if group.get("schedule_all"):
            group.setdefault("first_lr", _own(group["lr"]))
        counter = group["skipped_steps"]
        if not group["capturable"]:
            group["skipped_steps"] = int(counter)
        elif own["params"]:
            device = own["params"][0].device
            group["skipped_steps"] = torch.as_tensor(counter, dtype=torch.int64).to(device)
        Settings(self.rule, dict(group))  # raises for what cannot be
        return group

    def _check_units(
        self, state: dict[Any, Any], groups: list[dict[str, Any]], where: str = ""
    ) -> None:
        """Raises StateError where a matrix of Full-TO or Block-TO is missing or of another size."""
        if not _state.has_unit(self.rule):
            return
        units: dict[Any, list[tuple[str, Tensor]]] = {}
        for number, group in enumerate(groups):
            scope = group.get("scope", "tensor")  # that of blocks
            for index, param in enumerate(group["params"]):
                if state.get(param):
                    of = {"whole": (), "group": (number,), "tensor": (number, index)}[scope]
                    units.setdefault(of, []).append((self._name_of(number, index), param))
        for members in units.values():
            name, first = members[0]
            elements = sum(param.numel() for _, param in members)
            _state.check_unit(self.rule, state[first], elements, where + name)

    def _check_groups(self, saved_groups: list[dict[str, Any]]) -> None:
        if len(saved_groups) != len(self.param_groups):
            raise ValueError(
                "loaded state dict has a different number of parameter groups: "
                f"{len(saved_groups)}, expected {len(self.param_groups)}"
            )
        for number, (own, saved) in enumerate(zip(self.param_groups, saved_groups)):
            own_names, saved_names = own.get("param_names"), saved.get("param_names")
            if own_names is not None and saved_names is not None and own_names != saved_names:
                missing = [name for name in own_names if name not in saved_names]
                unknown = [name for name in saved_names if name not in own_names]
                found = "their order differs"
                if missing or unknown:
                    found = f"missing in it: {missing}; not here: {unknown}"
                raise ValueError(
                    f"loaded state dict has other parameters in group {number}: {found}"
                )
            if len(own["params"]) != len(saved.get("params", ())):
                raise ValueError(
                    "loaded state dict contains a parameter group that doesn't match the size of "
                    f"optimizer's group: {len(saved.get('params', ()))} parameters in group {number}, "
                    f"expected {len(own['params'])}"
                )

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._forget()

    def save_state(self, path: Union[str, os.PathLike[str]]) -> None:
        """Writes the state by parameter name as a safetensors file, which tandem::optim in C++
        loads as well; options are not in it. Parameters must have names."""
        named = [(name, self.state.get(param, {})) for name, param, _ in self._named_params()]
        _files.write(
            path, self.rule, named, self.skipped_steps, int(self.param_groups[0]["epoch"])
        )

    def load_state(self, path: Union[str, os.PathLike[str]]) -> None:
        """Loads what save_state() or C++ wrote. Raises StateError that names what does not fit, and
        changes nothing."""
        params = {name: (param, number) for name, param, number in self._named_params()}
        found = _files.read(path, self.rule, list(params))
        state: dict[Any, Any] = defaultdict(dict)
        for name, saved in found.states.items():
            param, number = params[name]
            loaded = _state.loaded_state(
                self.rule, saved, param, self.param_groups[number], f"{path}: parameter '{name}'"
            )
            if loaded is not None:
                state[param] = loaded
        self._check_units(state, self.param_groups, f"{path}: ")
        self.state = state
        for group in self.param_groups:
            group["epoch"] = found.epoch
            if isinstance(group["skipped_steps"], Tensor):
                group["skipped_steps"].fill_(found.skipped)
            else:
                group["skipped_steps"] = found.skipped
        self._forget()


__all__ = ["Diagnostics", "NonFiniteGradient", "Optimizer", "Params", "Rate", "RULES", "StateError"]
