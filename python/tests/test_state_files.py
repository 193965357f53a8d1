# SPDX-License-Identifier: MIT
"""State files by parameter name, from C++ to Python and back; tests/state_exchange.cc is the other
half."""

from __future__ import annotations

import pathlib
import struct
import subprocess

import pytest
import tandem
import torch
from torch import Tensor, nn

RULES = {
    "diag-to": tandem.DiagonalTO,
    "ro-to": tandem.RankOneTO,
    "full-to": tandem.FullTO,
    "block-to": tandem.BlockTO,
    "adam-to": tandem.AdamTO,
    "adamw": tandem.AdamW,
}
rules = pytest.mark.parametrize("rule", RULES)


class Trained:
    """What state_exchange.cc trains: the same numbers, exact in float."""

    def __init__(self, rule: str) -> None:
        self.parameters = [nn.Parameter(torch.zeros(3, 4)), nn.Parameter(torch.zeros(3))]
        for p in self.parameters:
            start = [((i * 13) % 17 - 8) / 8 for i in range(p.numel())]
            p.data = torch.tensor(start).view(p.shape)
        names = ("fc.weight", "fc.bias")
        self.optimizer = RULES[rule](list(zip(names, self.parameters)))

    def five_steps(self, first: int) -> list[float]:
        for step in range(first, first + 5):
            for place, p in enumerate(self.parameters):
                values = [
                    (((i + 5 * place) * 37 + step * 11) % 29 - 14) / 64 for i in range(p.numel())
                ]
                p.grad = torch.tensor(values).view(p.shape)
            self.optimizer.step()
        return self.weights()

    def weights(self) -> list[float]:
        return torch.cat([p.detach().reshape(-1) for p in self.parameters]).tolist()

    def set_weights(self, values: list[float]) -> None:
        flat = torch.tensor(values)
        self.parameters[0].data = flat[:12].view(3, 4)
        self.parameters[1].data = flat[12:]


def cpp(program: str, mode: str, rule: str, file: pathlib.Path, text: str = "") -> list[list[float]]:
    done = subprocess.run(
        [program, mode, rule, str(file)], input=text, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return [[float.fromhex(word) for word in line.split()] for line in done.stdout.splitlines()]


@rules
def test_what_cpp_wrote_goes_on_in_python(rule: str, exchange: str, tmp_path: pathlib.Path) -> None:
    file = tmp_path / "state.safetensors"
    after_five, after_ten = cpp(exchange, "write", rule, file)
    here = Trained(rule)
    here.set_weights(after_five)
    here.optimizer.load_state(file)
    assert here.five_steps(6) == after_ten


@rules
def test_what_python_wrote_goes_on_in_cpp(rule: str, exchange: str, tmp_path: pathlib.Path) -> None:
    file = tmp_path / "state.safetensors"
    here = Trained(rule)
    after_five = here.five_steps(1)
    here.optimizer.save_state(file)
    text = " ".join(value.hex() for value in after_five)
    (after_ten,) = cpp(exchange, "go-on", rule, file, text)
    assert here.five_steps(6) == after_ten


@rules
def test_python_to_python(rule: str, tmp_path: pathlib.Path) -> None:
    file = tmp_path / "state.safetensors"
    a, b = Trained(rule), Trained(rule)
    b.set_weights(a.five_steps(1))
    a.optimizer.save_state(file)
    b.optimizer.load_state(file)
    assert a.five_steps(6) == b.five_steps(6)


def test_the_file_is_safetensors_by_parameter_name(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "state.safetensors"
    trained = Trained("diag-to")
    trained.five_steps(1)
    trained.optimizer.save_state(file)
    content = file.read_bytes()
    (size,) = struct.unpack("<Q", content[:8])
    header = content[8 : 8 + size].decode()
    for name in ("fc.weight.a", "fc.weight.b", "fc.bias.a", "fc.bias.b", "diag-to"):
        assert name in header


def test_files_that_do_not_fit(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "state.safetensors"
    trained = Trained("diag-to")
    trained.five_steps(1)
    trained.optimizer.save_state(file)

    def state() -> list[Tensor]:
        return [trained.optimizer.state[p]["a"].clone() for p in trained.parameters]

    before = state()
    with pytest.raises(FileNotFoundError):
        trained.optimizer.load_state(tmp_path / "nothing")
    with pytest.raises(OSError, match="no-such-folder"):
        trained.optimizer.save_state(tmp_path / "no-such-folder" / "state")
    with pytest.raises(tandem.StateError, match="adam-to.*diag-to|diag-to.*adam-to"):
        Trained("adam-to").optimizer.load_state(file)
    other = tandem.DiagonalTO([("fc.weight", nn.Parameter(torch.zeros(3, 4)))])
    with pytest.raises(tandem.StateError, match="fc.bias"):
        other.load_state(file)
    damaged = tmp_path / "damaged"
    damaged.write_bytes(file.read_bytes()[:-5])
    with pytest.raises(tandem.StateError, match="damaged"):
        trained.optimizer.load_state(damaged)
    assert all(torch.equal(x, y) for x, y in zip(before, state()))
