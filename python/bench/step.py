# SPDX-License-Identifier: MIT
"""Steps of tandem's optimizers beside torch's own, in one process: ratios, best of some rounds.

    PYTHONPATH=build-release/python python3 python/bench/step.py --markdown
"""

from __future__ import annotations

import argparse
import time
from typing import Any, Callable

import tandem
import torch
from torch import nn


def parameters(sizes: list[int]) -> list[nn.Parameter]:
    made = []
    for size in sizes:
        p = nn.Parameter(torch.randn(size))
        p.grad = 0.01 * torch.randn(size)
        made.append(p)
    return made


def seconds_a_step(optimizer: torch.optim.Optimizer, least_seconds: float) -> float:
    """The mean over as many steps as fit into the time, after some that warm up."""
    for _ in range(3):
        optimizer.step()
    steps, start = 0, time.perf_counter()
    while time.perf_counter() - start < least_seconds or steps < 3:
        optimizer.step()
        steps += 1
    return (time.perf_counter() - start) / steps


def torch_adams() -> dict[str, Callable[[Any], torch.optim.Optimizer]]:
    """torch's Adam in the ways that this torch has."""
    return {
        "foreach": lambda params: torch.optim.Adam(params, foreach=True),
        "loop": lambda params: torch.optim.Adam(params, foreach=False),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.5, help="of each measurement")
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(1)

    shapes = {
        "25 M parameters in 60 tensors": ([25_000_000 // 60] * 60, 1e3, "ms"),
        "10 tensors of 100": ([100] * 10, 1e6, "us"),
    }
    ours: dict[str, Callable[[Any], torch.optim.Optimizer]] = {
        "DiagonalTO": lambda params: tandem.DiagonalTO(params, lr=1e-5),
        "RankOneTO": lambda params: tandem.RankOneTO(params, lr=1e-5, alpha=1e-9),
        "AdamTO": lambda params: tandem.AdamTO(params, lr=1e-5),
        "Adam": lambda params: tandem.Adam(params, lr=1e-5),
        "AdamW": lambda params: tandem.AdamW(params, lr=1e-5),
        "Lion": lambda params: tandem.Lion(params, lr=1e-6),
    }
    peers = torch_adams()
    print(f"torch {torch.__version__}, {options.threads} threads, best of {options.rounds} rounds")
    if options.markdown:
        print("\n| model | optimizer | a step | torch's Adam | times faster |")
        print("|---|---|---:|---:|---:|")
    for shape, (sizes, factor, unit) in shapes.items():
        best: dict[str, float] = {}
        # Interleaved, so that all see the same machine; state is made anew, or memory is short.
        for _ in range(options.rounds):
            for name, make in {**peers, **ours}.items():
                seconds = seconds_a_step(make(parameters(sizes)), options.seconds)
                best[name] = min(best.get(name, seconds), seconds)
        peer = min(peers, key=lambda name: best[name])
        for name in ours:
            row = (
                shape,
                f"`tandem.{name}`",
                f"{factor * best[name]:.3g} {unit}",
                f"{factor * best[peer]:.3g} {unit} ({peer})",
                f"{best[peer] / best[name]:.2f}",
            )
            print("| " + " | ".join(row) + " |" if options.markdown else "  ".join(row))


if __name__ == "__main__":
    main()
