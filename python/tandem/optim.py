# SPDX-License-Identifier: MIT
"""Tandem's optimizers as `torch.optim.Optimizer`: change `torch.optim.Adam` into
`tandem.DiagonalTO` and train as before.

They step over the parameters' own memory with the kernels of the C++ library, on torch's threads.
In the rules below `g` is a gradient, `*` is elementwise and `.` the inner product. The defaults are
those of the C++ library; docs/python.md is the manual.
"""

from __future__ import annotations

from typing import Any

from ._core import NonFiniteGradient, StateError
from ._optimizer import Diagnostics, Optimizer, Params

__all__ = [
    "SGD",
    "Adagrad",
    "Adam",
    "AdamTO",
    "AdamW",
    "BlockTO",
    "DiagonalTO",
    "Diagnostics",
    "FullTO",
    "Lion",
    "Momentum",
    "Nesterov",
    "NonFiniteGradient",
    "Optimizer",
    "RMSProp",
    "RankOneTO",
    "StateError",
]


def _given(arguments: dict[str, Any]) -> dict[str, Any]:
    """The options among the arguments of a constructor."""
    return {
        name: value
        for name, value in arguments.items()
        if name not in ("self", "params", "__class__")
    }


class DiagonalTO(Optimizer):
    """Diag-TO: the estimate of the gradient is `a * w + b`, trained in tandem with the model.

        r = g - a * w - b;  a += alpha r * w;  b += beta r;  w -= lr (a * w + b)

    Parameters
    ----------
    lr, alpha, beta
        gamma, alpha, beta of the paper: the step, how fast A learns (0 leaves momentum), how fast b
        learns (0.1 is momentum 0.9).
    l2
        Adds `l2 * w` to the gradient.
    normalize, normalize_eps
        Divides alpha by `normalize_eps + w_i^2`, which bounds delta.
        False is the paper's algorithm.
    schedule_all
        A scheduler that moves lr moves alpha and beta by the same factor, as the paper's decay does.
    weight_decay
        Decoupled: multiplies the weights by `1 - lr * weight_decay`.
    params, on_nonfinite, stochastic_rounding, seed
        As of all, see Optimizer.
    """

    rule = "diag-to"

    def __init__(
        self,
        params: Params,
        lr: float = 0.01,
        alpha: float = 0.01,
        beta: float = 0.1,
        *,
        weight_decay: float = 0.0,
        l2: float = 0.0,
        normalize: bool = False,
        normalize_eps: float = 1e-2,
        schedule_all: bool = False,
        on_nonfinite: str = "raise",
        stochastic_rounding: bool = False,
        seed: int = 0,
    ) -> None:
        super().__init__(params, _given(locals()))


class RankOneTO(Optimizer):
    """RO-TO: the estimate of the gradient is `a (c . w) + b`, trained in tandem with the model.

        r = g - a (c . w) - b;  a, c += alpha (c . w) r, alpha (r . a) w;  b += beta r
        w -= lr (a (c . w) + b)

    Parameters
    ----------
    lr, alpha, beta
        gamma, alpha, beta of the paper: the step, how fast A learns (0 leaves momentum), how fast b
        learns (0.1 is momentum 0.9).
    scope
        Which parameters share one matrix: all of them ("whole", as in the paper), those of a
        "group", or each "tensor" for itself.
    l2
        Adds `l2 * w` to the gradient.
    normalize, normalize_eps
        Divides alpha by `normalize_eps + (c . w)^2` and `|a|^2 |w|^2`, which bounds delta.
        False is the paper's algorithm.
    schedule_all
        A scheduler that moves lr moves alpha and beta by the same factor, as the paper's decay does.
    weight_decay
        Decoupled: multiplies the weights by `1 - lr * weight_decay`.
    params, on_nonfinite, stochastic_rounding, seed
        As of all, see Optimizer.
    """

    rule = "ro-to"

    def __init__(
        self,
        params: Params,
        lr: float = 0.01,
        alpha: float = 0.01,
        beta: float = 0.1,
        *,
        scope: str = "whole",
        weight_decay: float = 0.0,
        l2: float = 0.0,
        normalize: bool = False,
        normalize_eps: float = 1e-2,
        schedule_all: bool = False,
        on_nonfinite: str = "raise",
        stochastic_rounding: bool = False,
        seed: int = 0,
    ) -> None:
        super().__init__(params, _given(locals()))


