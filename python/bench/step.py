# SPDX-License-Identifier: MIT
"""Steps of tandem's optimizers beside torch's own, in one process: ratios, best of some rounds.

    PYTHONPATH=build-release/python python3 python/bench/step.py --markdown
"""

from __future__ import annotations

import argparse
import itertools
import time
from typing import Any, Callable, Iterable

import tandem
import torch
from tandem._rules import RULES
from torch import nn

#: Rules with whole matrices, which a large model has no memory for.
MATRICES = ("full-to", "block-to")


def parameters(sizes: list[int]) -> list[nn.Parameter]:
    made = []
    for size in sizes:
        p = nn.Parameter(torch.randn(size))
        p.grad = 0.01 * torch.randn(size)
        made.append(p)
    return made


def seconds_a_step(step: Callable[[], Any], least_seconds: float) -> float:
    """The mean over as many steps as fit into the time, after some that warm up."""
    for _ in range(3):
        step()
    steps, start = 0, time.perf_counter()
    while time.perf_counter() - start < least_seconds or steps < 3:
        step()
        steps += 1
    return (time.perf_counter() - start) / steps


def our_optimizers() -> dict[str, Callable[[Any], torch.optim.Optimizer]]:
    """Every rule but those with matrices, at rates that go nowhere in thousands of steps."""

    def maker(rule: str) -> Callable[[Any], torch.optim.Optimizer]:
        options = {"lr": 1e-6}
        if rule == "ro-to":
            options["alpha"] = 1e-9  # |a|^2 |w|^2 of so many weights overflows with larger ones
        return lambda params: getattr(tandem, RULES[rule].class_name)(params, **options)

    return {RULES[rule].class_name: maker(rule) for rule in RULES if rule not in MATRICES}


def scheduled(optimizer: torch.optim.Optimizer, factors: tuple[float, ...]) -> Callable[[], None]:
    """A step before which the rate is multiplied by the next of these, as a scheduler does it."""
    following = itertools.cycle(factors)

    def step() -> None:
        factor = next(following)
        for group in optimizer.param_groups:
            group["lr"] *= factor
        optimizer.step()

    return step


def print_row(row: tuple[str, ...], markdown: bool) -> None:
    print("| " + " | ".join(row) + " |" if markdown else "  ".join(row))


def moved_rates(options: argparse.Namespace) -> None:
    """Steps before which the rate moves, against steps of the same optimizer before which it is
    multiplied by 1: in turns, one by one, so that other work on the machine leaves some of them alone."""
    if options.markdown:
        print("\n| model | optimizer | a step | lr moved before each step | ratio |")
        print("|---|---|---:|---:|---:|")
    for name, make in our_optimizers().items():
        optimizer = make(parameters([1000] * 200))
        steps = {"still": scheduled(optimizer, (1.0,)), "moved": scheduled(optimizer, (0.5, 2.0))}
        best = dict.fromkeys(steps, float("inf"))
        end = time.perf_counter() + 2 * options.rounds * options.seconds
        while time.perf_counter() < end:
            for kind, step in steps.items():
                start = time.perf_counter()
                step()
                best[kind] = min(best[kind], time.perf_counter() - start)
        print_row(
            (
                "200 tensors of 1000",
                f"`tandem.{name}`",
                f"{1e6 * best['still']:.3g} us",
                f"{1e6 * best['moved']:.3g} us",
                f"{best['moved'] / best['still']:.2f}",
            ),
            options.markdown,
        )


def torch_adams() -> dict[str, Callable[[Any], torch.optim.Optimizer]]:
    """torch's Adam in the ways that this torch has."""
    made: dict[str, Callable[[Any], torch.optim.Optimizer]] = {
        "loop": lambda params: torch.optim.Adam(params, foreach=False),
        "foreach": lambda params: torch.optim.Adam(params, foreach=True),
    }
    if int(torch.__version__.split(".")[0]) >= 2:
        made["fused"] = lambda params: torch.optim.Adam(params, fused=True)
    return made


Makers = dict[str, Callable[[Any], torch.optim.Optimizer]]


