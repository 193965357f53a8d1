# SPDX-License-Identifier: MIT
"""Optimizers compared on arrays: each tuned on a grid, then measured on seeds of its own."""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Union

from tandem.lab import _arrays, _lab, _rates
from tandem.lab._progress import Reporter
from tandem.lab._store import Study, load_study
from tandem.lab._values import choice, count, number, text, threads

# "adam"; ("adam", {"lr": [0.01, 0.1]}); {"name": "adam", "label": "slow", "lr": 0.001}.
Optimizer = Union[str, "tuple[str, Mapping[str, Any]]", Mapping[str, Any]]

_MOST_SETTINGS = 100_000  # a thousand times what is sensible would be a mistake


@dataclass(frozen=True)
class Progress:
    """How far :func:`compare` is."""

    part: float  # of all work, from 0 to 1
    units_done: int
    units: int
    doing: str  # "compare logistic lambda=0.1: adam, epoch 3 of 20"
    alive: int  # settings in training at the moment
    member_epochs: float  # trained so far
    seconds: float
    best: str  # "adam 0.2657, diag-to 0.2643": so far


@dataclass
class _Spec:
    label: str
    method: str
    options: Mapping[str, Any] | None  # None: the default grid
    baseline: bool


def _spec(optimizer: Optimizer) -> _Spec:
    if isinstance(optimizer, str):
        return _Spec(optimizer, optimizer, None, False)
    if isinstance(optimizer, Mapping):
        rest = dict(optimizer)
        if not isinstance(rest.get("name"), str):
            raise ValueError(f"an optimizer needs a 'name', got {optimizer!r}")
        name = rest.pop("name")
        label = rest.pop("label", name)
        if not isinstance(label, str) or not label:
            raise TypeError(f"label must be text, got {label!r}")
        baseline = rest.pop("baseline", False)
        return _Spec(label, name, rest or None, bool(baseline))
    if isinstance(optimizer, (tuple, list)) and len(optimizer) == 2:
        name, options = optimizer
        if isinstance(name, str) and isinstance(options, Mapping):
            return _Spec(name, name, options, False)
    raise TypeError(
        f"an optimizer must be a name, (name, options) or a dict with 'name', got {optimizer!r}"
    )


def _specs(optimizers: Optimizer | Iterable[Optimizer], baseline: str | None) -> list[_Spec]:
    if isinstance(optimizers, (str, Mapping)):
        optimizers = [optimizers]
    specs = [_spec(optimizer) for optimizer in optimizers]
    if not specs:
        raise ValueError("optimizers is empty: name at least one")
    for spec in specs:
        _lab.parse_method(spec.method)
    labels = [spec.label for spec in specs]
    for label in labels:
        if labels.count(label) > 1:
            raise ValueError(f"{label!r} is there twice; give one of them another 'label'")
    if baseline is not None:
        if baseline not in labels:
            raise ValueError(f"baseline must be one of {labels}, got {baseline!r}")
        for spec in specs:
            spec.baseline = spec.label == baseline
    marked = [spec.label for spec in specs if spec.baseline]
    if len(marked) > 1:
        raise ValueError(f"there can be one baseline, got {marked}")
    if not marked:
        specs[0].baseline = True
    return specs


def _grid(options: Mapping[str, Any], label: str) -> list[tuple[str, list[str]]]:
    first = ["lr", "alpha", "beta", "decay"]  # as in study files
    grid: list[tuple[str, list[str]]] = []
    settings = 1
    for name in [n for n in first if n in options] + [n for n in options if n not in first]:
        value = options[name]
        many = not isinstance(value, (str, bytes)) and isinstance(value, Iterable)
        values = [text(each, f"{label}: {name}") for each in (value if many else [value])]
        if not values:
            raise ValueError(f"{label}: {name} is an empty list")
        for each in values:
            if values.count(each) > 1:
                raise ValueError(f"{label}: {name} has {each} twice")
        settings *= len(values)
        if settings > _MOST_SETTINGS:
            raise ValueError(f"{label}: the grid has more than {_MOST_SETTINGS} settings")
        grid.append((name, values))
    return grid