class FullTO(Optimizer):
    """Full-TO: the estimate of the gradient is `A w + b` with a full matrix, trained in tandem.

        r = g - A w - b;  A += alpha r w';  b += beta r;  w -= lr (A w + b)

    Parameters
    ----------
    lr, alpha, beta
        gamma, alpha, beta of the paper: the step, how fast A learns (0 leaves momentum), how fast b
        learns (0.1 is momentum 0.9).
    scope
        Which parameters share one matrix: all of them ("whole", as in the paper), those of a
        "group", or each "tensor" for itself.
    form, memory_limit
        The matrix "dense", or as the "span" of residuals that it is made of; "automatic" takes the
        cheaper one within the limit (bytes, of each scope). MemoryError beyond it.
    l2
        Adds `l2 * w` to the gradient.
    normalize, normalize_eps
        Divides alpha by `normalize_eps + |w|^2`, which bounds delta.
        False is the paper's algorithm.
    schedule_all
        A scheduler that moves lr moves alpha and beta by the same factor, as the paper's decay does.
    weight_decay
        Decoupled: multiplies the weights by `1 - lr * weight_decay`.
    params, on_nonfinite, stochastic_rounding, seed
        As of all, see Optimizer.
    """

    rule = "full-to"

    def __init__(
        self,
        params: Params,
        lr: float = 0.01,
        alpha: float = 0.01,
        beta: float = 0.1,
        *,
        scope: str = "whole",
        form: str = "automatic",
        memory_limit: int = 4 << 30,
        weight_decay: float = 0.0,
        l2: float = 0.0,
        normalize: bool = False,
        normalize_eps: float = 1e-2,
        schedule_all: bool = False,
        on_nonfinite: str = "raise",
        stochastic_rounding: bool = False,
        seed: int = 0,
    ) -> None:
        super().__init__(params, _given(locals()))


class BlockTO(Optimizer):
    """Block-TO: Full-TO on each block of coordinates; blocks start anew in each tensor.

        r = g - A w - b;  A += alpha r w';  b += beta r;  w -= lr (A w + b)  in each block

    Parameters
    ----------
    lr, alpha, beta
        gamma, alpha, beta of the paper: the step, how fast A learns (0 leaves momentum), how fast b
        learns (0.1 is momentum 0.9).
    block
        Coordinates a block; the state is `4 (block + 1)` bytes a parameter.
    l2
        Adds `l2 * w` to the gradient.
    normalize, normalize_eps
        Divides alpha by `normalize_eps + |w|^2` of the block, which bounds delta.
        False is the paper's algorithm.
    schedule_all
        A scheduler that moves lr moves alpha and beta by the same factor, as the paper's decay does.
    weight_decay
        Decoupled: multiplies the weights by `1 - lr * weight_decay`.
    params, on_nonfinite, stochastic_rounding, seed
        As of all, see Optimizer.
    """

    rule = "block-to"

    def __init__(
        self,
        params: Params,
        lr: float = 0.01,
        alpha: float = 0.01,
        beta: float = 0.1,
        *,
        block: int = 16,
        weight_decay: float = 0.0,
        l2: float = 0.0,
        normalize: bool = False,
        normalize_eps: float = 1e-2,
        schedule_all: bool = False,
        on_nonfinite: str = "raise",
        stochastic_rounding: bool = False,
        seed: int = 0,
    ) -> None:
        super().__init__(params, _given(locals()))