def variants() -> Makers:
    """What targets are stated for, and every other rule."""
    made: Makers = {}
    for name in ("Adam", "DiagonalTO"):
        cls = getattr(tandem, name)
        for label, more in (
            ("", {}),
            (", no check", {"on_nonfinite": "ignore"}),
            (", bfloat16 state", {"state_type": "bfloat16"}),
            (
                ", bfloat16 state, no check",
                {"state_type": "bfloat16", "on_nonfinite": "ignore"},
            ),
        ):
            made[name + label] = lambda params, cls=cls, more=more: cls(params, lr=1e-6, **more)
    made.update({name: make for name, make in our_optimizers().items() if name not in made})
    return made


def measured(
    sizes: list[int], makers: Makers, options: argparse.Namespace, prepare: Callable[..., None]
) -> dict[str, float]:
    """Best of the rounds. In turns, so that all see the same machine; state is made anew, or memory is
    short."""
    best: dict[str, float] = {}
    for _ in range(options.rounds):
        for name, make in makers.items():
            params = parameters(sizes)
            optimizer = make(params)
            prepare(optimizer, params)
            seconds = seconds_a_step(optimizer.step, options.seconds)
            best[name] = min(best.get(name, seconds), seconds)
    return best


def show(
    shape: str, best: dict[str, float], peers: Iterable[str], factor: float, unit: str, markdown: bool
) -> None:
    """A row for each of ours against the best of torch's."""
    peer = min(peers, key=lambda name: best[name])
    for name in best:
        if name in peers:
            print_row((shape, f"torch's Adam, {name}", f"{factor * best[name]:.3g} {unit}", ""), markdown)
            continue
        print_row(
            (
                shape,
                f"`tandem.{name.split(',')[0]}`{name[len(name.split(',')[0]):]}",
                f"{factor * best[name]:.3g} {unit}",
                f"{best[peer] / best[name]:.2f} ({peer})",
            ),
            markdown,
        )


def nothing(optimizer: torch.optim.Optimizer, params: list[nn.Parameter]) -> None:
    """As it is."""


def decay(optimizer: torch.optim.Optimizer, params: list[nn.Parameter]) -> None:
    """State as many steps without gradients leave it: numbers below what a float holds in full."""
    optimizer.step()
    for param in params:
        param.grad = torch.zeros_like(param)
        for value in optimizer.state[param].values():
            if torch.is_tensor(value) and value.dim() > 0:
                value.fill_(1e-40)


def against_torch(options: argparse.Namespace) -> None:
    peers = torch_adams()
    if options.markdown:
        print("\n| model | optimizer | a step | times faster than torch's best Adam |")
        print("|---|---|---:|---:|")
    for shape, sizes, factor, unit in (
        ("25 M parameters in 60 tensors", [25_000_000 // 60] * 60, 1e3, "ms"),
        ("200 tensors of 1000", [1000] * 200, 1e6, "us"),
        ("10 tensors of 100", [100] * 10, 1e6, "us"),
    ):
        best = measured(sizes, {**peers, **variants()}, options, nothing)
        show(shape, best, peers, factor, unit, options.markdown)
    ours: Makers = {
        "Adam": lambda params: tandem.Adam(params, lr=1e-6),
        "DiagonalTO": lambda params: tandem.DiagonalTO(params, lr=1e-6),
    }
    best = measured([25_000_000 // 60] * 60, {**peers, **ours}, options, decay)
    show("the same, decayed state", best, peers, 1e3, "ms", options.markdown)
    foreach: Makers = {
        "DiagonalTO": lambda params: tandem.DiagonalTO(params, lr=1e-6, backend="foreach"),
        "DiagonalTO, no check": lambda params: tandem.DiagonalTO(
            params, lr=1e-6, backend="foreach", on_nonfinite="ignore"
        ),
        "Adam": lambda params: tandem.Adam(params, lr=1e-6, backend="foreach"),
    }
    peer = {"foreach": peers["foreach"]}
    best = measured([25_000_000 // 60] * 60, {**peer, **foreach}, options, nothing)
    show("25 M, backend foreach", best, peer, 1e3, "ms", options.markdown)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.5, help="of each measurement")
    parser.add_argument("--only-moved-rates", action="store_true")
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    print(f"torch {torch.__version__}, {options.threads} threads, best of {options.rounds} rounds")
    if not options.only_moved_rates:
        against_torch(options)
    moved_rates(options)

if __name__ == "__main__":
    main()
