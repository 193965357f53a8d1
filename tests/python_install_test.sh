#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# `pip install` into a clean virtual environment with the system's packages; then the package is used
# from elsewhere. Usage: python_install_test.sh PYTHON WORK_FOLDER
set -euo pipefail
source_dir=$(cd "$(dirname "$0")/.." && pwd)
python=$1
work=$2

rm -rf "$work"
mkdir -p "$work"
"$python" -m venv --system-site-packages "$work/venv"
unset PYTHONPATH
"$work/venv/bin/pip" install --quiet --disable-pip-version-check --no-index --no-deps \
  --no-build-isolation "$source_dir"
cd "$work"
"$work/venv/bin/python" - <<'PYTHON'
import pathlib
import sys

import tandem
import tandem.lab

assert "torch" not in sys.modules, "tandem.lab must not import torch"
assert pathlib.Path(tandem.__file__).is_relative_to(sys.prefix), tandem.__file__
assert (pathlib.Path(tandem.__file__).parent / "py.typed").exists()

import torch

weight = torch.nn.Parameter(torch.tensor([3.0, -2.0]))
optimizer = tandem.DiagonalTO([weight], lr=0.1, alpha=0.01, beta=1.0)
for _ in range(200):
    optimizer.zero_grad()
    ((weight - torch.tensor([1.0, 0.0])) ** 2).sum().backward()
    optimizer.step()
assert torch.allclose(weight.detach(), torch.tensor([1.0, 0.0]), atol=1e-3), weight

import numpy

x = numpy.random.default_rng(0).normal(size=(200, 5))
y = (x[:, 0] > 0).astype(int)
score = tandem.lab.TandemClassifier().fit(x, y).score(x, y)
assert score > 0.9, score
print("installed", tandem.__version__, "in", sys.prefix)
PYTHON