class AdamTO(Optimizer):
    """Adam-TO: Adam with Diag-TO's estimate in the place of its first moment.

        r = g - a * w - b;  a += alpha r * w;  b += beta r;  v = beta2 v + (1 - beta2) g^2
        w -= lr (a * w + b) / (sqrt(v / (1 - beta2^t)) + eps)

    Parameters
    ----------
    lr, alpha, beta
        gamma, alpha, beta of the paper: the step, how fast A learns (0 leaves momentum), how fast b
        learns (0.1 is momentum 0.9).
    beta2, eps
        As of Adam.
    l2
        Adds `l2 * w` to the gradient.
    normalize, normalize_eps
        Divides alpha by `normalize_eps + w_i^2`, which bounds delta.
        False is the paper's algorithm.
    schedule_all
        A scheduler that moves lr moves alpha and beta by the same factor, as the paper's decay does.
    weight_decay
        Decoupled: multiplies the weights by `1 - lr * weight_decay`.
    params, on_nonfinite, stochastic_rounding, seed
        As of all, see Optimizer.
    """

    rule = "adam-to"

    def __init__(
        self,
        params: Params,
        lr: float = 1e-3,
        alpha: float = 0.01,
        beta: float = 0.1,
        *,
        beta2: float = 0.999,
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        l2: float = 0.0,
        normalize: bool = False,
        normalize_eps: float = 1e-2,
        schedule_all: bool = False,
        on_nonfinite: str = "raise",
        stochastic_rounding: bool = False,
        seed: int = 0,
    ) -> None:
        super().__init__(params, _given(locals()))


class Adam(Optimizer):
    """Adam as torch.optim.Adam, without amsgrad.

        m, v averages of g and g^2, bias-corrected;  w -= lr m / (sqrt(v) + eps)

    Parameters
    ----------
    lr, betas, eps
        As of torch.optim.Adam.
    weight_decay
        Adds `weight_decay * w` to the gradient, as torch does.
    params, on_nonfinite, stochastic_rounding, seed
        As of all, see Optimizer.
    """

    rule = "adam"

    def __init__(
        self,
        params: Params,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        *,
        on_nonfinite: str = "raise",
        stochastic_rounding: bool = False,
        seed: int = 0,
    ) -> None:
        super().__init__(params, _given(locals()))


class AdamW(Optimizer):
    """AdamW as torch.optim.AdamW, without amsgrad.

        Adam's step, and w -= lr weight_decay w

    Parameters
    ----------
    lr, betas, eps
        As of torch.optim.AdamW.
    weight_decay
        Decoupled: multiplies the weights by `1 - lr * weight_decay`.
    params, on_nonfinite, stochastic_rounding, seed
        As of all, see Optimizer.
    """

    rule = "adamw"

    def __init__(
        self,
        params: Params,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.01,
        *,
        on_nonfinite: str = "raise",
        stochastic_rounding: bool = False,
        seed: int = 0,
    ) -> None:
        super().__init__(params, _given(locals()))


class Lion(Optimizer):
    """Lion: the sign of a two-rate average.

        w -= lr sign(b1 m + (1 - b1) g);  m = b2 m + (1 - b2) g

    Parameters
    ----------
    lr, betas
        As of Chen et al. 2023; lr is about a tenth of Adam's.
    weight_decay
        Decoupled: multiplies the weights by `1 - lr * weight_decay`.
    params, on_nonfinite, stochastic_rounding, seed
        As of all, see Optimizer.
    """

    rule = "lion"

    def __init__(
        self,
        params: Params,
        lr: float = 1e-4,
        betas: tuple[float, float] = (0.9, 0.99),
        weight_decay: float = 0.0,
        *,
        on_nonfinite: str = "raise",
        stochastic_rounding: bool = False,
        seed: int = 0,
    ) -> None:
        super().__init__(params, _given(locals()))


