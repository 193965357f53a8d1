# SPDX-License-Identifier: MIT
"""Packages that only some of the laboratory needs, imported where it does."""

from __future__ import annotations

import importlib
from typing import Any


def needs(module: str, what: str, package: str | None = None) -> Any:
    """The module; ImportError that says what it is needed for."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        name = package or module.partition(".")[0]
        raise ImportError(
            f"{what} needs {name}, which cannot be imported: {error}", name=module
        ) from error
