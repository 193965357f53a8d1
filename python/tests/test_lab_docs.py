# SPDX-License-Identifier: MIT
"""The code of docs/python-lab.md and the examples in docstrings run."""

from __future__ import annotations

import doctest
import importlib
import re

import pytest

from tandem import lab


def test_the_manual(repository, tmp_path, monkeypatch):
    for needed in ("sklearn", "pandas", "matplotlib"):
        pytest.importorskip(needed, reason=f"the manual uses {needed}")
    text = (repository / "docs" / "python-lab.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(blocks) >= 5
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    for number, block in enumerate(blocks):
        exec(compile(block, f"python-lab.md, block {number + 1}", "exec"), names)
    assert (tmp_path / "curves.png").exists() and (tmp_path / "runs.db").exists()


@pytest.mark.parametrize("module", ["", "._compare", "._data", "._store", "._classifier"])
def test_docstrings(module):
    if module == "._classifier":
        pytest.importorskip("sklearn", reason="TandemClassifier needs scikit-learn")
    result = doctest.testmod(importlib.import_module(f"tandem.lab{module}"))
    assert result.failed == 0 and (result.attempted > 0)


def test_everything_public_has_a_docstring():
    pytest.importorskip("sklearn", reason="TandemClassifier needs scikit-learn")
    for name in lab.__all__:
        if not name.endswith("Error"):
            assert getattr(lab, name).__doc__, name
