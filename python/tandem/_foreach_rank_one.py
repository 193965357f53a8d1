# SPDX-License-Identifier: MIT
"""RO-TO on lists of tensors: A = a c', over all parameters of a scope together.

With s = c.w and q = r.a = g.a - s |a|^2 - b.a the corrected product is c'.w = s + alpha q |w|^2, so
that a few sums over all weights, taken before the step in double, make the rest elementwise.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Optional

import torch
from torch import Tensor

from . import _lists, _rounding
from ._foreach_bucket import Bucket, Update, carry, cast, gradients, rate, sum_type, update_of
from ._lists import Number, Tensors

# What `c_known` may be: there is no c yet; there is one; it is w / |w| when the weights have moved.
_KNOWN, _WHEN_MOVED = 1, 2


def add_sums(bucket: Bucket, sums: Tensor) -> None:
    """Adds [ga, cw, ww, aa, ab, all_ww] to sums[1:7]."""
    dtype = sum_type(bucket.device)
    here = [i for i, g in enumerate(bucket.grads) if g is not None]
    lists = [_at(bucket.params, here), _grads(bucket)]
    lists += [_at(bucket.state[key], here) for key in ("a", "b", "c")]
    for params, grads, *arrays in _lists.pieces(lists):
        wide = _rounding.widen(params, bucket.compute_type, copy=False)
        g = _lists.flat(gradients(bucket, wide, grads)).to(dtype)
        w, a, b, c = (_lists.flat(x).to(dtype) for x in (wide, *arrays))
        pairs = ((g, a), (c, w), (w, w), (a, a), (a, b))
        sums[1:6] += torch.stack([torch.dot(x, y) for x, y in pairs])
    known = bucket.scalars["c_known"]
    if not isinstance(known, Tensor) and known == _KNOWN:
        return
    sums[6] += sums[3]
    left_out = [w for w, g in zip(bucket.params, bucket.grads) if g is None]
    for (piece,) in _lists.pieces([left_out]):
        w = _lists.flat(piece).to(dtype)
        sums[6] += torch.dot(w, w)


class _Scalars(NamedTuple):
    """What the elementwise part needs."""

    s_before: Number
    s_after: Number
    a_step: Number
    c_step: Number
    beta: Number


def step(bucket: Bucket, sums: Tensor, ok: Optional[Tensor]) -> None:
    """One step over the scope; where `ok` is False nothing changes."""
    sums = sums.to(bucket.device)
    s = _set_first_c(bucket, sums, ok)
    scalars = _scalars(bucket, sums, s)
    for options, members in _by_options(bucket):
        _move(bucket, members, scalars, update_of(bucket, options), ok)
    if "sums_known" in bucket.scalars:
        bucket.scalars["sums_known"] = 0  # those that the fused kernels carry to the next step


def _set_first_c(bucket: Bucket, sums: Tensor, ok: Optional[Tensor]) -> Tensor:
    """c_0 = w_1 / |w_1|^2, so that c_0.w_1 = 1; with a = c = 0 neither would ever move. Where
    w_1 = 0, c is w / |w| when the weights have moved. Gives c.w."""
    cw, ww, all_ww = sums[2], sums[3], sums[6]
    known = bucket.scalars["c_known"]
    if not isinstance(known, Tensor):
        if known == _KNOWN:
            return cw
        if not bool(all_ww > 0):  # read on the host, in the first steps alone
            bucket.scalars["c_known"] = _WHEN_MOVED
            return torch.zeros_like(cw)
        norm = all_ww.sqrt() if known == _WHEN_MOVED else all_ww
        _scale_weights_to_c(bucket, 1 / norm, None)
        bucket.scalars["c_known"] = _KNOWN
        return ww / norm
    is_known, moved = known == _KNOWN, all_ww > 0
    norm = torch.where(known == _WHEN_MOVED, all_ww.sqrt(), all_ww)
    now = moved & ~is_known
    _scale_weights_to_c(bucket, 1 / norm, now if ok is None else now & ok)
    state = torch.where(is_known | moved, float(_KNOWN), float(_WHEN_MOVED))
    carry(bucket, "c_known", state, ok)
    return torch.where(is_known, cw, torch.where(moved, ww / norm, torch.zeros_like(ww)))


def _scale_weights_to_c(bucket: Bucket, scale: Tensor, ok: Optional[Tensor]) -> None:
    """c = scale * w, of those that are left out as well."""
    factor = cast(scale, bucket.compute_type)
    for params, c in _lists.pieces([bucket.params, bucket.state["c"]]):
        w = _rounding.widen(params, bucket.compute_type, copy=False)
        _rounding.store(c, _lists.scaled(w, factor), ok=ok)


def _scalars(bucket: Bucket, sums: Tensor, s: Tensor) -> _Scalars:
    options = bucket.options[0]
    alpha, beta = rate(bucket, options["alpha"]), rate(bucket, options["beta"])
    _, ga, _, ww, aa, ab, _, _ = sums.unbind()
    q = ga - s * aa - ab
    a_rate = c_rate = alpha
    if options.get("normalize", False):
        eps = float(options["normalize_eps"])
        a_rate = alpha / (eps + s * s)
        c_rate = alpha / (eps + aa * ww)
        # s must not change by more than alpha |s|: without the cap it is not bounded.
        change, most = (c_rate * q * ww).abs(), alpha * s.abs()
        c_rate = torch.where(change > most, c_rate * most / change, c_rate)
    numbers: list[Number] = [s, s + c_rate * q * ww, a_rate * s, c_rate * q, beta]
    numbers = [cast(number, bucket.compute_type) for number in numbers]
    if not bucket.capturable and bucket.device.type == "cpu":
        return _Scalars(*map(float, numbers))  # arguments cost less than operands
    return _Scalars(*numbers)


def _move(
    bucket: Bucket, members: list[int], k: _Scalars, update: Update, ok: Optional[Tensor]
) -> None:
    """The elementwise part, on some parameters with the same rates."""
    dtype, copy = bucket.compute_type, ok is not None
    rounding = bool(bucket.options[0].get("stochastic_rounding", False))
    grads = [g for i in members if (g := bucket.grads[i]) is not None]
    lists = [_at(bucket.params, members), grads]
    lists += [_at(bucket.state[key], members) for key in ("a", "b", "c")]
    for params, piece, *arrays in _lists.pieces(lists):
        w = _rounding.widen(params, dtype, copy)
        a, b, c = (_rounding.widen(array, dtype, copy) for array in arrays)
        r = _lists.sub(gradients(bucket, w, piece), b)
        _lists.add_(r, a, -k.s_before)
        _lists.add_(a, r, k.a_step)
        _lists.add_(c, w, k.c_step)
        _lists.add_(b, r, k.beta)
        update.move(w, _lists.plus(b, a, k.s_after))
        _rounding.store(params, w, rounding, ok)
        for array, value in zip(arrays, (a, b, c)):
            _rounding.store(array, value, ok=ok)


def _by_options(bucket: Bucket) -> list[tuple[dict[str, Any], list[int]]]:
    """The parameters that are stepped, by the rates of their groups."""
    groups: list[tuple[dict[str, Any], list[int]]] = []
    for i, (options, g) in enumerate(zip(bucket.options, bucket.grads)):
        if g is None:
            continue
        for known, members in groups:
            if _same_rates(known, options):
                members.append(i)
                break
        else:
            groups.append((options, [i]))
    return groups


def _same_rates(one: dict[str, Any], other: dict[str, Any]) -> bool:
    for name in ("lr", "weight_decay"):
        x, y = one.get(name, 0.0), other.get(name, 0.0)
        if x is y:
            continue
        if isinstance(x, Tensor) or isinstance(y, Tensor) or x != y:
            return False
    return True


def _grads(bucket: Bucket) -> Tensors:
    return [g for g in bucket.grads if g is not None]


def _at(tensors: Tensors, places: list[int]) -> Tensors:
    return [tensors[i] for i in places]
