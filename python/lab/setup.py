# SPDX-License-Identifier: MIT
"""The distribution tandem-lab: the package tandem.lab. python/wheels.py builds its native module."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import wheels

wheels.run(
    "tandem.lab",
    component="lab",
    target="tandem_wheel_lab",
    any_python=False,
    install_requires=[f"tandem-optim=={wheels.version()}", "numpy"],
)
