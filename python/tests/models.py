# SPDX-License-Identifier: MIT
"""The optimizers that tests go over, and a small problem to step on."""

from __future__ import annotations

from typing import Any, Callable

import tandem
import torch
from torch import Tensor, nn

#: Class and options under which each rule moves well on the problem below.
RULES: list[tuple[type[tandem.Optimizer], dict[str, Any]]] = [
    (tandem.DiagonalTO, {"lr": 0.05, "alpha": 0.05, "beta": 0.3}),
    (tandem.RankOneTO, {"lr": 0.05, "alpha": 0.02, "beta": 0.3}),
    (tandem.FullTO, {"lr": 0.05, "alpha": 0.01, "beta": 0.3}),
    (tandem.BlockTO, {"lr": 0.05, "alpha": 0.02, "beta": 0.3, "block": 5}),
    (tandem.AdamTO, {"lr": 0.01, "alpha": 0.05, "beta": 0.3}),
    (tandem.SGD, {"lr": 0.05}),
    (tandem.Momentum, {"lr": 0.05}),
    (tandem.Adagrad, {"lr": 0.05}),
]
# All others, as they were declared.
RULES += [
    (getattr(tandem, rule.class_name), {"lr": 0.01})
    for rule in tandem._rules.RULES.values()
    if rule.class_name not in [cls.__name__ for cls, _ in RULES]
]
IDS = [cls.rule for cls, _ in RULES]


def make_model(dtype: torch.dtype = torch.float32, seed: int = 0) -> nn.Module:
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 3)).to(dtype)


def batches(steps: int, dtype: torch.dtype = torch.float32) -> list[tuple[Tensor, Tensor]]:
    generator = torch.Generator().manual_seed(7)
    made = []
    for _ in range(steps):
        x = torch.randn(16, 6, generator=generator, dtype=torch.float64)
        y = torch.stack([x[:, :3].sum(1), x[:, 3] * x[:, 4], x[:, 5]], 1)
        made.append((x.to(dtype), y.to(dtype)))
    return made


def loss_of(model: nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
    return (model(batch[0]) - batch[1]).square().mean()


def train(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    data: list[tuple[Tensor, Tensor]],
    each: Callable[[], None] = lambda: None,
) -> list[float]:
    losses = []
    for batch in data:
        optimizer.zero_grad()
        loss = loss_of(model, batch)
        loss.backward()
        optimizer.step()
        each()
        losses.append(float(loss.detach()))
    return losses


def weights(model: nn.Module) -> Tensor:
    return torch.cat([p.detach().reshape(-1) for p in model.parameters()])
