# SPDX-License-Identifier: MIT
"""The trainable optimizers in plain torch, to read and to copy: a rule is an estimator of the full
gradient that predicts, is corrected by what the mini-batch gradient shows, and predicts again.

Slow, without options beyond the paper's, and independent of the C++ library, which the tests hold
to this file. The algorithms are those of Wang and Klabjan, "A Trainable Optimizer"; BlockTO and
AdamTO are this project's.
"""

from __future__ import annotations

from typing import Any, Callable, Iterable, Optional

import torch
from torch import Tensor


class _Reference(torch.optim.Optimizer):
    """Steps by `w -= lr * direction(w, g)`, on each parameter or on all of them as one vector."""

    as_one_vector = False

    def __init__(self, params: Iterable[Tensor], lr: float, **options: Any) -> None:
        super().__init__(params, {"lr": lr, **options})

    def direction(self, w: Tensor, g: Tensor, group: dict[str, Any], memory: Any) -> Tensor:
        raise NotImplementedError

    @torch.no_grad()
    def step(self, closure: Optional[Callable[[], float]] = None) -> Optional[float]:
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            params = [p for p in group["params"] if p.grad is not None]
            if not params:
                continue
            if self.as_one_vector:
                w = torch.cat([p.reshape(-1) for p in params])
                g = torch.cat([p.grad.reshape(-1) for p in params])
                memory = self.state[group["params"][0]]
                parts = self.direction(w, g, group, memory).split([p.numel() for p in params])
            else:
                parts = tuple(
                    self.direction(p.reshape(-1), p.grad.reshape(-1), group, self.state[p])
                    for p in params
                )
            for p, part in zip(params, parts):
                p.sub_(group["lr"] * part.view_as(p))
        return loss


class DiagonalTO(_Reference):
    """Diag-TO (Algorithm 2): A is a diagonal."""

    def __init__(
        self, params: Iterable[Tensor], lr: float = 0.01, alpha: float = 0.01, beta: float = 0.1
    ) -> None:
        super().__init__(params, lr, alpha=alpha, beta=beta)

    def direction(self, w: Tensor, g: Tensor, group: dict[str, Any], memory: Any) -> Tensor:
        if not memory:
            memory["a"], memory["b"] = torch.zeros_like(w), torch.zeros_like(w)
        r = g - memory["a"] * w - memory["b"]  # what the prediction missed
        memory["a"] += group["alpha"] * r * w
        memory["b"] += group["beta"] * r
        return memory["a"] * w + memory["b"]


class RankOneTO(_Reference):
    """RO-TO (Algorithm 3): A = a c'. It is over all parameters of a group together."""

    as_one_vector = True

    def __init__(
        self, params: Iterable[Tensor], lr: float = 0.01, alpha: float = 0.01, beta: float = 0.1
    ) -> None:
        super().__init__(params, lr, alpha=alpha, beta=beta)

    def direction(self, w: Tensor, g: Tensor, group: dict[str, Any], memory: Any) -> Tensor:
        # With a = c = 0 nothing would be learned: c starts so that c.w = 1, or, from w = 0, as
        # w / |w| when the weights have moved.
        if not memory:
            memory["a"], memory["b"], memory["c"] = (torch.zeros_like(w) for _ in range(3))
            memory["c"] += w / w.dot(w) if w.any() else 0
        elif not memory["c"].any():
            memory["c"] += w / w.norm() if w.any() else 0
        a, c, b = memory["a"], memory["c"], memory["b"]
        s = c.dot(w)
        r = g - a * s - b
        ra = r.dot(a)  # with a as it was
        a += group["alpha"] * s * r
        c += group["alpha"] * ra * w
        b += group["beta"] * r
        return a * c.dot(w) + b


class FullTO(_Reference):
    """Full-TO (Algorithm 1): A is a full matrix, over all parameters of a group together."""

    as_one_vector = True

    def __init__(
        self, params: Iterable[Tensor], lr: float = 0.01, alpha: float = 0.01, beta: float = 0.1
    ) -> None:
        super().__init__(params, lr, alpha=alpha, beta=beta)

    def direction(self, w: Tensor, g: Tensor, group: dict[str, Any], memory: Any) -> Tensor:
        if not memory:
            memory["A"], memory["b"] = w.new_zeros(w.numel(), w.numel()), torch.zeros_like(w)
        A, b = memory["A"], memory["b"]
        r = g - A @ w - b
        A += group["alpha"] * torch.outer(r, w)
        b += group["beta"] * r
        return A @ w + b


class BlockTO(_Reference):
    """Full-TO on each block of coordinates; blocks start anew in each parameter."""

    def __init__(
        self,
        params: Iterable[Tensor],
        lr: float = 0.01,
        alpha: float = 0.01,
        beta: float = 0.1,
        block: int = 16,
    ) -> None:
        super().__init__(params, lr, alpha=alpha, beta=beta, block=block)

    def direction(self, w: Tensor, g: Tensor, group: dict[str, Any], memory: Any) -> Tensor:
        if not memory:
            memory["blocks"] = [
                (part.new_zeros(part.numel(), part.numel()), torch.zeros_like(part))
                for part in w.split(group["block"])
            ]
        estimates = []
        for (A, b), w_k, g_k in zip(
            memory["blocks"], w.split(group["block"]), g.split(group["block"])
        ):
            r = g_k - A @ w_k - b
            A += group["alpha"] * torch.outer(r, w_k)
            b += group["beta"] * r
            estimates.append(A @ w_k + b)
        return torch.cat(estimates)


class AdamTO(DiagonalTO):
    """Diag-TO's estimate in the place of Adam's first moment."""

    def __init__(
        self,
        params: Iterable[Tensor],
        lr: float = 1e-3,
        alpha: float = 0.01,
        beta: float = 0.1,
        beta2: float = 0.999,
        eps: float = 1e-8,
    ) -> None:
        _Reference.__init__(self, params, lr, alpha=alpha, beta=beta, beta2=beta2, eps=eps)

    def direction(self, w: Tensor, g: Tensor, group: dict[str, Any], memory: Any) -> Tensor:
        estimate = super().direction(w, g, group, memory)
        beta2 = group["beta2"]
        memory["step"] = memory.get("step", 0) + 1
        memory["v"] = beta2 * memory.get("v", torch.zeros_like(g)) + (1 - beta2) * g * g
        v = memory["v"] / (1 - beta2 ** memory["step"])
        return estimate / (v.sqrt() + group["eps"])
