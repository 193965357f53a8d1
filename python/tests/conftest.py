# SPDX-License-Identifier: MIT
"""What the tests share."""

from __future__ import annotations

import os
import pathlib

import pytest


@pytest.fixture
def program() -> str:
    """The program `tandem`, for tests of what Python and C++ exchange."""
    path = os.environ.get("TANDEM_PROGRAM", "")
    if not path:
        pytest.skip("TANDEM_PROGRAM does not name the program `tandem`")
    return path


@pytest.fixture
def exchange() -> str:
    """tests/state_exchange.cc, which trains in C++ what test_state_files.py trains in Python."""
    path = os.environ.get("TANDEM_STATE_EXCHANGE", "")
    if not path:
        pytest.skip("TANDEM_STATE_EXCHANGE does not name the program of tests/state_exchange.cc")
    return path


@pytest.fixture
def repository() -> pathlib.Path:
    return pathlib.Path(__file__).resolve().parents[2]
