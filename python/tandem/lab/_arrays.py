# SPDX-License-Identifier: MIT
"""What users give as data, checked, and worded as numpy and scikit-learn word it."""

from __future__ import annotations

from typing import Any

import numpy as np

from tandem.lab import _lab


def is_sparse(x: Any) -> bool:
    """Whether it is a matrix of scipy.sparse, which need not be installed."""
    return hasattr(x, "tocsr") and hasattr(x, "nnz")


def _checked_dtype(x: Any, name: str) -> Any:
    if x.dtype.kind == "c":
        raise ValueError(f"Complex data not supported in {name}")
    if x.dtype == np.float32 or x.dtype == np.float64:
        return x
    if x.dtype.kind not in "biufO":
        raise ValueError(f"dtype={x.dtype} of {name} cannot be converted to numbers")
    return x.astype(np.float64)  # says itself what it cannot convert


def features(x: Any, name: str = "X") -> Any:
    """A 2D array of float32 or float64, or a CSR matrix of them in canonical form."""
    if is_sparse(x):
        x = _checked_dtype(x.tocsr(), name)
        if not x.has_canonical_format:
            x = x.copy()
            x.sum_duplicates()
    else:
        x = _checked_dtype(np.asarray(x), name)
        if x.ndim != 2:
            raise ValueError(f"Expected 2D array, got {x.ndim}D array instead ({name}).")
    if x.shape[0] == 0:
        raise ValueError(
            f"Found array with 0 sample(s) (shape={x.shape}) while a minimum of 1 is required."
        )
    if x.shape[1] == 0:
        raise ValueError(
            f"Found array with 0 feature(s) (shape={x.shape}) while a minimum of 1 is required."
        )
    return x


def labels(y: Any, rows: int, name: str = "y") -> Any:
    """A vector of labels, one a row: whole numbers, truth values or texts."""
    y = np.asarray(y)
    if y.ndim == 2 and y.shape[1] == 1:
        y = y.ravel()
    if y.ndim != 1:
        raise ValueError(f"{name} should be a 1d array, got an array of shape {y.shape} instead.")
    if len(y) != rows:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: [{rows}, {len(y)}]"
        )
    if y.dtype.kind == "f":
        if not np.isfinite(y).all():
            raise ValueError(f"Input {name} contains NaN or infinity.")
        if (y != np.floor(y)).any():
            raise ValueError("Unknown label type: 'continuous'")
    elif y.dtype.kind == "O":
        if not all(isinstance(value, str) for value in y):
            raise ValueError("Unknown label type: 'unknown'")
    elif y.dtype.kind not in "biuUS":
        raise ValueError(f"Unknown label type: {y.dtype}")
    return y


def task(
    name: str, x: Any, y: Any, bias: float, validation: tuple[Any, Any] | None
) -> tuple[_lab.Task, Any]:
    """The library's own copy of the data, and the classes."""
    x = features(x)
    classes, index = np.unique(labels(y, x.shape[0]), return_inverse=True)
    if len(classes) < 2:
        raise ValueError(
            "This solver needs samples of at least 2 classes in the data, but the data contains "
            f"only one class: {classes[0]!r}"
        )
    if validation is None:
        return _lab.Task(name, x, index, len(classes), bias), classes
    held_x = features(validation[0], "validation X")
    held_y = labels(validation[1], held_x.shape[0], "validation y")
    if held_x.shape[1] != x.shape[1]:
        raise ValueError(
            f"validation X has {held_x.shape[1]} features, but X has {x.shape[1]} features."
        )
    unknown = np.setdiff1d(held_y, classes)
    if len(unknown) > 0:
        raise ValueError(f"validation y contains previously unseen labels: {unknown.tolist()}")
    held_index = np.searchsorted(classes, held_y)
    return _lab.Task(name, x, index, len(classes), bias, held_x, held_index), classes


def split(x: Any, y: Any, fraction: float, seed: int) -> tuple[Any, Any, tuple[Any, Any]]:
    """What stays and what is held out, drawn at random."""
    x = features(x)
    y = labels(y, x.shape[0])
    held = int(round(fraction * x.shape[0]))
    if not 0 < held < x.shape[0]:
        raise ValueError(
            f"validation={fraction} of {x.shape[0]} samples leaves one of the two parts empty"
        )
    order = np.random.default_rng(seed).permutation(x.shape[0])
    out, stay = np.sort(order[:held]), np.sort(order[held:])
    return x[stay], y[stay], (x[out], y[out])
