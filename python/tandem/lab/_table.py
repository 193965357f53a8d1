# SPDX-License-Identifier: MIT
"""A study as a table of text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tandem.lab._store import Row, Study, Task

_RIGHT = ("least loss", "rho x 1e3", "95 % interval", "p (Holm)", "gap to F*", "seconds", "grid")


def _number(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


def _setting(row: Row, task: Task) -> str:
    """The chosen value of what the grid varied; ! where it is the grid's end."""
    grid: dict[str, list[str]] = {}
    for each in task.optimizers:
        if each.label == row.optimizer:
            grid.update(each.grid)
    order = [name for name in ("lr", "alpha", "beta", "decay") if name in grid]
    order += sorted(set(grid) - set(order))
    return " ".join(
        f"{name}={row.options[name]}{'!' if name in row.edge else ''}"
        for name in order
        if name in row.options
    )


def _cells(row: Row, task: Task) -> dict[str, str]:
    interval = row.interval
    members = f"{row.members}" + (f", {row.diverged} diverged" if row.diverged else "")
    return {
        "optimizer": row.optimizer + (" (baseline)" if row.baseline else ""),
        "least loss": _number(row.mean_min_loss, ".6f"),
        "rho x 1e3": "" if row.rho is None else format(1e3 * row.rho, "+.3f"),
        "mark": row.mark or "",
        "95 % interval": ""
        if interval is None
        else f"[{1e3 * interval[0]:+.3f}, {1e3 * interval[1]:+.3f}]",
        "p (Holm)": _number(row.p_holm, ".2g"),
        "gap to F*": _number(row.mean_gap, ".2e"),
        "seconds": _number(row.seconds, ".3f"),
        "grid": members,
        "chosen": _setting(row, task),
    }


def _lines(rows: list[dict[str, str]]) -> list[str]:
    names = [name for name in rows[0] if any(row[name] for row in rows)]
    width = {name: max(len(name), *(len(row[name]) for row in rows)) for name in names}

    def line(cells: dict[str, str]) -> str:
        padded = [
            cells[n].rjust(width[n]) if n in _RIGHT else cells[n].ljust(width[n]) for n in names
        ]
        return "  ".join(padded).rstrip()

    return [line({n: n for n in names}), line({n: "-" * width[n] for n in names}), *map(line, rows)]


def table(study: Study) -> str:
    lines: list[Any] = []
    for task in study.tasks:
        rows = [_cells(row, task) for row in study.rows if row.task == task.name]
        lines += [f"{task.name}: {task.samples} samples, {task.dimension} weights"]
        lines += _lines(rows) if rows else ["no runs yet"]
        lines.append("")
    note = "" if study.complete else "Not complete: figures are preliminary. "
    note += f"Tuned on seed {study.tune_seed}, measured on {len(study.seeds)} others, "
    note += f"{study.epochs} epochs."
    if any(row.edge for row in study.rows):
        note += " ! is an end of the grid: a better value may lie beyond."
    return "\n".join([*lines, note])
