# SPDX-License-Identifier: MIT
"""Tandem: optimizers that are trained in tandem with the model.

    optimizer = tandem.DiagonalTO(model.parameters(), lr=0.1, alpha=0.01, beta=1.0)

The optimizers need torch, which is imported when one of them is first asked for; `tandem.lab`, the
laboratory for arrays, works without it.
"""

from __future__ import annotations

import importlib
import importlib.util
import pathlib
from typing import TYPE_CHECKING, Any

from ._rules import RULES
from ._version import __version__

if TYPE_CHECKING:
    from . import lab as lab
    from . import optim as optim
    from . import reference as reference
    from .optim import *

_MODULES = ("lab", "optim", "reference")
_OF_OPTIM = (
    *(rule.class_name for rule in RULES.values()),
    "Optimizer",
    "Diagnostics",
    "NonFiniteGradient",
    "StateError",
)
# What is here, so that `from tandem import *` and tools that go over a module's names work without the rest.
__all__ = ["__version__"]
if importlib.util.find_spec("torch") is not None:
    __all__ += [*_OF_OPTIM, "optim", "reference"]
if pathlib.Path(__file__).with_name("lab").joinpath("__init__.py").exists():
    __all__ += ["lab"]


def _module(name: str) -> Any:
    try:
        return importlib.import_module(f"{__name__}.{name}")
    except ModuleNotFoundError as error:
        if error.name == "torch":
            raise ImportError("tandem's optimizers need torch: pip install torch", name="torch") from error
        if error.name == f"{__name__}.lab":
            raise ImportError(
                "tandem.lab comes with a package of its own: pip install tandem-lab", name=error.name
            ) from error
        raise


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return _module(name)
    if name in _OF_OPTIM:
        return getattr(_module("optim"), name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)
