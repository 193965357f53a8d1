# SPDX-License-Identifier: MIT
"""Full-TO and Block-TO in plain torch: G = A w + b with whole matrices.

With the residual r = g - A w - b and delta = alpha |w|^2 + beta the corrected estimate is
G = A w + b + delta r, so that A is read once for it. The matrix is what the fused kernels keep:
flat arrays "A" and "b" in the unit, and, from 512 weights on or with A in bfloat16, "u" and "v",
the last updates of A, which are added to it 64 at a time. With `capturable` they are added at once,
because the place of the next one would be a Python number; A in bfloat16 is then rounded in each
step. Full-TO's span form is the fused kernels' alone. Products with float matrices are as precise
as torch.set_float32_matmul_precision says.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Optional

import torch
from torch import Tensor

from . import _rounding
from ._core import StateError
from ._foreach_bucket import Bucket, Update, is_zero, rate, sum_type, update_of
from ._lists import Number

#: Of src/optimizers/full.h: below so many weights A is changed in each step.
_SMALL = 512
#: Of src/optimizers/dense.h: updates that may wait.
_DELAYED = 64
#: Elements of A that are widened or copied at once.
_AT_ONCE = 1 << 22


def prepare(bucket: Bucket) -> None:
    """Makes the arrays of new units and checks those there are, so that a step does not fail when
    others have been made. Raises StateError, ValueError and MemoryError."""
    if bucket.rule == "full-to":
        _prepare_full(bucket)
    else:
        for i, unit in enumerate(bucket.unit):
            _prepare_blocks(bucket, i, unit)


def step(bucket: Bucket, ok: Optional[Tensor]) -> None:
    """One step; where `ok` is False nothing changes."""
    if bucket.rule == "full-to":
        _full_step(bucket, ok)
    else:
        for i, unit in enumerate(bucket.unit):
            if bucket.params[i].numel() > 0:
                _block_step(bucket, i, unit, ok)


# ---- What both share ---------------------------------------------------------------------------


def _in_memory_order(tensor: Tensor, like: Tensor) -> Tensor:
    """A view with the dimensions in the order in which the elements of `like` lie in memory, which
    is the order of the fused kernels. Where there are gaps, it is the order of indices."""
    order = sorted(range(like.dim()), key=lambda dim: -like.stride(dim))
    expected = 1
    for dim in reversed(order):
        if like.shape[dim] != 1 and like.stride(dim) != expected:
            return tensor
        expected *= like.shape[dim]
    return tensor.permute(order)


def _vectors(bucket: Bucket, i: int) -> tuple[Tensor, Tensor]:
    """Weights and gradient of a parameter, flat, as the estimator takes them; not to be written."""
    param, grad = bucket.params[i], bucket.grads[i]
    assert grad is not None, f"{bucket.rule} takes a gradient for every parameter"
    options, dtype = bucket.options[0], bucket.compute_type
    w = _in_memory_order(param, param).reshape(-1).to(dtype)
    g = _in_memory_order(grad, param).reshape(-1).to(dtype)
    if options.get("maximize", False):
        g = -g
    l2 = rate(bucket, options.get("l2", 0.0))
    return w, g if is_zero(l2) else g + l2 * w


def _move(
    bucket: Bucket, i: int, w: Tensor, estimate: Tensor, update: Update, ok: Optional[Tensor]
) -> None:
    view = _in_memory_order(bucket.params[i], bucket.params[i])
    moved = (w if update.shrink is None else update.shrink * w) - update.lr * estimate
    rounding = bool(bucket.options[0].get("stochastic_rounding", False))
    _rounding.store([view], [moved.view(view.shape)], rounding, ok)


class _Gain(NamedTuple):
    """The rates on weights with this |w|^2, normalised if asked for, and delta."""

    alpha: Tensor
    beta: Number
    delta: Tensor


def _gain(bucket: Bucket, w: Tensor) -> _Gain:
    """Over the last dimension of w, which it keeps."""
    options = bucket.options[0]
    alpha, beta = rate(bucket, options["alpha"]), rate(bucket, options["beta"])
    ww = w.to(sum_type(w.device)).square().sum(-1, keepdim=True)
    rates = alpha * torch.ones_like(ww)
    if options.get("normalize", False):
        rates = rates / (float(options["normalize_eps"]) + ww)
    return _Gain(rates.to(w.dtype), beta, (rates * ww + beta).to(w.dtype))


def _new_vector(bucket: Bucket, count: int, dtype: Optional[torch.dtype] = None) -> Tensor:
    return torch.zeros(count, dtype=dtype or bucket.compute_type, device=bucket.device)


def _check_array(rule: str, unit: dict[str, Any], name: str, count: int) -> None:
    array = unit.get(name)
    if not isinstance(array, Tensor) or array.numel() != count:
        found = f"{array.numel()} elements" if isinstance(array, Tensor) else "nothing"
        raise StateError(f"{rule}: Invalid state: '{name}' has {found}, expected {count} elements")


# ---- Block-TO ----------------------------------------------------------------------------------


def _blocks(bucket: Bucket, i: int) -> tuple[int, int, int]:
    """Coordinates of a block, how many blocks have so many, and those of the last one, or 0."""
    d = bucket.params[i].numel()
    block = min(int(bucket.options[i]["block"]), d)
    return block, d // block, d % block


def _prepare_blocks(bucket: Bucket, i: int, unit: dict[str, Any]) -> None:
    d = bucket.params[i].numel()
    if d == 0:
        return
    block, whole, rest = _blocks(bucket, i)
    size = whole * block * block + rest * rest
    if not unit:
        unit.update(A=_new_vector(bucket, size), b=_new_vector(bucket, d))
    _check_array("block-to", unit, "A", size)
    _check_array("block-to", unit, "b", d)


def _block_step(bucket: Bucket, i: int, unit: dict[str, Any], ok: Optional[Tensor]) -> None:
    block, whole, rest = _blocks(bucket, i)
    w, g = _vectors(bucket, i)
    split = whole * block
    parts = [(unit["A"][: split * block].view(whole, block, block), slice(0, split))]
    if rest > 0:
        end = slice(split, split + rest)
        parts.append((unit["A"][split * block :].view(1, rest, rest), end))
    estimates = [_learn_blocks(bucket, A, unit["b"][at], w[at], g[at], ok) for A, at in parts]
    _move(bucket, i, w, torch.cat(estimates), update_of(bucket, bucket.options[i]), ok)


def _learn_blocks(
    bucket: Bucket, A: Tensor, b: Tensor, w: Tensor, g: Tensor, ok: Optional[Tensor]
) -> Tensor:
    """The estimate of blocks of one size, flat; A and b are corrected."""
    w = w.view(A.shape[:2])
    gain = _gain(bucket, w)
    p = torch.matmul(A, w.unsqueeze(-1)).squeeze(-1) + b.view_as(w)
    r = g.view_as(w) - p
    left, right = (gain.alpha * r).unsqueeze(-1), w.unsqueeze(-2)
    if ok is None:
        A.addcmul_(left, right)
    else:
        A.copy_(torch.where(ok, torch.addcmul(A, left, right), A))
    _rounding.store([b], [b + (gain.beta * r).view(-1)], ok=ok)
    return (p + gain.delta * r).view(-1)


# ---- Full-TO -----------------------------------------------------------------------------------


def _prepare_full(bucket: Bucket) -> None:
    d = sum(param.numel() for param in bucket.params)
    if d == 0:
        return
    _refuse_span(bucket.unit, bucket.options[0])
    if not bucket.unit:
        _start_full(bucket, bucket.unit, d)
    _check_full(bucket.unit, d)


def _full_step(bucket: Bucket, ok: Optional[Tensor]) -> None:
    unit, options = bucket.unit, bucket.options[0]
    sizes = [param.numel() for param in bucket.params]
    d = sum(sizes)
    if d == 0:
        return
    w, g = (torch.cat(flat) for flat in zip(*(_vectors(bucket, i) for i in range(len(sizes)))))
    A, b = unit["A"].view(d, d), unit["b"]
    stochastic = options.get("state_rounding", "stochastic") == "stochastic"

    waiting = int(unit.get("pending", 0))
    if waiting == _DELAYED or (waiting > 0 and bucket.capturable):
        # No change of the estimator, so that it does not depend on `ok`.
        u, v = _factors(unit, d, waiting)
        _add_factors(A, u, v, stochastic, None)
        u.zero_()  # a graph that was captured here must not add them again
        unit.update(pending=0, base_is_zero=0)
        waiting = 0

    gain = _gain(bucket, w)
    # A captured graph must not keep what was true of the first step alone.
    is_zero_yet = "u" in unit and unit.get("base_is_zero", 0) and not bucket.capturable
    p = b.clone() if is_zero_yet else _product(A, w).add_(b)
    if waiting > 0:
        u, v = _factors(unit, d, waiting)
        p.addmv_(u.t(), v.mv(w))
    r = g - p
    left = gain.alpha * r
    if "u" in unit and not bucket.capturable:
        if not is_zero(rate(bucket, options["alpha"])):
            u, v = _factors(unit, d, waiting + 1)
            u[waiting], v[waiting] = left, w
            unit["pending"] = waiting + 1
    else:
        _add_factors(A, left.unsqueeze(0), w.unsqueeze(0), stochastic, ok)
        unit["base_is_zero"] = 0
    _rounding.store([b], [b + gain.beta * r], ok=ok)

    estimates = (p + gain.delta * r).split(sizes)
    for i, (w_i, estimate) in enumerate(zip(w.split(sizes), estimates)):
        if sizes[i] > 0:
            _move(bucket, i, w_i, estimate, update_of(bucket, bucket.options[i]), ok)


def _refuse_span(unit: dict[str, Any], options: dict[str, Any]) -> None:
    if options.get("form", "automatic") == "span":
        raise ValueError(
            'full-to: Invalid form value: \'span\', expected form="dense": the foreach backend has '
            "no span form"
        )
    if unit and not unit.get("dense", 1):
        raise StateError(
            "full-to: Invalid state: it has the span form, which the fused backend alone goes on "
            'with; a state for the foreach backend must be trained with form="dense"'
        )


def _matrix_type(bucket: Bucket) -> torch.dtype:
    narrow = bucket.options[0].get("state_type", "full") == "bfloat16"
    return torch.bfloat16 if narrow else bucket.compute_type


def _start_full(bucket: Bucket, unit: dict[str, Any], d: int) -> None:
    dtype = _matrix_type(bucket)
    delays = d >= _SMALL or dtype == torch.bfloat16
    vectors = 2 * _DELAYED if delays else 0
    element = torch.zeros(0, dtype=bucket.compute_type).element_size()
    matrix_element = 2 if dtype == torch.bfloat16 else element
    need = d * d * matrix_element + (vectors + 6) * d * element
    limit = int(bucket.options[0].get("memory_limit", 4 << 30))
    if need > limit:
        raise MemoryError(
            f"full-to: the matrix of {d} weights needs {need} bytes with what a step works on, "
            f"memory_limit is {limit}; the foreach backend has no span form"
        )
    unit.update(A=_new_vector(bucket, d * d, dtype), b=_new_vector(bucket, d))
    if delays:
        unit.update(u=_new_vector(bucket, _DELAYED * d), v=_new_vector(bucket, _DELAYED * d))
    unit.update(dense=1, excess=0.0, rows=0, weights_known=0, weights_hash=0)
    unit.update(base_is_zero=1, pending=0)


def _check_full(unit: dict[str, Any], d: int) -> None:
    _check_array("full-to", unit, "A", d * d)
    _check_array("full-to", unit, "b", d)
    waiting = int(unit.get("pending", 0))
    if not 0 <= waiting <= _DELAYED:
        raise StateError(
            f"full-to: Invalid state: pending is {waiting}, expected 0 to {_DELAYED}"
        )
    for name in ("u", "v") if waiting > 0 or "u" in unit else ():
        _check_array("full-to", unit, name, _DELAYED * d)


def _factors(unit: dict[str, Any], d: int, count: int) -> tuple[Tensor, Tensor]:
    """The first so many updates u_k v_k' that wait, as rows."""
    return unit["u"].view(_DELAYED, d)[:count], unit["v"].view(_DELAYED, d)[:count]


def _product(A: Tensor, w: Tensor) -> Tensor:
    if A.dtype == w.dtype:
        return A.mv(w)
    return torch.cat([rows.to(w.dtype).mv(w) for rows in A.split(_rows_at_once(A))])


def _add_factors(A: Tensor, u: Tensor, v: Tensor, stochastic: bool, ok: Optional[Tensor]) -> None:
    """A += sum of u_k v_k'."""
    if ok is None and A.dtype == u.dtype:
        A.addmm_(u.t(), v)
        return
    at_once = _rows_at_once(A)
    for rows, part in zip(A.split(at_once), u.split(at_once, dim=1)):
        learned = torch.addmm(rows.to(u.dtype), part.t(), v)
        _rounding.store([rows], [learned], stochastic, ok)


def _rows_at_once(A: Tensor) -> int:
    return max(1, _AT_ONCE // A.shape[1])
