# SPDX-License-Identifier: MIT
"""Which parameters are stepped together, by what, and how their steps become one: everything is looked at
before anything changes, on all machines. A plan holds until other parameters have gradients."""

from __future__ import annotations

import operator
from typing import Any, Optional, Sequence

import torch
from torch import Tensor

from . import _foreach, _fused, _lists, _rounding, _sharding, _state
from ._core import NonFiniteGradient, StateError
from ._fused import Member
from ._rules import RULES

Gradients = Sequence[Optional[Tensor]]


def _runs_fused(param: Tensor, backend: str) -> bool:
    able = param.device.type == "cpu" and param.dtype in _fused.TYPES
    return able and backend != "foreach"


def _count(state: Optional[dict[str, Any]], name: str) -> int:
    """Steps that a parameter has made."""
    if not state:
        return 0
    if not isinstance(state, dict) or "step" not in state:
        raise StateError(f"{name}: the state has no 'step'")
    step = state["step"]
    return 0 if isinstance(step, Tensor) and step.device.type == "meta" else int(step)


def _kind(param: Tensor) -> tuple[torch.device, torch.dtype, int]:
    return param.device, param.dtype, param.numel()


def _is_plain_pair(param: Tensor, gradient: Tensor) -> bool:
    """Whether a gradient is surely one that can be used: the usual case, told at little cost."""
    return (
        type(gradient) is Tensor
        and gradient.layout == torch.strided
        and gradient.shape == param.shape
        and gradient.dtype == param.dtype
        and gradient.device == param.device
        and not _sharding.is_sharded(param)
        and param.is_contiguous()
        and param.data_ptr() != 0
        and gradient.data_ptr() != 0
    )


