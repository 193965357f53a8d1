# SPDX-License-Identifier: MIT
"""The distribution tandem-optim: the package `tandem` without tandem.lab, for every Python 3 and every
torch. python/wheels.py builds its native module."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "python"))

import wheels

wheels.run("tandem", component="optim", target="tandem_wheel_native", any_python=True)
