# SPDX-License-Identifier: MIT
"""Curves of a study by matplotlib, without its global state."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from tandem.lab._needs import needs

if TYPE_CHECKING:
    from tandem.lab._store import Study, Task

_NAMES = {
    "epoch": "epochs",
    "seconds": "seconds",
    "gradient_evaluations": "gradient evaluations",
    "train_loss": "training loss",
    "validation_loss": "validation loss",
    "validation_accuracy": "validation accuracy",
}


def _draw(axes: Any, task: Task, x: str, y: str, log: bool) -> None:
    for label, runs in task.curves.items():
        # Runs that diverged end early: what all seeds have is shown.
        points = list(runs.values())
        length = min((len(each) for each in points), default=0)
        if length == 0:
            continue
        at = np.mean([each[x][:length] for each in points], axis=0)
        values = np.stack([each[y][:length] for each in points]).astype(float)
        (line,) = axes.plot(at, values.mean(axis=0), label=label, linewidth=1.5)
        axes.fill_between(
            at, values.min(axis=0), values.max(axis=0), color=line.get_color(), alpha=0.2, lw=0
        )
    if log:
        axes.set_yscale("log")
    axes.set_title(task.name, fontsize="medium")
    axes.set_xlabel(_NAMES.get(x, x))
    axes.set_ylabel(_NAMES.get(y, y))
    axes.grid(True, which="both", alpha=0.2)
    axes.legend()


def plot(study: Study, path: str | os.PathLike[str] | None, x: str, y: str, log: bool) -> Any:
    figure_of = needs("matplotlib.figure", "plot()", "matplotlib").Figure
    if not study.tasks:
        raise ValueError(f"{study.name} has no tasks")
    known = {
        str(name)
        for task in study.tasks
        for runs in task.curves.values()
        for points in runs.values()
        for name in points.dtype.names or ()
    }
    for axis in (x, y):
        if known and axis not in known:
            raise ValueError(f"Unknown figure {axis!r}, expected one of {sorted(known)}")
    count = len(study.tasks)
    figure = figure_of(figsize=(6.4 * count, 4.2), layout="constrained")
    panels = figure.subplots(1, count, squeeze=False)[0]
    for axes, task in zip(panels, study.tasks):
        _draw(axes, task, x, y, log)
    if path is not None:
        figure.savefig(os.fspath(path), dpi=120)
    return figure