def _seeds(seeds: int | Iterable[int], tune_seed: int) -> list[int]:
    if isinstance(seeds, Iterable):
        found = [count(seed, "seeds", 0) for seed in seeds]
    else:
        most = count(seeds, "seeds", 1)
        found = [seed for seed in range(1, most + 2) if seed != tune_seed][:most]
    if not found:
        raise ValueError("seeds is empty: name at least one")
    if tune_seed in found:
        raise ValueError(
            f"seeds has {tune_seed}, the tuning seed; what is tuned on a seed is measured on others"
        )
    if len(set(found)) < len(found):
        raise ValueError(f"seeds has one twice: {found}")
    return found


def default_grid(
    optimizer: str, X: Any, y: Any, *, batch: int | None = None, lambda_: float = 0.0
) -> dict[str, Any]:
    """The grid that :func:`compare` tries for an optimizer that is given by its name alone.

    ``lr`` goes from 0.3 to 100 times 1 / L, where L bounds the curvature of a batch's loss; for
    rules that scale their steps (Adam, ...) from 0.1 to 30 divided by the mean of sum |x_i|. The
    trainable ones have ``alpha`` and ``beta`` besides, and all of them ``decay`` 0.8 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> from tandem import lab
    >>> X = np.eye(10)
    >>> lab.default_grid("adam", X, np.arange(10) % 2)["decay"]
    [0.8, 1.0]
    """
    task, _ = _arrays.task("grid", X, y, 1.0, None)
    size = min(64, task.rows) if batch is None else count(batch, "batch", 1)
    return _rates.default_grid(optimizer, task, size, number(lambda_, "lambda_"))


