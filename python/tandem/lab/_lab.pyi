# SPDX-License-Identifier: MIT
"""The native half of tandem.lab: arrays to data sets, training without the GIL, run stores."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

__version__: str

class StoreError(OSError): ...
class DataError(ValueError): ...

class Task:
    """Samples with labels from 0, and those held out: float32, the library's own."""

    def __init__(
        self,
        name: str,
        x: Any,
        labels: NDArray[np.integer[Any]],
        classes: int,
        bias: float = ...,
        validation_x: Any = ...,
        validation_labels: NDArray[np.integer[Any]] | None = ...,
    ) -> None: ...
    @property
    def rows(self) -> int: ...
    @property
    def features(self) -> int: ...
    @property
    def classes(self) -> int: ...

def optimizers() -> dict[str, dict[str, str]]: ...
def parse_method(name: str) -> tuple[str, str]: ...
def load_data(
    name: str, data_dir: str, validation: float, seed: int, options: dict[str, str]
) -> dict[str, Any]: ...
def scales(task: Task) -> dict[str, float]: ...
def fit(
    task: Task,
    method: str,
    options: dict[str, str],
    lambda_: float,
    batch: int,
    epochs: int,
    seed: int,
    zeros: bool,
    tolerance: float,
    threads: int,
    progress: Callable[[float, float], object] | None,
) -> dict[str, Any]: ...
def studies(path: str) -> list[dict[str, Any]]: ...
def load_study(path: str, name: str, report_loss: str) -> dict[str, Any]: ...
def run_study(
    path: str,
    name: str,
    task: Task,
    model: str,
    loss: str,
    lambdas: list[float],
    batch: int,
    zeros: bool,
    shuffle: bool,
    optimizers: list[tuple[str, str, bool, list[tuple[str, list[str]]]]],
    epochs: int,
    tune_seed: int,
    seeds: list[int],
    prune: int,
    diagnose: bool,
    optimum: bool,
    memory: int,
    threads: int,
    progress: Callable[[dict[str, Any]], object] | None,
) -> None: ...
