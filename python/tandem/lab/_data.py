# SPDX-License-Identifier: MIT
"""Data sets by name, as arrays: the same readers and recipes as the program's."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from tandem.lab import _lab
from tandem.lab._needs import needs
from tandem.lab._values import count, number, text


@dataclass(frozen=True, eq=False, repr=False)
class Data:
    """Samples and labels of a data set; float32, dense or CSR.

    The recipes of most data sets append a column of ones, which is the last one; `notes` say what
    was done.
    """

    name: str
    X: Any
    y: Any
    X_validation: Any
    y_validation: Any
    class_names: tuple[str, ...]
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        rows, columns = self.X.shape
        held = 0 if self.X_validation is None else self.X_validation.shape[0]
        return f"Data({self.name!r}: {rows} x {columns}, {held} rows held out)"


def _matrix(arrays: dict[str, Any]) -> Any:
    if not arrays["sparse"]:
        return arrays["dense"]
    sparse = needs("scipy.sparse", "A sparse data set", "scipy")
    parts = (arrays["values"], arrays["indices"], arrays["indptr"])
    return sparse.csr_matrix(parts, shape=arrays["shape"])


def load_data(
    name: str,
    *,
    data_dir: str | os.PathLike[str] | None = None,
    validation: float = 0.0,
    seed: int = 1,
    options: dict[str, Any] | None = None,
) -> Data:
    """Reads a data set by its name: ``"mnist"``, ``"libsvm:PATH"``, ``"synthetic:rows=1000"``.

    Parameters
    ----------
    name : str
        As ``tandem data list`` has it, with what belongs to it behind a colon.
    data_dir : path, optional
        Searched before the folder that the variable TANDEM_DATA names and the system's.
    validation : float
        Fraction of the rows held out, where the data set has no test part of its own.
    seed : int
        Of that choice.
    options : dict, optional
        Of the recipe.

    Raises
    ------
    DataError
        Files are missing or damaged; the message names them and says how to get them.
    ValueError
        There is no such data set or option.

    Examples
    --------
    >>> from tandem import lab
    >>> lab.load_data("synthetic:rows=100,features=3,seed=1").X.shape
    (100, 3)
    """
    parts = _lab.load_data(
        name,
        "" if data_dir is None else os.fspath(data_dir),
        number(validation, "validation"),
        count(seed, "seed", 0),
        {key: text(value, key) for key, value in (options or {}).items()},
    )
    train, held = parts["train"], parts["validation"]
    return Data(
        name=name,
        X=_matrix(train),
        y=train["labels"],
        X_validation=None if held is None else _matrix(held),
        y_validation=None if held is None else held["labels"],
        class_names=tuple(train["class_names"]),
        notes=tuple(parts["notes"]),
    )
