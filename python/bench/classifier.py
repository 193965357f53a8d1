# SPDX-License-Identifier: MIT
"""Time to the same training loss: TandemClassifier against scikit-learn's own SAGA.

    TANDEM_DATA=FOLDER python python/bench/classifier.py --markdown

Both minimise F = mean cross entropy + lambda/2 |w|^2 over the same arrays, which have a column of
ones in place of an intercept. scikit-learn trains for some epochs; what F is then, by double
precision in numpy, is what Tandem has to reach. A time is that of the whole fit() with as many
epochs as that takes on one thread, the median of some repeats. Exit code 3: data are missing.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from tandem import lab

# Data set, lambda, epochs of scikit-learn, parameters of Diag-TO: the best of a small grid.
TASKS: list[tuple[str, float, list[int], dict[str, Any]]] = [
    (
        "mnist",
        1e-4,
        [5, 15],
        {"lr": 1.0, "alpha": 0.01, "beta": 0.1, "options": {"decay": 0.8}, "batch_size": 64},
    ),
    (
        "libsvm:a9a",
        1e-4,
        [5, 15],
        {"lr": 0.3, "alpha": 0.01, "beta": 0.5, "options": {"decay": 0.8}, "batch_size": 32},
    ),
]
MOST_EPOCHS = 60


def objective(model: Any, X: Any, y: Any, lambda_: float) -> float:
    """F in double precision, from coef_ alone; the two-class problem has one vector of weights."""
    W = np.asarray(model.coef_, dtype=np.float64)
    scores = np.asarray(X @ W.T)
    if W.shape[0] == 1:
        scores = np.column_stack([np.zeros(len(y)), scores])
    top = scores.max(axis=1)
    sums = top + np.log(np.exp(scores - top[:, None]).sum(axis=1))
    return float((sums - scores[np.arange(len(y)), y]).mean() + lambda_ / 2 * (W**2).sum())


def timed(make: Any, X: Any, y: Any, repeats: int) -> tuple[float, float, Any]:
    """Seconds of some fits, which differ in the seed, and of the processor; the first model."""
    seconds, processor, models = [], [], []
    for seed in range(repeats):
        model = make(seed)
        began, began_processor = time.perf_counter(), time.process_time()
        model.fit(X, y)
        seconds.append(time.perf_counter() - began)
        processor.append(time.process_time() - began_processor)
        models.append(model)
    return statistics.median(seconds), statistics.median(processor), models[0]


def epochs_to(target: float, make: Any, X: Any, y: Any, repeats: int) -> int | None:
    """Epochs until F of every seed's run is at most the target."""
    worst = 0
    for seed in range(repeats):
        curve = make(seed, MOST_EPOCHS).fit(X, y).loss_curve_
        reached = np.flatnonzero(curve <= target)
        if len(reached) == 0:
            return None
        worst = max(worst, int(reached[0]))
    return worst


def run(
    task: tuple[str, float, list[int], dict[str, Any]], repeats: int, out: list[list[str]]
) -> None:
    name, lambda_, budgets, own_parameters = task
    data = lab.load_data(name)
    X, y = data.X, data.y.astype(np.int64)
    common = {"C": 1 / (lambda_ * X.shape[0]), "fit_intercept": False, "tol": 0}

    def saga(seed: int, epochs: int) -> Any:
        return lab.TandemClassifier(max_iter=epochs, random_state=seed, n_threads=1, **common)

    def diagonal(seed: int, epochs: int) -> Any:
        return saga(seed, epochs).set_params(optimizer="diag-to", **own_parameters)

    for budget in budgets:

        def theirs(seed: int, budget: int = budget) -> Any:
            return LogisticRegression(solver="saga", max_iter=budget, random_state=seed, **common)

        seconds, processor, model = timed(theirs, X, y, repeats)
        target = objective(model, X, y, lambda_)
        short = name.rpartition(":")[2]

        def row(label: str, loss: float, epochs: int, own: float, own_cpu: float) -> list[str]:
            return [short, label, f"{loss:.5f}", str(epochs), f"{own:.2f}", f"{own_cpu:.2f}",
                    f"{seconds / own:.1f}", f"{processor / own_cpu:.1f}"]  # fmt: skip

        out.append(row("scikit-learn SAGA", target, budget, seconds, processor))
        for label, make in (("Tandem SAGA", saga), ("Tandem Diag-TO, tuned", diagonal)):
            epochs = epochs_to(target, make, X, y, repeats)
            if epochs is None:
                out.append([short, label, f"not in {MOST_EPOCHS} epochs", *[""] * 5])
                continue
            *own, reached = timed(lambda seed: make(seed, epochs), X, y, repeats)
            loss = objective(reached, X, y, lambda_)
            if loss > target * (1 + 1e-6):
                raise AssertionError(f"{label} came to {loss}, and not to {target}")
            out.append(row(label, loss, epochs, *own))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--markdown", action="store_true", help="a table of Markdown")
    parser.add_argument("--data", choices=[task[0] for task in TASKS], help="only this one")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)  # epochs are given
    rows = [["data", "solver", "F", "epochs", "seconds", "CPU s", "times as fast", "by CPU"]]
    for task in TASKS:
        if arguments.data not in (None, task[0]):
            continue
        try:
            run(task, arguments.repeats, rows)
        except lab.DataError as error:
            print(f"{task[0]}: {error}", file=sys.stderr)
            return 3
    if arguments.markdown:
        rows.insert(1, ["---"] * len(rows[0]))
        print("\n".join("| " + " | ".join(row) + " |" for row in rows))
    else:
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        for row in rows:
            print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())
    return 0


if __name__ == "__main__":
    sys.exit(main())
