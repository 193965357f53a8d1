# SPDX-License-Identifier: MIT
"""Operations on lists of tensors, `torch._foreach_*`, whose scalars may be Python numbers or
0-dim tensors.

A Python number becomes an argument of the operation. A tensor is never read on the host: it is an
operand, at the price of one more pass. torch 1.13 has the operations on CPU and CUDA only and some
not at all; there the tensors are taken one by one.
"""

from __future__ import annotations

import math
from typing import Any, Callable, Union

import torch
from torch import Tensor

#: A Python number, or a 0-dim tensor on the device and of the type of the list it is used with.
Number = Union[float, Tensor]
Tensors = list[Tensor]

_foreach: Any = torch  # whose stubs know these functions in part only
_IN_TORCH_2 = hasattr(torch, "_foreach_lerp_")

is_compiling: Callable[[], bool] = getattr(
    getattr(torch, "compiler", None), "is_compiling", lambda: False
)


def _has_foreach(x: Tensors) -> bool:
    return _IN_TORCH_2 or x[0].device.type in ("cpu", "cuda")


def neg(x: Tensors) -> Tensors:
    """-x"""
    if _has_foreach(x):
        return list(_foreach._foreach_neg(x))
    return [a.neg() for a in x]


def sub(x: Tensors, y: Tensors) -> Tensors:
    """x - y"""
    if _has_foreach(x):
        return list(_foreach._foreach_sub(x, y))
    return [a - b for a, b in zip(x, y)]


def mul(x: Tensors, y: Tensors) -> Tensors:
    """x * y"""
    if _has_foreach(x):
        return list(_foreach._foreach_mul(x, y))
    return [a * b for a, b in zip(x, y)]


def div(x: Tensors, y: Tensors) -> Tensors:
    """x / y"""
    if _has_foreach(x):
        return list(_foreach._foreach_div(x, y))
    return [a / b for a, b in zip(x, y)]


def sqrt(x: Tensors) -> Tensors:
    """The square roots of x."""
    if _has_foreach(x):
        return list(_foreach._foreach_sqrt(x))
    return [a.sqrt() for a in x]


def sign_(x: Tensors) -> None:
    """x = sign(x)"""
    if _IN_TORCH_2:
        _foreach._foreach_sign_(x)
    else:
        for a in x:
            a.sign_()


def addcmul(x: Tensors, y: Tensors, z: Tensors) -> Tensors:
    """x + y * z"""
    if _has_foreach(x):
        return list(_foreach._foreach_addcmul(x, y, z, 1.0))
    return [torch.addcmul(a, b, c) for a, b, c in zip(x, y, z)]


def scaled(x: Tensors, scale: Number) -> Tensors:
    """scale * x"""
    # torch 1.13 would read a tensor on the host.
    if _IN_TORCH_2 or (_has_foreach(x) and not isinstance(scale, Tensor)):
        return list(_foreach._foreach_mul(x, scale))
    return [a * scale for a in x]


def mul_(x: Tensors, scale: Number) -> None:
    """x *= scale"""
    if _IN_TORCH_2 or (_has_foreach(x) and not isinstance(scale, Tensor)):
        _foreach._foreach_mul_(x, scale)
    else:
        for a in x:
            a.mul_(scale)


def add_number_(x: Tensors, number: Number) -> None:
    """x += number"""
    if isinstance(number, Tensor) and _IN_TORCH_2:
        _foreach._foreach_add_(x, number, alpha=1)  # without alpha it is read on the host
    elif not isinstance(number, Tensor) and _has_foreach(x):
        _foreach._foreach_add_(x, number)
    else:
        for a in x:
            a.add_(number)


def plus(x: Tensors, y: Tensors, scale: Number) -> Tensors:
    """x + scale * y"""
    if isinstance(scale, Tensor):
        product = scaled(y, scale)
        add_(product, x)
        return product
    if _has_foreach(x):
        return list(_foreach._foreach_add(x, y, alpha=scale))
    return [torch.add(a, b, alpha=scale) for a, b in zip(x, y)]


