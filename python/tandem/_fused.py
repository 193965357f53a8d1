# SPDX-License-Identifier: MIT
"""Steps by the kernels of the library, in place on the memory of torch's tensors: float, double and
bfloat16 on the CPU.

A `Part` is one rule of the library over parameters that are stepped together, on this machine. Elementwise
rules have one for all parameters of a group that have made as many steps; Block-TO one for each parameter;
RO-TO and Full-TO one for a scope (RO-TO another where tensors of a scope are sharded in different ways: its
parts share their sums).

A step looks at every tensor before anything changes: where memory is what it was, pointers are compared and
nothing else is done.
"""

from __future__ import annotations

import operator
from typing import Any, NamedTuple, Optional, Sequence

import torch
from torch import Tensor

from . import _core, _sharding, _state
from ._core import StateError

TYPES = {
    torch.float32: _core.FLOAT32,
    torch.float64: _core.FLOAT64,
    torch.bfloat16: _core.BFLOAT16,
}
_DTYPES = {code: dtype for dtype, code in TYPES.items()}

#: Of the array "scalars": what is the optimizer's, or only of the last step.
_NOT_KEPT = {"step", "epoch", "skipped", "residual_norm", "gradient_norm", "delta"}
#: Arrays of Full-TO's span form, which come in parts.
_GROWING = ("history", "products", "weights_at", "row_facts")
_DIAGNOSTICS = ("residual_norm", "gradient_norm", "delta")


_VERSION_OF = operator.attrgetter("_version")


class Stale(Exception):
    """States are not what a part was made for: somebody else has changed them."""


class Member(NamedTuple):
    """A parameter of a part."""

    param: Tensor
    group: int
    place: int  #: in the group
    name: str


def _is_dense(tensor: Tensor) -> bool:
    """Whether each element has a place of its own, without gaps."""
    following = 1
    for stride, size in sorted(
        (stride, size) for stride, size in zip(tensor.stride(), tensor.shape) if size > 1
    ):
        if stride != following:
            return False
        following *= size
    return True


def _overlaps(tensor: Tensor) -> bool:
    """Whether elements share memory (an expanded tensor)."""
    return any(stride == 0 and size > 1 for stride, size in zip(tensor.stride(), tensor.shape))


def obstacle(param: Tensor, gradient: Tensor) -> str:
    """Why no rule can step on a parameter with this gradient, or ""."""
    if gradient.layout != torch.strided:
        return "has a sparse gradient, expected a dense one"
    if gradient.device != param.device:
        return f"is on device {param.device}, and its gradient on {gradient.device}"
    if gradient.dtype != param.dtype:
        return f"is of type {param.dtype}, and its gradient {gradient.dtype}"
    if gradient.shape != param.shape:
        return f"has shape {list(param.shape)}, and its gradient {list(gradient.shape)}"
    if _sharding.is_sharded(param) != _sharding.is_sharded(gradient):
        return "is sharded and its gradient is not, or the other way round"
    if _sharding.is_sharded(param):
        meshes = [tensor.device_mesh for tensor in (param, gradient)]  # type: ignore[attr-defined]
        if meshes[0] != meshes[1]:
            return f"is on {meshes[0]}, and its gradient on {meshes[1]}"
        same = _sharding.placements(param) == _sharding.placements(gradient)
        param = _sharding.local(param)
        gradient = _sharding.local(gradient) if same else param
    on_meta = param.device.type == "meta"  # which has no memory
    if not on_meta and param.numel() > 0 and 0 in (param.data_ptr(), gradient.data_ptr()):
        return f"has {param.numel()} elements and no memory (its storage was freed or resized)"
    if _overlaps(param):
        return "has elements that share memory (an expanded tensor)"
    return ""


def _versions(arrays: Sequence[Tensor]) -> list[int]:
    """Autograd's counts of writes, which those of the kernels do not move; none of inference mode's."""
    try:
        return list(map(_VERSION_OF, arrays))
    except RuntimeError:
        return []


def _in_order(parts: Any) -> list[Any]:
    """Of an array that grows: {"0": ..., "1": ...}."""
    return [parts[key] for key in sorted(parts, key=int)] if isinstance(parts, dict) else []


