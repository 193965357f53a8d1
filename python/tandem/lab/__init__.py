# SPDX-License-Identifier: MIT
"""The laboratory: optimizers compared with honest statistics, run stores, a classifier.

Needs numpy alone; scipy, scikit-learn, pandas and matplotlib where they are used, torch never.

>>> import numpy as np
>>> from tandem import lab
>>> rng = np.random.default_rng(0)
>>> X = rng.normal(size=(200, 5))
>>> y = X[:, 0] + X[:, 1] > 0
>>> study = lab.compare(X, y, ["adam", "diag-to"], epochs=3, seeds=3, lambda_=0.01)
>>> [row.optimizer for row in study.rows]
['adam', 'diag-to']
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tandem.lab._compare import Progress, compare, default_grid
from tandem.lab._data import Data, load_data
from tandem.lab._lab import DataError, StoreError
from tandem.lab._store import OptimizerRuns, Row, Run, Store, Study, StudyInfo, Task, open_store

if TYPE_CHECKING:
    from tandem.lab._classifier import TandemClassifier

__all__ = [
    "Data",
    "DataError",
    "OptimizerRuns",
    "Progress",
    "Row",
    "Run",
    "Store",
    "StoreError",
    "Study",
    "StudyInfo",
    "TandemClassifier",
    "Task",
    "compare",
    "default_grid",
    "load_data",
    "open_store",
]


def __getattr__(name: str) -> Any:
    # scikit-learn takes a second to import, and not everybody has it.
    if name == "TandemClassifier":
        from tandem.lab._needs import needs

        needs("sklearn", "TandemClassifier", "scikit-learn")
        from tandem.lab._classifier import TandemClassifier

        return TandemClassifier
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
