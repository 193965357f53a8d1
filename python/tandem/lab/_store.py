# SPDX-License-Identifier: MIT
"""Run stores and the studies in them as plain, frozen objects."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tandem.lab import _lab
from tandem.lab._needs import needs
from tandem.lab._table import table
from tandem.lab._values import choice


def _mean(values: tuple[float | None, ...]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known and len(known) == len(values) else None


@dataclass(frozen=True)
class Row:
    """What one optimizer gave on one task, against the baseline; None is what cannot be had.

    The fields are those of ``tandem report --json``; docs/statistics.md says what they mean.
    """

    study: str
    data: str
    model: str
    lambda_: float
    optimizer: str
    options: Mapping[str, str]
    edge: tuple[str, ...]
    rho: float | None
    mark: str | None
    s: float | None
    p: float | None
    interval: tuple[float, float] | None
    min_loss: tuple[float | None, ...]
    gap: tuple[float | None, ...]
    diverged: int
    members: int
    gradient_evaluations: int | None
    seconds: float | None
    state_bytes: int | None
    task: str
    method: str
    baseline: bool
    ablation: bool
    pruned: bool
    seeds: tuple[int, ...]
    rho_seeds: tuple[float | None, ...]
    p_holm: float | None
    measured: int
    measured_diverged: int
    rho_evaluations: float | None
    rho_seconds: float | None
    tuned_loss: float | None
    rho_tuned: float | None
    rho_budget: float | None
    budget: int
    best_of: tuple[Mapping[str, float], ...]

    @property
    def mean_min_loss(self) -> float | None:
        """The mean over seeds, None unless all have one."""
        return _mean(self.min_loss)

    @property
    def mean_gap(self) -> float | None:
        """The mean over seeds, None unless all have one."""
        return _mean(self.gap)

    def __repr__(self) -> str:
        rho = "" if self.rho is None else f", rho={self.rho:.4g} {self.mark or ''}".rstrip()
        return f"Row({self.optimizer!r} on {self.task!r}, min_loss={self.mean_min_loss}{rho})"


def _row(values: dict[str, Any]) -> Row:
    values["lambda_"] = values.pop("lambda")
    known = {field.name for field in fields(Row)}
    return Row(
        **{
            key: tuple(value) if isinstance(value, list) else value
            for key, value in values.items()
            if key in known
        }
    )


@dataclass(frozen=True, eq=False, repr=False)
class Run:
    """One setting on one seed.

    `points` is a structured array with a row an epoch, the first the start:
    ``run.points["train_loss"]``.
    """

    options: Mapping[str, str]
    seed: int
    diverged: bool
    pruned: bool
    state_bytes: int
    points: NDArray[Any]

    @property
    def min_loss(self) -> float | None:
        """The least training loss, the start not among them; None for a run that diverged."""
        losses = self.points["train_loss"][1:]
        if self.diverged or len(losses) == 0 or not np.isfinite(losses).all():
            return None
        return float(losses.min())

    def __repr__(self) -> str:
        state = ", diverged" if self.diverged else ", pruned" if self.pruned else ""
        return f"Run(seed={self.seed}, epochs={len(self.points) - 1}{state}, {dict(self.options)})"


@dataclass(frozen=True, eq=False, repr=False)
class OptimizerRuns:
    """Runs of one optimizer: its whole grid on the tuning seed, its best setting on the others."""

    label: str
    method: str
    baseline: bool
    ablation: bool
    grid: Mapping[str, list[str]]
    tuned: tuple[Run, ...]
    measured: tuple[Run, ...]

    def __repr__(self) -> str:
        return (
            f"OptimizerRuns({self.label!r}, {len(self.tuned)} tuned, {len(self.measured)} measured)"
        )


@dataclass(frozen=True, eq=False, repr=False)
class Task:
    """A data set, a model and lambda, with the runs of every optimizer on it."""

    name: str
    data: str
    model: str
    lambda_: float
    batch: int
    samples: int
    dimension: int
    optimum: float | None
    optimizers: tuple[OptimizerRuns, ...]

    @property
    def curves(self) -> dict[str, dict[int, NDArray[Any]]]:
        """Points of the measured runs: ``curves["adam"][seed]["train_loss"]``."""
        return {each.label: {r.seed: r.points for r in each.measured} for each in self.optimizers}

    def __repr__(self) -> str:
        names = ", ".join(each.label for each in self.optimizers)
        return f"Task({self.name!r}, {self.samples} samples, {self.dimension} weights: {names})"


@dataclass(frozen=True, eq=False, repr=False)
class Study:
    """A comparison: tasks with their runs, and a row for each task and optimizer."""

    name: str
    complete: bool
    pruned: bool
    epochs: int
    tune_seed: int
    seeds: tuple[int, ...]
    text: str
    command: str
    version: str
    machine: str
    tasks: tuple[Task, ...]
    rows: tuple[Row, ...]

    @property
    def curves(self) -> dict[str, dict[int, NDArray[Any]]]:
        """Points of the measured runs, for a study of one task: ``curves["adam"][seed]``."""
        if len(self.tasks) != 1:
            raise ValueError(f"{self.name} has {len(self.tasks)} tasks: use study.tasks[i].curves")
        return self.tasks[0].curves

    def __repr__(self) -> str:
        state = "" if self.complete else ", not complete"
        return f"Study({self.name!r}, {len(self.tasks)} tasks, {len(self.rows)} rows{state})"

    def __str__(self) -> str:
        return table(self)

    def to_pandas(self, what: str = "rows") -> Any:
        """A DataFrame of the `rows`, of all `runs`, or of all `points` of all runs."""
        pandas = needs("pandas", "to_pandas()")
        if what == "rows":
            rows = [
                {**_fields(row), "mean_min_loss": row.mean_min_loss, "mean_gap": row.mean_gap}
                for row in self.rows
            ]
            return pandas.DataFrame(rows)
        if what not in ("runs", "points"):
            raise ValueError(f"what must be 'rows', 'runs' or 'points', got {what!r}")
        records: list[dict[str, Any]] = []
        frames = []
        for task, optimizer, phase, run in self._runs():
            own = {
                "task": task.name,
                "optimizer": optimizer.label,
                "phase": phase,
                "seed": run.seed,
                "run": len(records),
            }
            rest = {k: v for k, v in _fields(run).items() if k not in ("points", "options", "seed")}
            records.append({**own, "min_loss": run.min_loss, **rest, **run.options})
            if what == "points":
                frame = pandas.DataFrame(run.points)
                for place, (key, value) in enumerate(own.items()):
                    frame.insert(place, key, value)
                frames.append(frame)
        if what == "runs":
            return pandas.DataFrame(records)
        return pandas.concat(frames, ignore_index=True) if frames else pandas.DataFrame()

    def _runs(self) -> Iterator[tuple[Task, OptimizerRuns, str, Run]]:
        for task in self.tasks:
            for optimizer in task.optimizers:
                for run in optimizer.tuned:
                    yield task, optimizer, "tune", run
                for run in optimizer.measured:
                    yield task, optimizer, "measure", run

    def plot(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        x: str = "epoch",
        y: str = "train_loss",
        log: bool = True,
    ) -> Any:
        """Curves of the measured runs, a panel a task: the mean over seeds, and their range.

        Returns the figure of matplotlib, and writes it to `path` if one is given.
        """
        from tandem.lab._plot import plot

        return plot(self, path, x, y, log)


def _fields(record: Any) -> dict[str, Any]:
    return {field.name: getattr(record, field.name) for field in fields(record)}


def _study(values: dict[str, Any]) -> Study:
    for task in values["tasks"]:
        for one in task["optimizers"]:
            for phase in ("tuned", "measured"):
                one[phase] = tuple(Run(**run) for run in one[phase])
        task["optimizers"] = tuple(OptimizerRuns(**one) for one in task["optimizers"])
    values["tasks"] = tuple(Task(**task) for task in values["tasks"])
    values["rows"] = tuple(_row(row) for row in json.loads(values["rows"]))
    values["seeds"] = tuple(values["seeds"])
    return Study(**values)


def load_study(path: str, name: str, report_loss: str = "total") -> Study:
    choice(report_loss, "report_loss", ("total", "data"))
    return _study(_lab.load_study(path, name, report_loss))


@dataclass(frozen=True)
class StudyInfo:
    """What a store has of a study, in numbers; `created` in seconds since 1970."""

    name: str
    created: int
    tasks: int
    members: int
    points: int
    units: int
    units_done: int


class Store:
    """A run store, for reading.

    Nothing is held open: each question reads the store as it is then, also while others write.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> from tandem import lab
    >>> path = os.path.join(tempfile.mkdtemp(), "runs.db")
    >>> X, y = np.eye(8), np.arange(8) % 2
    >>> study = lab.compare(X, y, ["sgd"], epochs=1, seeds=2, store=path, name="mine")
    >>> store = lab.open_store(path)
    >>> store.names
    ('mine',)
    >>> store["mine"].rows == study.rows
    True
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        if "://" not in self.path and not os.path.exists(self.path):
            raise FileNotFoundError(f"No such file: {self.path!r}, expected a run store")
        self.studies  # says at once what is wrong with the file

    @property
    def studies(self) -> tuple[StudyInfo, ...]:
        """What there is, in the order of names."""
        return tuple(StudyInfo(**info) for info in _lab.studies(self.path))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(info.name for info in self.studies)

    def study(self, name: str | None = None, report_loss: str = "total") -> Study:
        """The study of that name; without a name, the only one.

        With ``report_loss="data"`` training losses are those without lambda/2 |w|^2, everywhere and
        in the choice of settings.
        """
        if name is None:
            names = self.names
            if len(names) != 1:
                raise ValueError(f"{self.path} has {len(names)} studies, name one of {names}")
            name = names[0]
        return load_study(self.path, name, report_loss)

    def __getitem__(self, name: str) -> Study:
        if name not in self.names:
            raise KeyError(name)
        return self.study(name)

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.studies)

    def __repr__(self) -> str:
        return f"Store({self.path!r}: {', '.join(self.names) or 'no studies'})"


def open_store(path: str | os.PathLike[str]) -> Store:
    """A run store that the program or :func:`compare` wrote.

    ``path`` is a file, or the URL of a PostgreSQL database, ``"postgresql://host/database"``.

    Raises
    ------
    FileNotFoundError
        There is no such file.
    StoreError
        It is no run store, is damaged, or is of a newer version.
    """
    return Store(path)