class ForeachPart:
    """Parameters that torch's own operations step together."""

    def __init__(
        self,
        rule: str,
        members: Sequence[Member],
        settings: Sequence[Any],
        states: Sequence[Optional[dict[str, Any]]],
        shards: _sharding.Shards = None,
    ) -> None:
        self.rule, self.members, self.shards = rule, list(members), shards
        self.settings = [settings[member.group] for member in members]
        self.params = [member.param for member in members]
        self.groups = [member.group for member in members]
        first = self.settings[0]
        self.capturable: bool = first.capturable
        self.checks = first.on_nonfinite != "ignore"
        self.new_states: list[Optional[dict[str, Any]]] = [
            None if state else _state.new_state(rule, param, one.group)
            for param, state, one in zip(self.params, states, self.settings)
        ]
        self.keys = tuple(_state.array_keys(rule).values())
        self.carried = tuple(_state.scalar_keys(rule))
        self.kinds = [_kind(param) for param in self.params]
        self.state_types = [
            _state.state_type(param, one.group) for param, one in zip(self.params, self.settings)
        ]

    def configure(self, settings: Sequence[Any], moved: dict[int, Any]) -> None:
        """Options are looked up in every step."""

    def prepare(self, optimizer: Any, gradients: Gradients) -> None:
        self.states = [
            new if new is not None else optimizer.state[param]
            for param, new in zip(self.params, self.new_states)
        ]
        first = self.states[0]
        if not first and not self.capturable:
            raise _fused.Stale
        if not _lists.is_compiling():  # which guards what it has seen, and has no memory
            self._look_at_tensors(gradients)
        options: dict[int, dict[str, Any]] = {}
        for number, one in zip(self.groups, self.settings):
            if number in options:
                continue
            if self.capturable:
                options[number] = {**one.group, **one.rates_now()}
            else:
                options[number] = self._options_at(one, int(first["step"]) + 1)
        unit: Any = None
        if _state.has_unit(self.rule):
            owners = self.states if self.rule == "block-to" else [first]
            for member, new, state in zip(self.members, self.new_states, owners):
                if new is None and not state.get("unit"):
                    raise StateError(f"{member.name}: the state has no 'unit'")
            units = [state.setdefault("unit", {}) for state in owners]
            unit = units if self.rule == "block-to" else units[0]
        self.bucket = _foreach.Bucket(
            self.rule,
            [_sharding.local(param) for param in self.params],
            [
                None if g is None else _sharding.local_gradient(g, param)
                for g, param in zip(gradients, self.params)
            ],
            {key: [_sharding.local(state[key]) for state in self.states] for key in self.keys},
            unit,
            [options[number] for number in self.groups],
            first["step"] + 1,
            self.settings[0].group["epoch"],
            {key: first[key] for key in self.carried},
        )

    def _options_at(self, settings: Any, step: int) -> dict[str, Any]:
        """Raises RuntimeError for a rate that torch's operations would refuse half way."""
        options: dict[str, Any] = settings.options_at(step)
        dtype = _rounding.compute_type(self.params[0].dtype)
        for name in settings.core_rates:
            rate = float(options[name])
            if not rate <= torch.finfo(dtype).max:
                raise RuntimeError(
                    f"{self.rule}: {name} = {rate} in step {step}, epoch {options['epoch']}, expected a "
                    f"number that {dtype} can hold; weights and state are unchanged"
                )
        return options

    def _look_at_tensors(self, gradients: Gradients) -> None:
        """Raises RuntimeError and StateError for what torch's operations would fail on half way."""
        if not self.capturable and len({state.get("step") for state in self.states}) > 1:
            raise _fused.Stale
        counters = ("step", *self.carried)
        for number, (param, gradient, state) in enumerate(zip(self.params, gradients, self.states)):
            if (
                _kind(param) != self.kinds[number]
                or not (gradient is None or _is_plain_pair(param, gradient))
                or not all([key in state for key in counters])
                or not self._are_plain(param, state, self.state_types[number])
            ):
                self._complain(number, gradient, state)

    def _are_plain(self, param: Tensor, state: dict[str, Any], wanted: torch.dtype) -> bool:
        """Whether the arrays of a state are as they should be."""
        try:
            arrays = [state[key] for key in self.keys]
            return all(
                [
                    array.shape == param.shape
                    and array.dtype == wanted
                    and array.device == param.device
                    for array in arrays
                ]
            )
        except (AttributeError, KeyError):
            return False

    def _complain(self, number: int, gradient: Optional[Tensor], state: dict[str, Any]) -> None:
        """Says what is wrong with a parameter, if anything is: sharded ones are not plain."""
        param, what = self.params[number], f"{self.rule}: {self.members[number].name}"
        found, kind = _kind(param), self.kinds[number]
        if found != kind:
            raise RuntimeError(
                f"{what} was {kind[1]} on {kind[0]} with {kind[2]} elements when its state was made, "
                f"and is now {found[1]} on {found[0]} with {found[2]}: move the state with it, or "
                "make a new optimizer"
            )
        reason = _fused.obstacle(param, gradient) if gradient is not None else ""
        if reason:
            raise RuntimeError(f"{what} {reason}")
        missing = [key for key in ("step", *self.carried, *self.keys) if key not in state]
        if missing:
            raise StateError(f"{what}: the state has no {', '.join(map(repr, missing))}")
        wanted = (param.shape, self.state_types[number], param.device)
        for key in self.keys:
            array = state[key]
            held = type(array).__name__
            if isinstance(array, Tensor):
                if (array.shape, array.dtype, array.device) == wanted:
                    continue
                held = f"{list(array.shape)} of {array.dtype} on {array.device}"
            raise StateError(
                f"{what}: its state '{key}' is {held}, expected {list(wanted[0])} of {wanted[1]} on "
                f"{wanted[2]}"
            )

    def gather(self) -> Tensor:
        try:
            return _foreach.gather(self.bucket)
        except StateError as error:
            raise StateError(f"{self.members[0].name}: {error}") from None

    def apply(self, sums: Tensor, ok: Optional[Tensor]) -> None:
        _foreach.apply(self.bucket, sums, ok)

    def finish(self, optimizer: Any, ok: Optional[Tensor]) -> None:
        if self.capturable:
            for key in self.carried:  # the first has changed in place
                for state in self.states[1:]:
                    state[key].copy_(self.bucket.scalars[key])
            made: Any = 1.0 if ok is None else ok.to(torch.float32)
            _lists.add_number_([state["step"] for state in self.states], made)
        else:
            for state in self.states:
                state["step"] += 1
                state.update(self.bucket.scalars)
        if self.rule == "block-to":
            for state, param, one in zip(self.states, self.params, self.settings):
                state["unit"]["block"] = min(int(one.group["block"]), param.numel())
        if any(new is not None for new in self.new_states):
            for param, new in zip(self.params, self.new_states):
                if new is not None:
                    optimizer.state[param] = new
            self.new_states = [None] * len(self.params)


