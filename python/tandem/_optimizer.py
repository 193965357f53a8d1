# SPDX-License-Identifier: MIT
"""What all optimizers share: parameter groups, steps, states."""

from __future__ import annotations

import os
from typing import Any, Callable, ClassVar, Iterable, NamedTuple, Optional, Union

import torch
from torch import Tensor

from . import _core, _options, _wrappers

Params = Union[Iterable[Tensor], Iterable[tuple[str, Tensor]], Iterable[dict[str, Any]]]


class Diagnostics(NamedTuple):
    """What a trainable rule saw in its last step; NaN before, and for the other rules."""

    residual_norm: float  #: |g - p|: how far the prediction was from the gradient it was shown
    gradient_norm: float
    delta: float  #: how much of the residual was taken in, the largest; stable below 2


class Optimizer(torch.optim.Optimizer):
    """What all optimizers here share.

    They take dense float, double and bfloat16 parameters on the CPU; the state is double for double
    parameters and float for the others. A step that raises has changed neither weights nor state.

    Parameters
    ----------
    params
        Parameters, pairs of name and parameter (`model.named_parameters()`), or groups of either.
        Messages and state files use the names.
    on_nonfinite
        A gradient that holds NaN or infinity: "raise" NonFiniteGradient before anything changes,
        "skip" the step, or "ignore", which saves one read of the gradients.
    stochastic_rounding, seed
        Of bfloat16 parameters, which lose every update below half a unit in the last place without.
    """

    rule: ClassVar[str]
    #: torch.amp.GradScaler then leaves it to step() to divide by its scale and to skip.
    _step_supports_amp_scaling = True

    def __init__(self, params: Params, defaults: dict[str, Any]) -> None:
        _wrappers.refuse_sharding(self)
        self._start()
        self._option_names = tuple(defaults)
        self._texts(defaults)  # a wrong default is found even where every group has its own
        groups: Any = params
        if not isinstance(groups, (Tensor, dict)):
            groups = list(groups)
            if groups and not isinstance(groups[0], dict):
                groups = [{"params": groups}]
        super().__init__(groups, defaults)
        self.state = _wrappers.NoState()

    # ---- Groups ----------------------------------------------------------------------------------

    def _start(self) -> None:
        self._use(_core.make(self.rule))
        self._sent: list[tuple[Any, ...]] = []  # options of groups as the native part has them
        self._held: list[list[int]] = []  # and ids of their parameters
        self._skipped = 0

    def _use(self, native: Any) -> None:
        self._native = native
        self._set_rate = native.set_rate  # looking it up costs half as much as calling it

    def _texts(self, group: dict[str, Any]) -> dict[str, str]:
        texts = _options.texts(self.rule, self._option_names, group)
        if "schedule_all" in texts:
            first = group.get("first_lr", group["lr"])
            texts["first_lr"] = _options.READERS[self.rule]["first_lr"](first)
        return texts

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
        named = "param_names" in group
        if self.param_groups and named != ("param_names" in self.param_groups[0]):
            raise ValueError(
                "all optimizer param groups should be with/without names. cannot add param group "
                f"{'with' if named else 'without'} names to the optimizer"
            )
        options = self._texts({**self.defaults, **group})
        if "schedule_all" in options:
            group.setdefault("first_lr", group.get("lr", self.defaults["lr"]))
        super().add_param_group(group)
        try:
            added = self.param_groups[-1]
            self._check_names()  # before the native part, which keeps what it was given
            _core.check(self._native.add_group(added["params"], options))
            self._remember(added)
            self._send_names()
        except Exception:
            self.param_groups.pop()
            del self._sent[len(self.param_groups) :], self._held[len(self.param_groups) :]
            raise

    def _values(self, group: dict[str, Any]) -> tuple[Any, ...]:
        # A tensor as lr may be changed in place.
        return tuple(
            [float(v) if isinstance(v, Tensor) else v for v in map(group.get, self._option_names)]
        )

    def _remember(self, group: dict[str, Any]) -> None:
        self._sent.append(self._values(group))
        self._held.append([id(param) for param in group["params"]])

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
        self._send_names()

    def _check_names(self) -> tuple[list[str], list[Tensor]]:
        """All names and their parameters; none where there are no names."""
        if "param_names" not in self.param_groups[0]:
            return [], []
        names = [name for group in self.param_groups for name in group["param_names"]]
        params = [param for group in self.param_groups for param in group["params"]]
        if len(set(names)) != len(names):
            twice = sorted({name for name in names if names.count(name) > 1})
            raise ValueError(f"parameter names are not unique: {', '.join(map(repr, twice))}")
        if len(names) != len(params):
            raise ValueError(f"{len(names)} parameter names for {len(params)} parameters")
        return names, params

    def _send_names(self) -> None:
        names, params = self._check_names()
        if names:
            _core.check(self._native.name_parameters(names, params))

    def _send_options(self) -> None:
        """Tells the native part what was changed in `param_groups` since the last step."""
        if len(self.param_groups) != len(self._sent):
            raise ValueError("groups were put into param_groups: use add_param_group()")
        for number, group in enumerate(self.param_groups):
            if [id(param) for param in group["params"]] != self._held[number]:
                raise ValueError(
                    f"the parameters of group {number} were exchanged: make a new optimizer, or "
                    "use add_param_group()"
                )
            now = self._values(group)
            if now == self._sent[number]:
                continue
            changed = [
                name
                for name, value, sent in zip(self._option_names, now, self._sent[number])
                if value != sent
            ]
            if self._only_rates(changed, group):
                readers = _options.READERS[self.rule]
                rates = [(name, float(readers[name](group[name]))) for name in changed]
                for name, rate in rates:
                    _core.check(self._set_rate(number, name, rate))
            else:
                _core.check(self._native.set_options(number, self._texts(group)))
            self._sent[number] = now

    def _only_rates(self, changed: list[str], group: dict[str, Any]) -> bool:
        """Whether this is what a scheduler moves, which costs little to send."""
        follows_lr = "schedule_all" in group and "first_lr" not in group
        return not follows_lr and _options.RATES[self.rule].issuperset(changed)

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
            self._send_options()
            _core.check(self._native.step(), RuntimeError)
        return loss

    def _scaled_gradients_are_usable(self) -> bool:
        """Does what a GradScaler leaves to optimizers: it sets `found_inf` and `grad_scale`."""
        found_inf = getattr(self, "found_inf", None)
        if found_inf is not None and float(found_inf) != 0.0:
            self._skipped += 1
            return False
        scale = getattr(self, "grad_scale", None)
        if scale is not None:
            factor = 1.0 / float(scale)
            for group in self.param_groups:
                for param in group["params"]:
                    if param.grad is not None:
                        param.grad.mul_(factor)
        return True

    @property
    def skipped_steps(self) -> int:
        """Steps left out: under `on_nonfinite="skip"`, and where a GradScaler found infinities."""
        return self._skipped + int(self._native.skipped_steps())

    @property
    def last(self) -> Diagnostics:
        return Diagnostics(*self._native.last())

    @property
    def state_bytes(self) -> int:
        return int(self._native.state_bytes())

    # ---- State -----------------------------------------------------------------------------------

    def state_of(self, parameter: Tensor) -> dict[str, Tensor]:
        """Copies of what is kept of a parameter: "a" and "b" of Diag-TO, "m" and "v" of Adam.
        Empty before the first step."""
        return dict(self._native.state_of(parameter))

    def state_dict(self) -> dict[str, Any]:
        """As torch's, with copies of the state. A run that is resumed from it gives the same bits
        as one that was not interrupted."""
        packed: dict[str, Any] = super().state_dict()
        packed.update(self._packed_state())
        return packed

    def _packed_state(self) -> dict[str, Any]:
        facts, owners, arrays, tensors = self._native.state()
        state: dict[int, dict[str, Tensor]] = {}
        units: dict[str, dict[str, Tensor]] = {}
        for owner, array, tensor in zip(owners, arrays, tensors):
            if owner.isdigit():
                state.setdefault(int(owner), {})[array] = tensor
            else:
                units.setdefault(owner, {})[array] = tensor
        tandem = {**facts, "unit_state": units, "skipped_by_scaler": self._skipped}
        return {"state": state, "tandem": tandem}

    def _unpack_state(self, native: Any, packed: dict[str, Any]) -> int:
        """Loads a state into a native optimizer; gives the steps that a scaler skipped."""
        facts = dict(packed["tandem"])
        units = facts.pop("unit_state")
        skipped = facts.pop("skipped_by_scaler")
        parts = [
            (str(owner), array, tensor)
            for of_owners in (packed["state"], units)
            for owner, arrays in of_owners.items()
            for array, tensor in arrays.items()
        ]
        owners, arrays, tensors = ([part[k] for part in parts] for k in range(3))
        _core.check(native.load_state(facts, owners, arrays, tensors))
        return int(skipped)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Loads what state_dict() gave: options of the groups and the state.

        Raises ValueError (StateError where the state itself is at fault) and changes nothing where
        it is of another optimizer, other groups or other parameters.
        """
        tandem = state_dict.get("tandem")
        if not isinstance(tandem, dict) or "rule" not in tandem:
            raise ValueError(_wrappers.explain_missing_state(state_dict, type(self).__name__))
        for part, keys in (
            (tandem, ("unit_state", "skipped_by_scaler")),
            (state_dict, ("state", "param_groups")),
        ):
            for key in keys:
                if key not in part:
                    raise _core.StateError(f"loaded state dict has no '{key}'")
        if tandem["rule"] != self.rule:
            raise ValueError(
                f"loaded state dict is of rule '{tandem['rule']}', expected '{self.rule}'"
            )
        saved_groups = state_dict["param_groups"]
        self._check_groups(saved_groups)
        groups = []
        for own, saved in zip(self.param_groups, saved_groups):
            options = {key: value for key, value in saved.items() if key != "params"}
            if "param_names" in own:
                options["param_names"] = own["param_names"]
            groups.append({**own, **options, "params": own["params"]})
        # Into a new one first: where that fails, this one is as it was.
        native = _core.make(self.rule)
        for group in groups:
            _core.check(native.add_group(group["params"], self._texts(group)))
        skipped = self._unpack_state(native, state_dict)
        for own, group in zip(self.param_groups, groups):
            own.update(group)
        self._use(native)
        self._sent, self._held, self._skipped = [], [], skipped
        for group in self.param_groups:
            self._remember(group)
        self._send_names()

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
            if len(own["params"]) != len(saved["params"]):
                raise ValueError(
                    "loaded state dict contains a parameter group that doesn't match the size of "
                    f"optimizer's group: {len(saved['params'])} parameters in group {number}, "
                    f"expected {len(own['params'])}"
                )
            missing = [name for name in self._option_names if name not in saved]
            if missing:
                raise ValueError(f"loaded state dict has no {missing} in group {number}")

    def __getstate__(self) -> dict[str, Any]:
        return {
            "defaults": self.defaults,
            "state": self.state,
            "param_groups": self.param_groups,
            "native": self._packed_state(),
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        packed = state.pop("native", None)
        super().__setstate__(state)
        self.state = _wrappers.NoState()
        if packed is None:
            return
        self._start()
        self._option_names = tuple(name for name in self.defaults if name in _options.READERS[self.rule])
        for group in self.param_groups:
            _core.check(self._native.add_group(group["params"], self._texts(group)))
            self._remember(group)
        self._send_names()
        self._skipped = self._unpack_state(self._native, packed)

    def save_state(self, path: Union[str, os.PathLike[str]]) -> None:
        """Writes the state by parameter name as a safetensors file, which tandem::optim in C++
        loads as well; options are not in it. Parameters must have names."""
        outcome = self._native.save_file(os.fspath(path))
        if outcome.startswith("runtime\n"):
            raise OSError(outcome.split("\n", 1)[1])
        _core.check(outcome)

    def load_state(self, path: Union[str, os.PathLike[str]]) -> None:
        """Loads what save_state() or C++ wrote. Raises StateError that names what does not fit, and
        changes nothing."""
        with open(path, "rb"):  # FileNotFoundError and its kind
            pass
        self._send_options()
        _core.check(self._native.load_file(os.fspath(path)))