class Part:
    """One rule of the library with the tensors that it steps on."""

    def __init__(
        self,
        rule: str,
        members: Sequence[Member],
        settings: Sequence[Any],
        states: Sequence[Optional[dict[str, Any]]],
        shards: _sharding.Shards = None,
    ) -> None:
        self.rule, self.members, self.shards = rule, list(members), shards
        self.params = [member.param for member in members]
        self.sharded = _sharding.is_sharded(self.params[0])
        self.dtype = self.params[0].dtype
        groups = {member.group for member in members}
        self.several_groups = len(groups) > 1
        first = settings[members[0].group]
        self.checks = first.on_nonfinite != "ignore"
        #: What new parameters start with; in optimizer.state only once a step was made.
        self.new_states: list[Optional[dict[str, Any]]] = [
            None if state else _state.new_state(rule, member.param, first.group)
            for member, state in zip(members, states)
        ]
        weights = [_sharding.local(param) for param in self.params]
        self.sizes = [weight.numel() for weight in weights]
        #: Where all of it is on other machines, the rule steps on one weight of zero, so that numbers
        #: that it carries are the same everywhere.
        self._spare: list[Tensor] = []
        spare: list[int] = []
        if sum(self.sizes) == 0:
            wide = _state.state_type(self.params[0], first.group)
            self._spare = [torch.zeros(1, dtype=t) for t in (self.dtype, self.dtype, *[wide] * 4)]
            spare = [1]
        self.keys = _state.array_keys(rule)
        self.unit_rule = _state.has_unit(rule)
        self._carried = tuple(_state.scalar_keys(rule))
        self._weights: list[Tensor] = []
        self._weight_pointers: list[int] = []
        self._arrays: dict[str, list[Tensor]] = {}
        self._array_pointers: dict[str, list[int]] = {}
        self._array_versions: dict[str, list[int]] = {}
        self._strides: list[tuple[int, ...]] = []
        self._plain = False  # all weights are contiguous
        self._copies: list[Any] = []  # what a step works on in the place of other tensors
        self._write_back: list[tuple[Tensor, Tensor]] = []
        self._versions: list[Tensor] = []
        self.settings = first
        self._segment_sizes = self.sizes + spare
        self.native = _core.NativeRule(
            rule, self._core_options(settings), self._segment_sizes, TYPES[self.dtype]
        )
        self.native.set_rounding(first.stochastic, first.seed)
        if first.stochastic or first.narrow:
            for number, member in enumerate(members):
                place = ((member.group << 56) ^ (member.place << 36)) % 2**64
                self.native.set_first_element(
                    number, (place + _sharding.first_element(member.param)) % 2**64
                )
        self._set_segments(settings)
        self.threads = 0
        needs = self.native.needs()
        self.scalars = _core.Scalars(needs[-1])
        self.unit: dict[str, Any] = {}
        self._expected: tuple[Any, ...] = ()
        if self.unit_rule:
            self._take_unit(states[0], needs)
        else:
            self._make_memory(needs)

    # ---- Options ---------------------------------------------------------------------------------

    def _core_options(self, settings: Sequence[Any]) -> dict[str, str]:
        first = settings[self.members[0].group]
        for number in sorted({member.group for member in self.members}):
            other = settings[number]
            for name, value in first.core.items():
                if name in ("lr", "weight_decay") or other.core[name] == value:
                    continue
                raise ValueError(
                    f"{self.rule}: the {name} of group {self.members[0].group} is {value}, of group "
                    f"{number} {other.core[name]}: groups that share one matrix may differ in lr and "
                    'weight_decay only; scope="group" gives each its own'
                )
        # What to do about it is decided for all parts at once.
        return {**first.core, "on_nonfinite": "raise" if self.checks else "ignore"}

    def _set_segments(self, settings: Sequence[Any]) -> None:
        if not self.several_groups:
            return
        for number, member in enumerate(self.members):
            rates = settings[member.group].rates
            lr, decay = rates["lr"], rates["weight_decay"]
            if isinstance(lr, str):
                raise ValueError(
                    f"{self.rule}: groups that share one matrix cannot have schedules as lr; "
                    'scope="group" gives each its own'
                )
            self.native.set_segment(number, lr, decay)

    def configure(self, settings: Sequence[Any], moved: dict[int, Sequence[str]]) -> None:
        """Takes over the options of groups that have changed: `moved` has, for each of them, the rates
        that did, or None where it was more than rates."""
        mine = [number for number in {m.group for m in self.members} if number in moved]
        if not mine:
            return
        self.settings = first = settings[self.members[0].group]
        if self.several_groups:
            self._set_segments(settings)
        if self.several_groups or any(moved[number] is None for number in mine):
            self.native.set_options(self._core_options(settings))
            self.native.set_rounding(first.stochastic, first.seed)
            return
        for name in moved[mine[0]]:
            self.native.set_rate(first.core_rates[name], first.rates[name])

    # ---- State -----------------------------------------------------------------------------------

    def _make_memory(self, needs: Sequence[_core.Need]) -> None:
        self.memory = _core.Memory(self._segment_sizes, needs)
        self.memory.set_array("scalars", [self.scalars.pointer])
        self._array_pointers = {}

    def _room(self, needs: Sequence[_core.Need]) -> None:
        """Makes what of the unit's arrays is missing."""
        for need in needs[:-1]:
            dtype = _DTYPES[need.type]
            if need.name not in _GROWING:
                if need.name not in self.unit:
                    self.unit[need.name] = torch.zeros(need.counts[0], dtype=dtype)
                continue
            parts = self.unit.setdefault(need.name, {})
            for number, count in enumerate(need.counts):
                if str(number) not in parts:
                    parts[str(number)] = torch.zeros(count, dtype=dtype)

    def _bind_unit(self, needs: Sequence[_core.Need]) -> None:
        self._make_memory(needs)
        self._needs = needs
        for need in needs[:-1]:
            held = self.unit.get(need.name)
            parts = [held] if isinstance(held, Tensor) else _in_order(held)
            pointers = []
            for number, count in enumerate(need.counts):
                what = f"{self.members[0].name}: unit.{need.name}"
                if number >= len(parts) or not isinstance(parts[number], Tensor):
                    raise StateError(f"{what} is missing")
                part = parts[number]
                if part.numel() != count or part.dtype != _DTYPES[need.type]:
                    raise StateError(
                        f"{what} has {part.numel()} elements of {part.dtype}, expected {count} of "
                        f"{_DTYPES[need.type]}"
                    )
                if part.device.type != "cpu" or not part.is_contiguous():
                    raise StateError(f"{what} is on {part.device}, expected contiguous on cpu")
                pointers.append(part.data_ptr())
            self.memory.set_array(need.name, pointers)

    def _take_unit(self, state: Optional[dict[str, Any]], needs: list[_core.Need]) -> None:
        """The state of a unit: as it was kept, or a new one."""
        if state is None:
            self._room(needs)
            self._bind_unit(needs)
            self.native.start(self.memory)
            return
        self.unit = state.get("unit", {})
        what = self.members[0].name
        if not self.unit:
            raise StateError(f"{what}: the state has no 'unit'")
        for name in self.scalars.names:
            if name in _DIAGNOSTICS:
                self.scalars[name] = float("nan")
            elif name not in _NOT_KEPT:
                if name not in self.unit:
                    raise StateError(f"{what}: unit has no '{name}'")
                self.scalars[name] = self.unit[name]
        self.scalars["step"] = int(state["step"]) + 1
        # Which arrays there are depends on these numbers.
        self._make_memory(needs[-1:])
        self._bind_unit(self.native.needs(self.memory))

    def _look_at_state(self, optimizer: Any) -> None:
        """Finds the arrays, wherever they are by now."""
        states = [
            new if new is not None else optimizer.state[param]
            for param, new in zip(self.params, self.new_states)
        ]
        self.states = states
        first = states[0]
        if not first or "step" not in first or len({state.get("step") for state in states}) > 1:
            raise Stale
        carried = [first.get(key) for key in self._carried]
        if None in carried:
            key = self._carried[carried.index(None)]
            raise StateError(f"{self.rule}: {self.members[0].name}: the state has no '{key}'")
        expected = (first["step"], *carried)
        if expected != self._expected:
            self.scalars["step"] = int(first["step"]) + 1
            for key, value in zip(self._carried, carried):
                self.scalars[key] = value
            if "sums_known" in self.scalars:
                self.scalars["sums_known"] = 0
            for name in _DIAGNOSTICS:
                if name in self.scalars:
                    self.scalars[name] = float("nan")
        self.scalars["epoch"] = self.settings.group["epoch"]
        if self.unit_rule:
            unit = first.get("unit") if self.new_states[0] is None else self.unit
            if unit is not self.unit or expected != self._expected:
                if self.new_states[0] is None:
                    self._take_unit(first, self.native.needs())
            if self.rule == "full-to":
                needs = self.native.needs(self.memory)
                if needs != self._needs:
                    self._room(needs)
                    self._bind_unit(needs)
            return
        known = "sums_known" in self.scalars
        for place, (name, key) in enumerate(self.keys.items()):
            arrays = [state.get(key) for state in states]
            missing = [one is None for one in arrays]
            if any(missing):
                number = missing.index(True)
                raise StateError(f"{self.rule}: {self.members[number].name}: the state has no '{key}'")
            if self.sharded:
                arrays = [_sharding.local(one) for one in arrays]
            if known and (versions := _versions(arrays)) != self._array_versions.get(name):
                self._array_versions[name] = versions
                self.scalars["sums_known"] = 0  # somebody has written to them
            pointers = list(map(Tensor.data_ptr, arrays))
            if pointers == self._array_pointers.get(name) and all(
                map(operator.is_, arrays, self._arrays[name])
            ):
                continue
            if known:
                self.scalars["sums_known"] = 0
            for number, one in enumerate(arrays):
                arrays[number] = self._usable_array(number, key, one, states[number])
            self._arrays[name] = arrays
            self._array_pointers[name] = list(map(Tensor.data_ptr, arrays))
            spare = self._spare[2 + place : 3 + place]
            self.memory.set_array(
                name, [*self._array_pointers[name], *map(Tensor.data_ptr, spare)]
            )

    def _usable_array(self, number: int, key: str, one: Tensor, state: dict[str, Any]) -> Tensor:
        member, weight = self.members[number], self._weights[number]
        wanted = _state.state_type(member.param, self.settings.group)
        what = f"{self.rule}: {member.name}: its state '{key}'"
        if not isinstance(one, Tensor) or one.shape != weight.shape or one.dtype != wanted:
            found = (
                f"{list(one.shape)} of {one.dtype}" if isinstance(one, Tensor) else type(one).__name__
            )
            raise StateError(f"{what} is {found}, expected {list(weight.shape)} of {wanted}")
        if one.device != weight.device or one.layout != torch.strided:
            raise StateError(
                f"{what} is on {one.device} ({one.layout}), expected dense on {weight.device}: the "
                "parameter was moved; make a new optimizer, or move the state with it"
            )
        if one.numel() > 0 and one.data_ptr() == 0:
            raise StateError(f"{what} has no memory")
        if one.stride() == self._strides[number] or one.numel() < 2:
            return one
        # It lies in memory otherwise than the parameter does.
        moved = torch.empty_strided(one.shape, self._strides[number], dtype=wanted)
        moved.copy_(one)
        if self.sharded:
            one.set_(moved)  # type: ignore[call-overload]
            return one
        state[key] = moved
        return moved

    # ---- A step ----------------------------------------------------------------------------------

    def _look_at_weights(self) -> None:
        weights = [_sharding.local(p) for p in self.params] if self.sharded else self.params
        pointers = list(map(Tensor.data_ptr, weights))
        if (
            pointers == self._weight_pointers
            and list(map(Tensor.numel, weights)) == self.sizes
            and all([weight.dtype is self.dtype for weight in weights])
            and not self._write_back
            and (
                all(map(Tensor.is_contiguous, weights))
                if self._plain
                else [w.stride() for w in weights] == self._strides
            )
        ):
            return
        self._strides, self._write_back, used = [], [], []
        for number, (member, weight) in enumerate(zip(self.members, weights)):
            what = f"{self.rule}: {member.name}"
            if weight.device.type != "cpu":
                raise RuntimeError(
                    f"{what} was on cpu when its state was made, and is now on {weight.device}: move the "
                    "state with it, or make a new optimizer"
                )
            if weight.dtype != self.dtype or weight.numel() != self.sizes[number]:
                raise RuntimeError(
                    f"{what} was of type {self.dtype} with {self.sizes[number]} elements when its state was "
                    f"made, and is now {weight.dtype} with {weight.numel()}"
                )
            if weight.numel() > 0 and pointers[number] == 0:
                raise RuntimeError(
                    f"{what} has {weight.numel()} elements and no memory (its storage was freed or resized)"
                )
            if _overlaps(weight):
                raise RuntimeError(f"{what} has elements that share memory (an expanded tensor)")
            # Coordinates of a unit are in row-major order, whatever the memory format.
            if not (weight.is_contiguous() if self.unit_rule else _is_dense(weight)):
                copy = weight.contiguous()
                self._write_back.append((weight, copy))
                weight = copy
            used.append(weight)
            self._strides.append(tuple(weight.stride()))
        self._weights = used
        self._plain = not self._write_back and all(map(Tensor.is_contiguous, used))
        self._weight_pointers = list(map(Tensor.data_ptr, used))
        self._array_pointers = {}  # they must lie as the weights do
        self._versions = []

    def _look_at_gradients(self, gradients: Sequence[Optional[Tensor]], negate: bool) -> None:
        """Gradients of the members; None leaves one out."""
        self._copies = []
        if self.sharded:
            gradients = [
                None if g is None else _sharding.local_gradient(g, param)
                for g, param in zip(gradients, self.params)
            ]
            self._copies += gradients  # new ones must last as long as the step
        given: Sequence[Any] = gradients
        spare = list(map(Tensor.data_ptr, self._spare[1:2]))
        if self._plain and not negate and self._are_plain(given):
            self.memory.set_gradients([*map(Tensor.data_ptr, given), *spare])
            return
        pointers = []
        for number, gradient in enumerate(given):
            if gradient is None:
                pointers.append(0)
                continue
            reason = obstacle(_sharding.local(self.params[number]), gradient)
            if reason:
                raise RuntimeError(f"{self.rule}: {self.members[number].name} {reason}")
            same = gradient.stride() == self._strides[number] or gradient.numel() < 2
            if negate or not same or gradient.is_neg():
                copy = torch.empty_strided(
                    gradient.shape, self._strides[number], dtype=gradient.dtype
                )
                copy.copy_(gradient)
                gradient = copy.neg_() if negate else copy
                self._copies.append(gradient)
            pointers.append(gradient.data_ptr())
        self.memory.set_gradients(pointers + spare)

    def _are_plain(self, gradients: Sequence[Any]) -> bool:
        """Whether all are there, as the kernels take them. torch itself sees to shapes and devices when a
        gradient is set; what could be read beyond the end is checked."""
        try:
            return (
                list(map(Tensor.numel, gradients)) == self.sizes
                and all(map(Tensor.is_contiguous, gradients))
                and not any(map(Tensor.is_neg, gradients))
                and all([gradient.dtype is self.dtype for gradient in gradients])
                and (0 not in map(Tensor.data_ptr, gradients) or 0 in self.sizes)
            )
        except (TypeError, RuntimeError):  # none, or sparse
            return False

    def prepare(
        self, optimizer: Any, gradients: Sequence[Optional[Tensor]], threads: int, negate: bool
    ) -> None:
        """Looks at all tensors of the next step; changes nothing that matters."""
        if threads != self.threads:
            self.native.set_threads(threads)
            self.threads = threads
        self._look_at_weights()
        self._look_at_state(optimizer)
        self.memory.set_weights([*self._weight_pointers, *map(Tensor.data_ptr, self._spare[:1])])
        self._look_at_gradients(gradients, negate)

    def gather(self) -> list[float]:
        return self.native.gather(self.memory)

    def apply(self, sums: Optional[Sequence[float]]) -> None:
        """The step that was prepared; without sums, both phases of it."""
        if sums is None:
            self.native.step(self.memory)
        else:
            self.native.apply(self.memory, sums)
        for weight, copy in self._write_back:
            weight.copy_(copy)
        self._copies = []

    def finish(self, optimizer: Any, left_out: Sequence[bool]) -> None:
        """Puts down what the step has left, once all parts have made theirs."""
        step = self.states[0]["step"] + 1
        for state in self.states:
            state["step"] = step
        carried = {key: self.scalars[key] for key in self._carried}
        self._expected = (step, *carried.values())
        if carried:
            for state in self.states:
                state.update(carried)
        if self.unit_rule:
            for name in self.scalars.names:
                if name not in _NOT_KEPT:
                    self.unit[name] = self.scalars[name]
            self.states[0]["unit"] = self.unit
            if self.unit.get("dense"):  # the history has become a matrix
                for name in _GROWING:
                    self.unit.pop(name, None)
        if any(new is not None for new in self.new_states):
            for param, new in zip(self.params, self.new_states):
                if new is not None:
                    optimizer.state[param] = new
            self.new_states = [None] * len(self.params)
        self._bump_versions(left_out)

    def _bump_versions(self, left_out: Sequence[bool]) -> None:
        """Tells autograd that the weights have changed: memory was written behind its back."""
        params = self.params
        if any(left_out):
            params = [param for param, out in zip(params, left_out) if not out]
        increment = getattr(torch.autograd.graph, "increment_version", None)
        if increment is not None:
            increment(params)
            return
        if len(self._versions) != len(params):
            # An empty view shares the counter, and torch counts what is done to it.
            self._versions = [torch.as_strided(p.detach(), (0,), (1,)) for p in params]
        torch._foreach_zero_(self._versions)

    def last(self) -> tuple[float, float, float]:
        return self.native.last()