class Plan:
    """What a step does with the parameters that have gradients."""

    def __init__(self, optimizer: Any, settings: Sequence[Any], gradients: Gradients) -> None:
        self.rule: str = optimizer.rule
        self.settings = settings
        self.params = [p for group in optimizer.param_groups for p in group["params"]]
        self.present = [gradient is not None for gradient in gradients]
        self._place = {id(param): place for place, param in enumerate(self.params)}
        members = [
            Member(param, number, index, optimizer._name_of(number, index))
            for number, group in enumerate(optimizer.param_groups)
            for index, param in enumerate(group["params"])
        ]
        stepped = []
        for member in members:
            self._check_wrapper(member)
        for member, gradient in zip(members, gradients):
            if gradient is None or member.param.numel() == 0:
                continue
            self._check(member, gradient)
            self._normalise(member, optimizer.state.get(member.param))
            stepped.append(member)
        #: Parts of one unit share their sums: by number.
        self.units: list[list[Any]] = []
        for unit in self._units(optimizer, members, stepped):
            self.units.append([self._part(optimizer, *one) for one in self._cut(optimizer, unit)])
        every = [part for unit in self.units for part in unit]
        self.parts: list[_fused.Part] = [p for p in every if isinstance(p, _fused.Part)]
        self.batches: list[ForeachPart] = [p for p in every if isinstance(p, ForeachPart)]
        self._gradients_of = {
            id(part): [self._place[id(param)] for param in part.params] for part in every
        }
        ordered: list[Any] = [*self.parts, *self.batches]
        self.exchange = _sharding.Exchange(
            [part.shards for part in ordered],
            RULES[self.rule].weights_per_estimate == "d",
            any(one.on_nonfinite != "ignore" for one in settings),
            optimizer._ranks,
        )
        self.is_capturable = all(one.capturable for one in settings)
        self._alone = len(every) == 1 and bool(self.parts) and not self.exchange.is_needed

    # ---- Who steps with whom ---------------------------------------------------------------------

    def _check_wrapper(self, member: Member) -> None:
        """Raises RuntimeError for a piece of other parameters where the rule is not elementwise."""
        if not _sharding.is_flat_shard(member.param):
            return
        if _state.has_unit(self.rule) or RULES[self.rule].weights_per_estimate == "d":
            raise RuntimeError(
                f"{self.rule}: {member.name} is a piece of FullyShardedDataParallel, which does not say "
                f"what it is a part of, and {RULES[self.rule].class_name} treats weights together: use "
                "FSDP2 (fully_shard), or an elementwise rule"
            )

    def _check(self, member: Member, gradient: Tensor) -> None:
        """Raises RuntimeError that names a parameter that no rule here can step on."""
        param, backend = member.param, self.settings[member.group].backend

        def refuse(reason: str) -> RuntimeError:
            return RuntimeError(f"{self.rule}: {member.name} {reason}")

        if param.is_complex() or not param.is_floating_point():
            raise refuse(f"is of type {param.dtype}, expected floating point")
        if param.layout != torch.strided:
            raise refuse(f"is {param.layout}, expected a dense tensor")
        if backend == "fused" and not _runs_fused(param, backend):
            raise refuse(
                f"is {param.dtype} on {param.device}, and the fused backend takes float, double and "
                'bfloat16 on cpu; backend="foreach" takes all'
            )
        if reason := _fused.obstacle(param, gradient):
            raise refuse(reason)
        if not _sharding.is_sharded(param):
            return
        try:
            _sharding.shards_of(param)
        except ValueError as error:
            raise refuse(str(error)) from None
        if _state.has_unit(self.rule):
            why = (
                "its matrix is over all weights, which no machine has"
                if self.rule == "full-to"
                else "blocks would be cut where the shards are"
            )
            raise refuse(
                f"is sharded ({_sharding.placements(param)}), and {RULES[self.rule].class_name} needs whole "
                f"tensors: {why}. Elementwise rules and RankOneTO work on shards"
            )

    def _normalise(self, member: Member, state: Optional[dict[str, Any]]) -> None:
        """Counters are tensors where steps are captured, and numbers elsewhere, also of states that come from
        torch's own optimizers."""
        _count(state, member.name)  # raises where there is none
        if not state:
            return
        captured = self.settings[member.group].capturable
        for key in ("step", *_state.scalar_keys(self.rule)):
            value = state.get(key)
            if captured and isinstance(value, (int, float)):
                state[key] = _state.counter(value, member.param)
            elif not captured and isinstance(value, Tensor) and value.device.type != "meta":
                state[key] = float(value) if key == "mu_product" else int(value)

    def _units(
        self, optimizer: Any, members: Sequence[Member], stepped: Sequence[Member]
    ) -> list[list[Member]]:
        """Members of each unit, with those of a scope that have no gradient now."""
        if RULES[self.rule].weights_per_estimate != "d":
            if self.rule == "block-to":
                return [[member] for member in stepped]
            return [list(stepped)] if stepped else []

        def scope_of(member: Member) -> Any:
            scope = self.settings[member.group].scope
            return {"whole": 0, "group": (member.group,), "tensor": (member.group, member.place)}[scope]

        scopes: dict[Any, list[Member]] = {scope_of(member): [] for member in stepped}
        if 0 in scopes and any(one.scope != "whole" for one in self.settings):
            raise ValueError(
                f'{self.rule}: groups differ in scope; with scope="whole" all must have it'
            )
        for member in members:
            if scope_of(member) in scopes:
                scopes[scope_of(member)].append(member)
        return [self._scope(optimizer, scope) for scope in scopes.values()]

    def _scope(self, optimizer: Any, scope: Sequence[Member]) -> list[Member]:
        """Those of a scope that its matrix is over: what had a gradient, or wanted one, at its first
        step."""

        def has_gradient(member: Member) -> bool:
            return self.present[self._place[id(member.param)]]

        begun = [member for member in scope if optimizer.state.get(member.param)]
        if not begun:
            begun = [
                member
                for member in scope
                if (member.param.requires_grad or has_gradient(member)) and member.param.numel() > 0
            ]
        counts = [_count(optimizer.state.get(member.param), member.name) for member in begun]
        for member, count in zip(begun, counts):
            if count != counts[0]:
                raise StateError(
                    f"{self.rule}: {begun[0].name} has made {counts[0]} steps by its state, and "
                    f"{member.name} {count}: parameters that share one matrix are stepped together"
                )
        known = {id(member.param) for member in begun}
        for member in scope:
            if has_gradient(member) and member.param.numel() > 0 and id(member.param) not in known:
                raise RuntimeError(
                    f"{self.rule}: {member.name} came after the first step of its scope, whose matrix "
                    'has no place for it; scope="group" or scope="tensor" give later ones their own'
                )
        for member in begun:
            first = begun[0]
            if (member.param.dtype, member.param.device.type) != (
                first.param.dtype,
                first.param.device.type,
            ):
                raise RuntimeError(
                    f"{self.rule}: {first.name} is {first.param.dtype} on {first.param.device} and "
                    f"{member.name} {member.param.dtype} on {member.param.device}: parameters that "
                    'share one matrix must be alike; scope="tensor" gives each its own'
                )
            if self.rule == "full-to" and not has_gradient(member):
                raise RuntimeError(
                    f"{self.rule}: {member.name} has no gradient, and Full-TO needs those of all "
                    'parameters of a scope in each step; scope="tensor" gives each its own'
                )
        return begun

    def _cut(
        self, optimizer: Any, unit: Sequence[Member]
    ) -> list[tuple[list[Member], _sharding.Shards, Any]]:
        """The parts of a unit: what one call can step on."""
        whole = RULES[self.rule].weights_per_estimate == "d"
        parts: dict[Any, list[Member]] = {}
        shards: dict[Any, _sharding.Shards] = {}
        for member in unit:
            cut = _sharding.shards_of(member.param)
            fused = _runs_fused(member.param, self.settings[member.group].backend)
            key: Any = (fused, cut)
            if not whole:
                steps = _count(optimizer.state.get(member.param), member.name)
                key = (*key, member.group, member.param.dtype, member.param.device, steps)
            parts.setdefault(key, []).append(member)
            shards[key] = cut
        return [(members, shards[key], key[0]) for key, members in parts.items()]

    def _part(
        self, optimizer: Any, members: Sequence[Member], shards: _sharding.Shards, fused: bool
    ) -> Any:
        kind = _fused.Part if fused else ForeachPart
        states = [optimizer.state.get(member.param) or None for member in members]
        return kind(self.rule, members, self.settings, states, shards)

    # ---- Steps -----------------------------------------------------------------------------------

    def fits(self, optimizer: Any, gradients: Gradients) -> bool:
        """Whether the same parameters have gradients."""
        params = [p for group in optimizer.param_groups for p in group["params"]]
        return (
            len(params) == len(self.params)
            and all(map(operator.is_, params, self.params))
            and [gradient is not None for gradient in gradients] == self.present
        )

    def configure(self, moved: dict[int, Any]) -> None:
        for unit in self.units:
            for part in unit:
                part.configure(self.settings, moved)

    def step(self, optimizer: Any, gradients: Gradients) -> None:
        """One step of all parts. Raises Stale, and has changed nothing, where a new plan is needed."""
        threads = torch.get_num_threads()
        for part in self.parts:
            given = [gradients[place] for place in self._gradients_of[id(part)]]
            part.prepare(optimizer, given, threads, self.settings[part.members[0].group].maximize)
        for batch in self.batches:
            batch.prepare(
                optimizer, [gradients[place] for place in self._gradients_of[id(batch)]]
            )
        if self._alone:
            try:
                self.parts[0].apply(None)
            except NonFiniteGradient as error:
                if self._decide(optimizer, gradients, [1.0], str(error)):
                    return
        elif not self._gather_and_apply(optimizer, gradients):
            return
        for part in self.parts:
            part.finish(
                optimizer, [gradients[place] is None for place in self._gradients_of[id(part)]]
            )
        for batch in self.batches:
            batch.finish(optimizer, None)

    def _gather_and_apply(self, optimizer: Any, gradients: Gradients) -> bool:
        """False where the step is skipped."""
        sums: list[Any] = [part.gather() for part in self.parts]
        of_batches = [batch.gather() for batch in self.batches]
        checked = [one[0] for part, one in zip(self.parts, sums) if part.checks]
        found = self._found(of_batches)
        if found is not None:
            checked.append(float(found))  # the one look at devices
        if self.exchange.is_needed:
            rows = [torch.tensor(one, dtype=torch.float64) for one in sums] + of_batches
            bad = torch.tensor(float(any(checked)), dtype=torch.float64)
            verdict = self.exchange(rows, bad if self.exchange.agree else None)
            checked = [] if verdict is None else [float(verdict)]
            sums = [row.tolist() for row in rows[: len(sums)]]
            of_batches = rows[len(sums) :]
        if any(checked) and self._decide(optimizer, gradients, checked, ""):
            return False
        totals: dict[int, Any] = {id(part): one for part, one in zip(self.parts, sums)}
        totals.update({id(batch): one for batch, one in zip(self.batches, of_batches)})
        for unit in self.units:
            shared: Any = totals[id(unit[0])]
            if len(unit) > 1 and RULES[self.rule].weights_per_estimate == "d":
                shared = _added(shared, [totals[id(part)] for part in unit[1:]])
                for part in unit:
                    totals[id(part)] = shared
        for part in self.parts:
            part.apply([0.0, *totals[id(part)][1:]])
        for batch in self.batches:
            batch.apply(totals[id(batch)], None)
        return True

    def _found(self, rows: Sequence[Tensor]) -> Optional[Tensor]:
        """Not 0 where a batch has found a gradient that is not finite; None where none has looked."""
        found: Optional[Tensor] = None
        for batch, row in zip(self.batches, rows):
            if batch.checks:
                found = row[0] if found is None else found + row[0].to(found.device)
        return found

    def _decide(
        self, optimizer: Any, gradients: Gradients, found: Sequence[float], message: str
    ) -> bool:
        """Some gradient is not finite, here or on another machine: raises, or True to skip the step, on
        all machines alike."""
        every: list[Any] = [*self.parts, *self.batches]
        policies = {self.settings[part.members[0].group].on_nonfinite for part in every}
        if self.exchange.ranks is not None:  # which may have parameters of other groups
            policies = {one.on_nonfinite for one in self.settings}
        bad = self._first_nonfinite(gradients)
        if message and bad is None:  # a rate that weights cannot take
            raise RuntimeError(message)
        if "raise" not in policies:
            optimizer._count_skipped()
            return True
        if bad is None:
            raise NonFiniteGradient(
                f"{self.rule}: a gradient on another machine is not finite; no weights and no state "
                "were changed"
            )
        raise NonFiniteGradient(
            f"{self.rule}: the gradient of {bad[0]} is not finite at element {bad[1]}; no weights and "
            "no state were changed"
        )

    def _first_nonfinite(self, gradients: Gradients) -> Optional[tuple[str, int]]:
        """Name and element, in the order of the parameters."""
        every: list[Any] = [*self.parts, *self.batches]
        for part in sorted(every, key=lambda part: self._gradients_of[id(part)][0]):
            if not part.checks:
                continue
            for member, place in zip(part.members, self._gradients_of[id(part)]):
                gradient = gradients[place]
                if gradient is None:
                    continue
                bad = torch.isfinite(_sharding.local(gradient)).logical_not().reshape(-1)
                if bool(bad.any()):
                    return member.name, int(bad.nonzero()[0, 0])
        return None

    def step_without_waiting(self, optimizer: Any, gradients: Gradients) -> None:
        """The same where all parts are capturable: nothing is read on the host."""
        ok: Optional[Tensor] = None
        for batch in self.batches:
            batch.prepare(
                optimizer, [gradients[place] for place in self._gradients_of[id(batch)]]
            )
        rows = [batch.gather() for batch in self.batches]
        found = self._found(rows)
        if self.exchange.is_needed:
            found = self.exchange(rows, found)
        if found is not None:
            ok = found == 0
        sums = {id(batch): row for batch, row in zip(self.batches, rows)}
        for unit in self.units:
            if len(unit) > 1 and RULES[self.rule].weights_per_estimate == "d":
                shared = _added(sums[id(unit[0])], [sums[id(part)] for part in unit[1:]])
                for part in unit:
                    sums[id(part)] = shared
        for batch in self.batches:
            here = ok if ok is None else ok.to(batch.bucket.params[0].device)
            batch.apply(sums[id(batch)], here)
            batch.finish(optimizer, here)
        if ok is not None:
            optimizer._count_skipped(ok.logical_not())


def _added(first: Any, others: Sequence[Any]) -> Any:
    """Sums of the parts of a unit, added up."""
    total = first
    for one in others:
        total = (
            total + one.to(total.device)
            if isinstance(total, Tensor)
            else [x + y for x, y in zip(total, one)]
        )
    return total
