# SPDX-License-Identifier: MIT
"""Uses the installed package as a user would; python_install_test.sh and scripts/test-torch2 run it.

    python_install_use.py PART...     parts: torch, no-torch, lab, no-lab
"""

from __future__ import annotations

import pathlib
import sys
import tempfile

import tandem


def is_installed() -> None:
    folder = pathlib.Path(tandem.__file__).parent
    assert folder.is_relative_to(sys.prefix), f"{folder} is not in {sys.prefix}"
    assert (folder / "py.typed").exists()
    assert "torch" not in sys.modules, "import tandem must not import torch"


def torch() -> None:
    """One changed line trains a net, saves, and resumes to the same bits."""
    import torch

    torch.manual_seed(0)
    x = torch.randn(256, 8)
    y = torch.tanh(x[:, :1] - x[:, 1:2])

    def model():
        torch.manual_seed(1)
        net = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1))
        # optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
        optimizer = tandem.AdamTO(net.parameters(), lr=0.01, alpha=0.01, beta=0.1)
        return net, optimizer

    def train(net, optimizer, steps):
        losses = []
        for _ in range(steps):
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(net(x), y)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses

    net, optimizer = model()
    losses = train(net, optimizer, 50)
    assert losses[-1] < 0.5 * losses[0], losses
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "checkpoint.pt"
        torch.save({"net": net.state_dict(), "optimizer": optimizer.state_dict()}, file)
        saved = torch.load(file)
    expected = train(net, optimizer, 20)

    again, resumed = model()
    again.load_state_dict(saved["net"])
    resumed.load_state_dict(saved["optimizer"])
    assert train(again, resumed, 20) == expected
    for one, other in zip(net.parameters(), again.parameters()):
        assert torch.equal(one, other)

    # An error inside the native module comes out as an exception.
    weight = torch.nn.Parameter(torch.zeros(3))
    weight.grad = torch.full((3,), float("nan"))
    try:
        tandem.SGD([weight], lr=0.1).step()
    except tandem.NonFiniteGradient:
        pass
    else:
        raise AssertionError("a gradient of NaN was not refused")
    assert not weight.detach().any()


def no_torch() -> None:
    try:
        tandem.DiagonalTO
    except ImportError as error:
        assert "torch" in str(error), error
        assert "pip install" in str(error), error
    else:
        raise AssertionError("there is an optimizer without torch")


def lab() -> None:
    import numpy

    from tandem import lab

    x = numpy.random.default_rng(0).normal(size=(200, 5))
    y = (x[:, 0] > 0).astype(int)
    study = lab.compare(x, y, ["adam", "diag-to"], epochs=3, seeds=3, lambda_=0.01)
    assert [row.optimizer for row in study.rows] == ["adam", "diag-to"]
    assert len(study.curves["diag-to"][1]) == 4
    # Digests and archives come from libraries inside the module.
    try:
        lab.load_data("covtype", data_dir="nowhere")
    except lab.DataError as error:
        assert "covtype" in str(error), error
    assert "torch" not in sys.modules, "tandem.lab must not import torch"


def no_lab() -> None:
    try:
        tandem.lab
    except ImportError as error:
        assert "tandem-lab" in str(error), error
    else:
        raise AssertionError("tandem.lab is there")


def names() -> None:
    """What is installed is listed, and nothing else: a star import works, and tools that look at a module."""
    import inspect

    found = {name for name, _ in inspect.getmembers(tandem)}
    assert set(tandem.__all__) <= found, set(tandem.__all__) - found
    everything: dict = {}
    exec("from tandem import *", everything)
    assert ("DiagonalTO" in everything) == ("torch" in sys.argv), sorted(everything)
    assert ("lab" in everything) == ("lab" in sys.argv), sorted(everything)


def main() -> None:
    is_installed()
    # lab first: it looks whether torch was imported.
    for part in sorted(sys.argv[1:], key=lambda part: part == "torch"):
        {"torch": torch, "no-torch": no_torch, "lab": lab, "no-lab": no_lab}[part]()
    names()
    print("used", tandem.__version__, "in", sys.prefix, *sys.argv[1:])


if __name__ == "__main__":
    main()
