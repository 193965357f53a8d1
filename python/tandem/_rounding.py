# SPDX-License-Identifier: MIT
"""Arrays in bfloat16 or half: steps work on float copies of them, which are rounded back.

Stochastic rounding draws from torch's generator of the device, so that its noise is repeated by
`torch.manual_seed` and not by the options `seed` and `state_seed`, whose noise is that of the fused
kernels. A number that the narrow type can hold is never changed by it.
"""

from __future__ import annotations

from typing import Optional

import torch
from torch import Tensor

from ._lists import Tensors


def compute_type(stored: torch.dtype) -> torch.dtype:
    """The type that steps on parameters of this type are computed in."""
    return torch.float64 if stored == torch.float64 else torch.float32


def widen(arrays: Tensors, dtype: torch.dtype, copy: bool) -> Tensors:
    """The arrays themselves where they have this type already, unless a copy is asked for."""
    return [
        array if array.dtype == dtype and not copy else array.to(dtype, copy=copy) for array in arrays
    ]


def store(
    arrays: Tensors, values: Tensors, stochastic: bool = False, ok: Optional[Tensor] = None
) -> None:
    """Writes what `widen` gave back. Where `ok` is False nothing changes."""
    for array, value in zip(arrays, values):
        if array is value:
            continue
        if array.dtype != value.dtype:
            value = narrow(value, array.dtype, stochastic)
        array.copy_(value if ok is None else torch.where(ok, value, array))


def narrow(x: Tensor, dtype: torch.dtype, stochastic: bool) -> Tensor:
    """A float tensor in another type; stochastically: up or down, with probabilities by which
    the mean is x."""
    if not stochastic or dtype not in (torch.bfloat16, torch.float16):
        return x.to(dtype)
    dropped = 16 if dtype == torch.bfloat16 else 13  # bits of a float's mantissa
    noise = torch.randint(0, 1 << dropped, x.shape, dtype=torch.int32, device=x.device)
    # Noise below the last bit that is kept carries into it as often as it should; an infinity has
    # nothing below it. x is of any layout, and contiguous is what may be looked at as integers.
    bits = x.contiguous().view(torch.int32)
    rounded = ((bits + noise) & (-1 << dropped)).view(torch.float32)
    if dtype == torch.float16:
        # Below 2^-14 half has a fixed step, 2^-24. The sum is exact for its multiples.
        small = torch.floor(x * 2.0**24 + noise * 2.0**-13) * 2.0**-24
        rounded = torch.where(x.abs() < 2.0**-14, small, rounded)
    return torch.where(x != x, x, rounded).to(dtype)
