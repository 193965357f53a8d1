# SPDX-License-Identifier: MIT
"""Rates that suit the scale of the data.

A rule that scales its steps (Adam and its relatives) moves each weight by about lr, so a logit by
at most lr times the sum of |x_i|. Every other rule moves along the gradient, and is stable up to
about 2 / L, where L bounds the curvature of a batch's loss: for softmax regression
|x|^2 / 2 of a sample, the top eigenvalue of X^T X / (2 n) of all, and in between for a batch
(Gazagnadou, Gower and Salmon 2019).
"""

from __future__ import annotations

from typing import Any

from tandem.lab import _lab
from tandem._rules import RULES, Rule


def _rule(method: str) -> Rule:
    return RULES[_lab.parse_method(method)[1]]


def curvature(scales: dict[str, float], rows: int, batch: int, lambda_: float) -> float:
    """The bound L for batches of this size drawn without replacement, with lambda's part."""
    if rows == 1 or batch >= rows:
        share = 0.0
    else:
        share = (rows - batch) / (batch * (rows - 1))
    # The eigenvalue is of some rows only: a tenth more for the others.
    whole = min(1.1 * scales["top_eigenvalue"], scales["mean_square"])
    return (share * scales["most_square"] + (1 - share) * whole) / 2 + lambda_


def unit(method: str, task: _lab.Task, batch: int, lambda_: float) -> float:
    """1 / L, or for rules that scale their steps 1 / (mean sum of |x_i|)."""
    scales = _lab.scales(task)
    if _rule(method).scales_steps:
        size = scales["mean_sum"]
    else:
        size = curvature(scales, task.rows, batch, lambda_)
    return 1 / size if size > 0 else 1.0


def default_lr(method: str, task: _lab.Task, batch: int, lambda_: float) -> float:
    """1 / L, half of what is stable; where steps are scaled, a tenth of a logit a step."""
    return (0.1 if _rule(method).scales_steps else 1.0) * unit(method, task, batch, lambda_)


def _points(low: float, high: float, count: int) -> list[float]:
    """Even in the logarithm, with one digit: 0.1, 0.3, 1, 3, 10, 30."""
    ratio = (high / low) ** (1 / max(count - 1, 1))
    return [float(f"{low * ratio**i:.1g}") for i in range(count)]


def default_grid(method: str, task: _lab.Task, batch: int, lambda_: float) -> dict[str, Any]:
    """What the rule's declaration says about tuning, on the scale of the data."""
    rule = _rule(method)
    # What A learns in a step grows with the squares of the weights that it sees at once.
    seen = {"": 1, "1": 1, "block": 16}.get(
        rule.weights_per_estimate, task.features * task.classes
    )
    grid: dict[str, Any] = {}
    for option, tuning in rule.tuning.items():
        if option == "lr":
            one = unit(method, task, batch, lambda_)
            multiples = _points(tuning["least_multiple"], tuning["most_multiple"], tuning["points"])
            grid[option] = [float(f"{m * one:.2g}") for m in multiples]
            continue
        values = _points(tuning["low"], tuning["high"], tuning["points"])
        if option == "alpha":
            values = [float(f"{value / seen:.2g}") for value in values]
        grid[option] = [0, *values] if tuning["zero_too"] else values
    return grid
