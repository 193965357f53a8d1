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

from tandem import _lab

SCALED = frozenset({"adagrad", "rmsprop", "adam", "adamw", "lion", "adam-to"})


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
    if _lab.parse_method(method)[1] in SCALED:
        size = scales["mean_sum"]
    else:
        size = curvature(scales, task.rows, batch, lambda_)
    return 1 / size if size > 0 else 1.0


def default_lr(method: str, task: _lab.Task, batch: int, lambda_: float) -> float:
    """1 / L, half of what is stable; where steps are scaled, a tenth of a logit a step."""
    scaled = _lab.parse_method(method)[1] in SCALED
    return (0.1 if scaled else 1.0) * unit(method, task, batch, lambda_)


def default_grid(method: str, task: _lab.Task, batch: int, lambda_: float) -> dict[str, Any]:
    """Rates over two or three decades around the unit, with and without decay."""
    rule = _lab.parse_method(method)[1]
    one = unit(method, task, batch, lambda_)
    multiples = (0.1, 0.3, 1, 3, 10, 30) if rule in SCALED else (0.3, 1, 3, 10, 30, 100)
    grid: dict[str, Any] = {"lr": [float(f"{m * one:.2g}") for m in multiples]}
    if rule.endswith("-to"):
        # What A learns in a step grows with the squares of the weights that it sees at once.
        weights = task.features * task.classes
        seen = {"diag-to": 1, "adam-to": 1, "block-to": 16}.get(rule, weights)
        grid["alpha"] = [0] + [float(f"{a / seen:.2g}") for a in (0.01, 0.1)]
        grid["beta"] = [0.1, 0.5]
    grid["decay"] = [1, 0.8]
    return grid