class SGD(Optimizer):
    """Stochastic gradient descent.

        w -= lr g

    Parameters
    ----------
    lr
        As of torch.optim.SGD.
    weight_decay
        Adds `weight_decay * w` to the gradient, as torch does.
    params, on_nonfinite, stochastic_rounding, seed
        As of all, see Optimizer.
    """

    rule = "sgd"

    def __init__(
        self,
        params: Params,
        lr: float = 0.01,
        weight_decay: float = 0.0,
        *,
        on_nonfinite: str = "raise",
        stochastic_rounding: bool = False,
        seed: int = 0,
    ) -> None:
        super().__init__(params, _given(locals()))


class Momentum(Optimizer):
    """Momentum, in the paper's form.

        b = m b + (1 - m) g;  w -= lr b

    Parameters
    ----------
    lr, momentum
        As of torch.optim.SGD, but that b is an average: lr is `1 / (1 - momentum)` of torch's.
    form
        "ema" as above, or "torch": `b = m b + g`, from the first g.
    weight_decay
        Adds `weight_decay * w` to the gradient, as torch does.
    params, on_nonfinite, stochastic_rounding, seed
        As of all, see Optimizer.
    """

    rule = "momentum"

    def __init__(
        self,
        params: Params,
        lr: float = 0.01,
        momentum: float = 0.9,
        weight_decay: float = 0.0,
        *,
        form: str = "ema",
        on_nonfinite: str = "raise",
        stochastic_rounding: bool = False,
        seed: int = 0,
    ) -> None:
        super().__init__(params, _given(locals()))


class Nesterov(Optimizer):
    """Nesterov momentum as torch.optim.SGD(nesterov=True).

        b = m b + g;  w -= lr (g + m b)

    Parameters
    ----------
    lr, momentum
        As of torch.optim.SGD.
    weight_decay
        Adds `weight_decay * w` to the gradient, as torch does.
    params, on_nonfinite, stochastic_rounding, seed
        As of all, see Optimizer.
    """

    rule = "nesterov"

    def __init__(
        self,
        params: Params,
        lr: float = 0.01,
        momentum: float = 0.9,
        weight_decay: float = 0.0,
        *,
        on_nonfinite: str = "raise",
        stochastic_rounding: bool = False,
        seed: int = 0,
    ) -> None:
        super().__init__(params, _given(locals()))


class Adagrad(Optimizer):
    """Adagrad as torch.optim.Adagrad, without lr_decay.

        v += g^2;  w -= lr g / (sqrt(v) + eps)

    Parameters
    ----------
    lr, initial_accumulator_value, eps
        As of torch.optim.Adagrad.
    weight_decay
        Adds `weight_decay * w` to the gradient, as torch does.
    params, on_nonfinite, stochastic_rounding, seed
        As of all, see Optimizer.
    """

    rule = "adagrad"

    def __init__(
        self,
        params: Params,
        lr: float = 0.01,
        weight_decay: float = 0.0,
        initial_accumulator_value: float = 0.0,
        eps: float = 1e-10,
        *,
        on_nonfinite: str = "raise",
        stochastic_rounding: bool = False,
        seed: int = 0,
    ) -> None:
        super().__init__(params, _given(locals()))


class RMSProp(Optimizer):
    """RMSProp as torch.optim.RMSprop, without momentum and centered.

        v = beta2 v + (1 - beta2) g^2;  w -= lr g / (sqrt(v) + eps)

    Parameters
    ----------
    lr, beta2, eps
        As of torch.optim.RMSprop, whose alpha is beta2 here.
    weight_decay
        Adds `weight_decay * w` to the gradient, as torch does.
    params, on_nonfinite, stochastic_rounding, seed
        As of all, see Optimizer.
    """

    rule = "rmsprop"

    def __init__(
        self,
        params: Params,
        lr: float = 0.01,
        beta2: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        *,
        on_nonfinite: str = "raise",
        stochastic_rounding: bool = False,
        seed: int = 0,
    ) -> None:
        super().__init__(params, _given(locals()))
