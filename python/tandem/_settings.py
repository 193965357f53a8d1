# SPDX-License-Identifier: MIT
"""The options of a parameter group as a step needs them: checked, and read again only where they changed."""

from __future__ import annotations

from typing import Any, Iterable, Optional

import torch
from torch import Tensor

from . import _core, _options, _state
from ._rules import RULES


class Settings:
    """Of one group. `group` is the group itself, which everybody may write to."""

    def __init__(self, rule: str, group: dict[str, Any]) -> None:
        self.rule, self.group = rule, group
        self.names = tuple(_options.READERS[rule])
        self.core_rates = _options.RATES[rule]
        self._seen: tuple[Any, ...] = ()
        self.read()

    def _values(self) -> tuple[Any, ...]:
        values = list(map(self.group.get, self.names))
        for number, value in enumerate(values):
            if isinstance(value, Tensor):
                # On a device that is not to be waited for, the tensor itself is the value.
                values[number] = id(value) if self.group["capturable"] else float(value)
            elif isinstance(value, list):  # which may be changed in place
                values[number] = tuple(value)
        values.append(self.group.get("first_lr"))
        return tuple(values)

    def look(self) -> Optional[list[str]]:
        """The rates that have changed since the last look, [] where nothing has; None where it was more
        than rates. Raises for what an option cannot be, and then looks again the next time."""
        now = self._values()
        if now == self._seen:
            return []
        before = dict(zip(self.names, self._seen))
        changed = [name for name, value in zip(self.names, now) if before[name] != value]
        if self.rule == "momentum" and not {"momentum", "form"}.isdisjoint(changed):
            self.group.update(_state.fixed(self.rule, self.group))  # for torch's SGD
        if now[-1] != self._seen[-1] or not set(changed) <= set(self.core_rates):
            self.read(now)
            return None
        for name in changed:
            _options.READERS[self.rule][name](self.group[name])
        if self.group.get("schedule_all") and "lr" in changed:
            changed = list(dict.fromkeys([*changed, "alpha", "beta"]))
        self.rates = self.rates_now()
        self._put_rates(changed)
        self._seen = now
        return changed

    @property
    def kind(self) -> tuple[Any, ...]:
        """What decides by what, and with whom, the parameters are stepped: for another one a plan is made
        anew. Other options are taken over by the plan there is."""
        checks = self.on_nonfinite != "ignore"
        return self.backend, self.capturable, self.scope, self.narrow, checks

    def read(self, now: Optional[tuple[Any, ...]] = None) -> None:
        group, rule = self.group, self.rule
        texts = _options.check(rule, group)
        _state.check_fixed(rule, group, f"{RULES[rule].class_name}: invalid group")
        if group["capturable"] and group["backend"] == "fused":
            raise ValueError('capturable=True is of backend="foreach", not of "fused"')
        self.capturable: bool = bool(group["capturable"])
        self.backend: str = "foreach" if self.capturable else group["backend"]
        self.scope: str = group.get("scope", "tensor")
        self.on_nonfinite: str = group["on_nonfinite"]
        self.maximize: bool = bool(group["maximize"])
        self.stochastic: bool = bool(group["stochastic_rounding"])
        self.seed: int = int(group["seed"])
        self.narrow: bool = group.get("state_type", "full") == "bfloat16"
        self.rates = self.rates_now()
        self.core = _options.core_options(rule, texts)
        self._put_rates(self.core_rates)
        self._seen = self._values() if now is None else now

    def _put_rates(self, names: Iterable[str]) -> None:
        """Rates as texts, as they are by now."""
        for name in names:
            rate = self.rates[name]
            if isinstance(rate, (float, str)):
                self.core[self.core_rates[name]] = rate if isinstance(rate, str) else repr(rate)

    def rates_now(self) -> dict[str, Any]:
        """Rates as numbers, schedules as texts, and, of a group that is captured, tensors."""
        group = self.group
        rates: dict[str, Any] = {}
        for name in self.core_rates:
            value = group[name]
            if isinstance(value, str):
                if group["capturable"]:
                    raise ValueError(
                        f"{name} is the schedule {value!r}: a step that is captured takes numbers and "
                        "tensors, which a scheduler may change in place"
                    )
                rates[name] = value
            elif isinstance(value, Tensor) and group["capturable"]:
                rates[name] = value
            else:
                rates[name] = float(value)
        if not group.get("schedule_all"):
            return rates
        lr, first = group["lr"], group.get("first_lr", group["lr"])
        if isinstance(lr, str):
            raise ValueError(
                f"schedule_all moves alpha and beta as a scheduler moves lr, which is the schedule "
                f"{lr!r} here: give alpha and beta schedules as well"
            )
        factor: Any
        if isinstance(lr, Tensor) and group["capturable"]:
            first = torch.as_tensor(first, device=lr.device)
            factor = torch.where(first != 0, lr / first, torch.ones_like(lr))
        else:
            factor = float(lr) / float(first) if float(first) != 0 else 1.0
        for name in ("alpha", "beta"):
            if isinstance(group[name], str):
                raise ValueError(f"schedule_all cannot move {name}, which is a schedule itself")
            rates[name] = group[name] * factor
        return rates

    def rates_at(self, step: int) -> dict[str, Any]:
        """The rates of a step, from 1, without schedules."""
        epoch = self.group["epoch"]
        return {
            name: _core.schedule_value(rate, step, epoch) if isinstance(rate, str) else rate
            for name, rate in self.rates.items()
        }

    def options_at(self, step: int) -> dict[str, Any]:
        """All options with the rates of a step: what _foreach takes."""
        return {**self.group, **self.rates_at(step)}