def add_(x: Tensors, y: Tensors, scale: Number = 1.0) -> None:
    """x += scale * y"""
    if isinstance(scale, Tensor):
        add_(x, scaled(y, scale))
    elif _has_foreach(x):
        _foreach._foreach_add_(x, y, alpha=scale)
    else:
        for a, b in zip(x, y):
            a.add_(b, alpha=scale)


def addcmul_(x: Tensors, y: Tensors, z: Tensors, scale: Number = 1.0) -> None:
    """x += scale * y * z"""
    if isinstance(scale, Tensor):
        product = mul(y, z)
        mul_(product, scale)
        add_(x, product)
    elif _has_foreach(x):
        _foreach._foreach_addcmul_(x, y, z, scale)
    else:
        for a, b, c in zip(x, y, z):
            a.addcmul_(b, c, value=scale)


def addcdiv_(x: Tensors, y: Tensors, z: Tensors, scale: Number = 1.0) -> None:
    """x += scale * y / z"""
    if isinstance(scale, Tensor):
        quotient = div(y, z)
        mul_(quotient, scale)
        add_(x, quotient)
    elif _has_foreach(x):
        _foreach._foreach_addcdiv_(x, y, z, scale)
    else:
        for a, b, c in zip(x, y, z):
            a.addcdiv_(b, c, value=scale)


def lerp_(x: Tensors, y: Tensors, weight: float) -> None:
    """x += weight * (y - x)"""
    if _IN_TORCH_2:
        _foreach._foreach_lerp_(x, y, weight)
    else:
        for a, b in zip(x, y):
            a.lerp_(b, weight)


def largest(x: Tensors) -> Tensors:
    """The largest absolute value of each, which must have elements."""
    if _has_foreach(x):
        return list(_foreach._foreach_norm(x, math.inf))
    return [torch.linalg.vector_norm(a, math.inf) for a in x]


# ---- Parts that fit the cache ----------------------------------------------------------------


#: Elements of each list that a piece has at most: for each thread of a CPU, and on other devices.
CPU_ELEMENTS = 1 << 18
OTHER_ELEMENTS = 1 << 26


def pieces(lists: list[Tensors]) -> list[list[Tensors]]:
    """Lists of tensors of the same shapes, cut into shorter lists that are worked on one after the
    other: on a CPU what one operation wrote is then still in the cache for the next, and
    temporary memory is bounded everywhere. A compiler sees to that itself and gets one piece."""
    tensors = [tuple(_at_least_1d(t) for t in row) for row in zip(*lists) if row[0].numel() > 0]
    if not tensors:
        return []
    if is_compiling():
        return [[list(column) for column in zip(*tensors)]]
    on_cpu = tensors[0][0].device.type == "cpu"
    most = CPU_ELEMENTS * torch.get_num_threads() if on_cpu else OTHER_ELEMENTS
    cut: list[list[Tensors]] = []
    held = most  # elements in the last piece
    for row in tensors:
        for part in _split(row, most):
            size = part[0].numel()
            if held + size > most:
                cut.append([[] for _ in lists])
                held = 0
            for column, tensor in zip(cut[-1], part):
                column.append(tensor)
            held += size
    return cut


def _at_least_1d(tensor: Tensor) -> Tensor:
    # A 0-dim float tensor and a 0-dim double one, a scalar, would make a double.
    return tensor.view(1) if tensor.dim() == 0 else tensor


def _split(row: tuple[Tensor, ...], most: int) -> list[tuple[Tensor, ...]]:
    if row[0].numel() <= most or not all(t.is_contiguous() for t in row):
        return [row]
    return list(zip(*(t.view(-1).split(most) for t in row)))


def flat(x: Tensors) -> Tensor:
    """All elements as one vector, in the order of indices."""
    return x[0].reshape(-1) if len(x) == 1 else torch.cat([a.reshape(-1) for a in x])