def compare(
    X: Any,
    y: Any,
    optimizers: Optimizer | Iterable[Optimizer] = ("adam", "saga", "diag-to", "adam-to"),
    *,
    epochs: int = 20,
    seeds: int | Iterable[int] = 5,
    tune_seed: int = 0,
    baseline: str | None = None,
    model: str = "logistic",
    loss: str = "cross-entropy",
    lambda_: float | Iterable[float] = 0.0,
    batch: int | None = None,
    validation: float | tuple[Any, Any] | None = None,
    fit_intercept: bool = True,
    init: str = "normal",
    shuffle: bool = True,
    decay: Any = None,
    prune: int = 0,
    diagnose: bool = False,
    optimum: bool = True,
    store: str | os.PathLike[str] | None = None,
    name: str = "compare",
    n_threads: int | None = None,
    memory: int = 0,
    progress: Callable[[Progress], object] | None = None,
    verbose: bool = False,
) -> Study:
    """Compares optimizers on a classification task, with a population trained at once.

    Every setting of each grid is trained on `tune_seed`; the best one of each optimizer is trained
    again on the other seeds, and these runs are compared, seed by seed, with those of the baseline.

    Parameters
    ----------
    X : array or scipy.sparse matrix of shape (n_samples, n_features)
        Kept as float32.
    y : array of shape (n_samples,)
        Labels: whole numbers, truth values or texts.
    optimizers : list
        Each a name, ``(name, options)``, or a dict with ``name``, options, and perhaps ``label``
        and ``baseline``. Lists of values are grids. A name alone gets :func:`default_grid`; as soon
        as an option is given, the others have the optimizer's own defaults.
    epochs : int
        Passes over the data.
    seeds : int or list of int
        How many seeds are measured, or which.
    tune_seed : int
        The seed on which settings are tuned.
    baseline : str, optional
        The label that `rho` is relative to; the first one if none is named.
    model : str
        ``"logistic"``, or ``"ffn:100"`` and ``"ffn:100,50"`` for hidden layers.
    loss : {"cross-entropy", "double-softmax"}
        Of a sample with logits z and label y: ``-log softmax(z)[y]``, or
        ``-log softmax(softmax(z))[y]``, which is not convex and has no optimum for `gap`.
    lambda_ : float or list of float
        What is minimised is the mean loss + lambda/2 |w|^2, over all weights. Each is a task.
    batch : int, optional
        Samples a step; 64, or all where there are fewer.
    validation : float or (X, y), optional
        A fraction to hold out, drawn with `tune_seed`, or the samples themselves.
    fit_intercept : bool
        Appends a column of ones; lambda counts for its weights too.
    init : {"normal", "zeros"}
        Where all start: N(0, 1), as in the paper, or 0.
    shuffle : bool
        A new order each epoch.
    decay : float or list, optional
        The factor of the rates an epoch, for optimizers that name none.
    prune : int
        Successive halving: only one in so many settings stays; 0 keeps all.
    diagnose : bool
        Measures the error of the estimators on the seeds that are measured.
    optimum : bool
        Finds F* where lambda > 0, the model is logistic and the loss cross entropy, for `gap`.
    store : path, optional
        A run store to keep it in, a file or ``"postgresql://host/database"``: the same call goes on
        from what is there. A temporary one otherwise.
    name : str
        Of the study in the store, and of its data.
    n_threads : int, optional
        As many as there are, or one for little work, if not given. Results do not depend on it.
    memory : int
        Bytes for a population; 0 is three quarters of what is free.
    progress : callable, optional
        Called about 20 times a second with a :class:`Progress`; what it raises stops the work.
    verbose : bool
        Tells on stderr how far it is.

    Returns
    -------
    Study
        ``rows``, ``curves``, ``to_pandas()``, ``plot(path)``; ``print`` shows a table.

    Raises
    ------
    KeyboardInterrupt
        On Ctrl-C. With `store`, what was whole is kept.
    StoreError
        The store cannot be used, or has another study of that name.

    Examples
    --------
    >>> import numpy as np
    >>> from tandem import lab
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 5))
    >>> y = X[:, 0] > 0
    >>> grids = ["adam", ("diag-to", {"lr": [0.1, 1], "alpha": [0, 0.01]})]
    >>> study = lab.compare(X, y, grids, epochs=3, seeds=3)
    >>> study.rows[1].members
    4
    """
    tune_seed = count(tune_seed, "tune_seed", 0)
    specs = _specs(optimizers, baseline)
    given = lambda_ if isinstance(lambda_, Iterable) else [lambda_]
    lambdas = [number(each, "lambda_") for each in given]
    if not lambdas or len(set(lambdas)) < len(lambdas):
        raise ValueError(f"lambda_ must be a number or a list of different ones, got {lambda_!r}")
    if not isinstance(name, str) or not name:
        raise TypeError(f"name must be text, got {name!r}")
    if count(prune, "prune", 0) == 1:
        raise ValueError("prune must be 0 (keep all settings) or 2 and more, got 1")
    held: tuple[Any, Any] | None = None
    if isinstance(validation, (tuple, list)):
        if len(validation) != 2:
            raise ValueError(f"validation must be a fraction or (X, y), got {validation!r}")
        held = (validation[0], validation[1])
    elif validation is not None:
        X, y, held = _arrays.split(X, y, number(validation, "validation"), tune_seed)
    task, _ = _arrays.task(name, X, y, 1.0 if fit_intercept else 0.0, held)
    size = min(64, task.rows) if batch is None else count(batch, "batch", 1)
    chosen = []
    for spec in specs:
        options = spec.options
        if options is None:
            # Tasks of one study share their grids.
            options = _rates.default_grid(spec.method, task, size, min(lambdas))
            if decay is not None:
                options["decay"] = decay
        elif decay is not None and "decay" not in options:
            options = {**options, "decay": decay}
        chosen.append((spec.label, spec.method, spec.baseline, _grid(options, spec.label)))

    most = max(math.prod(len(values) for _, values in grid) for *_, grid in chosen)
    work = most * size * task.features * task.classes if model == "logistic" else math.inf
    reporter = Reporter(verbose)

    def tell(status: dict[str, Any]) -> None:
        told = Progress(**status)
        reporter.show(told.part, f"{told.doing}, {told.alive} settings; best: {told.best}")
        if progress is not None:
            progress(told)

    with tempfile.TemporaryDirectory(prefix="tandem-") as folder:
        path = os.path.join(folder, "tandem.db") if store is None else os.fspath(store)
        try:
            _lab.run_study(
                path=path,
                name=name,
                task=task,
                model=model,
                loss=choice(loss, "loss", ("cross-entropy", "double-softmax")),
                lambdas=lambdas,
                batch=size,
                zeros=choice(init, "init", ("normal", "zeros")) == "zeros",
                shuffle=bool(shuffle),
                optimizers=chosen,
                epochs=count(epochs, "epochs", 1),
                tune_seed=tune_seed,
                seeds=_seeds(seeds, tune_seed),
                prune=prune,
                diagnose=bool(diagnose),
                optimum=bool(optimum),
                memory=count(memory, "memory", 0),
                threads=threads(n_threads, work),
                progress=tell if verbose or progress is not None else None,
            )
        finally:
            reporter.finish()
        return load_study(path, name)
