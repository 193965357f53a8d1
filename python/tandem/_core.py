# SPDX-License-Identifier: MIT
"""The native optimizers, `torch.classes.tandem.Optimizer`, and their errors as Python's."""

from __future__ import annotations

import functools
import pathlib
from typing import Any

import torch


class NonFiniteGradient(RuntimeError):
    """A gradient holds a NaN or an infinity. Weights and state are as they were before the step."""


class StateError(ValueError):
    """A state that cannot be loaded. The optimizer is as it was before."""


@functools.cache
def _load_library() -> None:
    path = pathlib.Path(__file__).with_name("_torch.so")
    if not path.exists():
        raise ImportError(
            "tandem was built without its part for torch: LibTorch was not found then "
            "(Debian: libtorch-dev). tandem.lab works without it."
        )
    try:
        torch.ops.load_library(str(path))
    except OSError as error:
        raise ImportError(
            f"tandem's part for torch does not load: it was built for another torch than "
            f"{torch.__version__}, which is the one in use ({error})"
        ) from error


def make(rule: str) -> Any:
    """A native optimizer without parameters."""
    _load_library()
    return torch.classes.tandem.Optimizer(rule)


def check(outcome: str, invalid: type[Exception] = ValueError) -> None:
    """Raises what a native function reports; `invalid` for what was wrong in its arguments."""
    if not outcome:
        return
    kind, message = outcome.split("\n", 1)
    kinds: dict[str, type[Exception]] = {
        "nonfinite": NonFiniteGradient,
        "state": StateError,
        "memory": MemoryError,
        "invalid": invalid,
    }
    raise kinds.get(kind, RuntimeError)(message)
