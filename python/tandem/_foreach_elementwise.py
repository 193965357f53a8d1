# SPDX-License-Identifier: MIT
"""The elementwise rules on lists of tensors: those of torch, Lion, Diag-TO and Adam-TO."""

from __future__ import annotations

import math
from typing import Callable, NamedTuple, Optional

import torch
from torch import Tensor

from . import _lists, _rounding
from ._foreach_bucket import (
    Bucket,
    Update,
    carry,
    cast,
    gradients,
    is_zero,
    rate,
    step_number,
    sum_type,
    update_of,
)
from ._lists import Number, Tensors

State = dict[str, Tensors]


class Moments(NamedTuple):
    """What a step of a rule with a second moment divides by: root * sqrt(v) + eps. Both sides of
    the fraction are divided by the root, which saves a pass: D = G * scale / (sqrt(v) + eps)."""

    keep: float
    take: float
    eps: Number
    scale: Number

    def denominator(self, v: Tensors, g: Tensors) -> Tensors:
        if self.keep != 1:
            _lists.mul_(v, self.keep)
        _lists.addcmul_(v, g, g, self.take)
        below = _lists.sqrt(v)
        if not is_zero(self.eps):
            _lists.add_number_(below, self.eps)
        return below


def _power(base: float, exponent: Number) -> Number:
    return torch.pow(base, exponent) if isinstance(exponent, Tensor) else base**exponent


def _corrected_moments(bucket: Bucket, beta2: float, eps: float) -> Moments:
    """Of Adam and its kin: v is divided by 1 - beta2^t."""
    left = 1 - _power(beta2, step_number(bucket))
    root: Number = left.sqrt() if isinstance(left, Tensor) else math.sqrt(left)
    return Moments(
        beta2, 1 - beta2, 0.0 if eps == 0 else cast(eps * root, bucket.compute_type), root
    )


# A rule is a function of a bucket that gives the step of a piece of it: weights, gradients, state.
_Step = Callable[[Tensors, Tensors, State], None]


def _sgd(bucket: Bucket, update: Update) -> _Step:
    return lambda w, g, _: update.move(w, g)


def _momentum(bucket: Bucket, update: Update) -> _Step:
    keep = float(bucket.options[0]["momentum"])
    ema = bucket.options[0].get("form", "ema") == "ema"

    def step(w: Tensors, g: Tensors, state: State) -> None:
        m = state["momentum_buffer"]
        if ema:
            _lists.lerp_(m, g, 1 - keep)
        else:
            _lists.mul_(m, keep)
            _lists.add_(m, g)
        update.move(w, m)

    return step


def _nesterov(bucket: Bucket, update: Update) -> _Step:
    keep = float(bucket.options[0]["momentum"])

    def step(w: Tensors, g: Tensors, state: State) -> None:
        m = state["momentum_buffer"]
        _lists.mul_(m, keep)
        _lists.add_(m, g)
        update.move(w, _lists.plus(g, m, keep))

    return step


def _adagrad(bucket: Bucket, update: Update) -> _Step:
    moments = Moments(1.0, 1.0, float(bucket.options[0]["eps"]), 1.0)

    def step(w: Tensors, g: Tensors, state: State) -> None:
        _lists.addcdiv_(w, g, moments.denominator(state["sum"], g), -update.lr)

    return step


def _rmsprop(bucket: Bucket, update: Update) -> _Step:
    keep = float(bucket.options[0]["alpha"])
    moments = Moments(keep, 1 - keep, float(bucket.options[0]["eps"]), 1.0)

    def step(w: Tensors, g: Tensors, state: State) -> None:
        _lists.addcdiv_(w, g, moments.denominator(state["square_avg"], g), -update.lr)

    return step


def _adam(bucket: Bucket, update: Update) -> _Step:
    beta1, beta2 = (float(beta) for beta in bucket.options[0]["betas"])
    moments = _corrected_moments(bucket, beta2, float(bucket.options[0]["eps"]))
    corrected = moments.scale / (1 - _power(beta1, step_number(bucket)))
    minus_rate = cast(-update.lr * corrected, bucket.compute_type)

    def step(w: Tensors, g: Tensors, state: State) -> None:
        _lists.lerp_(state["exp_avg"], g, 1 - beta1)
        below = moments.denominator(state["exp_avg_sq"], g)
        update.decay(w)
        _lists.addcdiv_(w, state["exp_avg"], below, minus_rate)

    return step


def _look_ahead(bucket: Bucket) -> tuple[Number, Number, Number]:
    """NAdamW's momentum of this step and of the next, and the product of those so far."""
    options = bucket.options[0]
    beta1, decay = float(options["betas"][0]), float(options["momentum_decay"])
    t = step_number(bucket)
    mu, following = (beta1 * (1 - 0.5 * _power(0.96, at * decay)) for at in (t, t + 1))
    held = bucket.scalars["mu_product"]
    if isinstance(held, Tensor):
        held = held.to(sum_type(bucket.device))
    return mu, following, held * mu


def _nadamw(bucket: Bucket, update: Update) -> _Step:
    options = bucket.options[0]
    beta1, beta2 = (float(beta) for beta in options["betas"])
    mu, following, product = _look_ahead(bucket)
    moments = _corrected_moments(bucket, beta2, float(options["eps"]))
    of_m = -update.lr * moments.scale * following / (1 - product * following)
    of_g = -update.lr * moments.scale * (1 - mu) / (1 - product)
    minus_rates = cast(of_m, bucket.compute_type), cast(of_g, bucket.compute_type)

    def step(w: Tensors, g: Tensors, state: State) -> None:
        _lists.lerp_(state["exp_avg"], g, 1 - beta1)
        below = moments.denominator(state["exp_avg_sq"], g)
        update.decay(w)
        _lists.addcdiv_(w, state["exp_avg"], below, minus_rates[0])
        _lists.addcdiv_(w, g, below, minus_rates[1])

    return step


def _lion(bucket: Bucket, update: Update) -> _Step:
    beta1, beta2 = (float(beta) for beta in bucket.options[0]["betas"])

    def step(w: Tensors, g: Tensors, state: State) -> None:
        direction = _lists.scaled(state["exp_avg"], beta1)
        _lists.add_(direction, g, 1 - beta1)
        _lists.sign_(direction)
        _lists.lerp_(state["exp_avg"], g, 1 - beta2)
        update.move(w, direction)

    return step


def _diagonal(bucket: Bucket) -> Callable[[Tensors, Tensors, State], Tensors]:
    """Diag-TO's estimate: predict p = a w + b, correct a and b by the residual r = g - p, predict
    again."""
    options = bucket.options[0]
    alpha = cast(rate(bucket, options["alpha"]), bucket.compute_type)
    beta = cast(rate(bucket, options["beta"]), bucket.compute_type)
    eps = float(options["normalize_eps"]) if options.get("normalize", False) else None

    def estimate(w: Tensors, g: Tensors, state: State) -> Tensors:
        a, b = state["a"], state["b"]
        r = _lists.sub(g, b)
        _lists.addcmul_(r, a, w, -1.0)
        _lists.add_(b, r, beta)
        if eps is None:
            _lists.addcmul_(a, r, w, alpha)
        elif not is_zero(alpha):
            square = _lists.mul(w, w)
            _lists.add_number_(square, eps)
            _lists.addcdiv_(a, _lists.mul(r, w), square, alpha)
        return _lists.addcmul(b, a, w)

    return estimate


def _diag_to(bucket: Bucket, update: Update) -> _Step:
    estimate = _diagonal(bucket)
    return lambda w, g, state: update.move(w, estimate(w, g, state))


def _adam_to(bucket: Bucket, update: Update) -> _Step:
    estimate = _diagonal(bucket)
    options = bucket.options[0]
    moments = _corrected_moments(bucket, float(options["beta2"]), float(options["eps"]))
    minus_rate = cast(-update.lr * moments.scale, bucket.compute_type)

    def step(w: Tensors, g: Tensors, state: State) -> None:
        below = moments.denominator(state["v"], g)
        direction = estimate(w, g, state)
        update.decay(w)
        _lists.addcdiv_(w, direction, below, minus_rate)

    return step


#: Keys of the state, and the rule.
_RULES: dict[str, tuple[tuple[str, ...], Callable[[Bucket, Update], _Step]]] = {
    "sgd": ((), _sgd),
    "momentum": (("momentum_buffer",), _momentum),
    "nesterov": (("momentum_buffer",), _nesterov),
    "adagrad": (("sum",), _adagrad),
    "rmsprop": (("square_avg",), _rmsprop),
    "adam": (("exp_avg", "exp_avg_sq"), _adam),
    "adamw": (("exp_avg", "exp_avg_sq"), _adam),
    "nadamw": (("exp_avg", "exp_avg_sq"), _nadamw),
    "lion": (("exp_avg",), _lion),
    "diag-to": (("a", "b"), _diag_to),
    "adam-to": (("a", "b", "v"), _adam_to),
}


def step(bucket: Bucket, ok: Optional[Tensor]) -> None:
    """One step of an elementwise rule; where `ok` is False nothing changes."""
    keys, rule = _RULES[bucket.rule]
    options = bucket.options[0]
    step_piece = rule(bucket, update_of(bucket, options))
    rounding = bool(options.get("stochastic_rounding", False))
    state_rounding = options.get("state_rounding", "stochastic") == "stochastic"
    present = [g for g in bucket.grads if g is not None]
    lists = [bucket.params, present] + [bucket.state[key] for key in keys]
    for params, grads, *arrays in _lists.pieces(lists):
        copy = ok is not None
        w = _rounding.widen(params, bucket.compute_type, copy)
        state = {
            key: _rounding.widen(array, bucket.compute_type, copy)
            for key, array in zip(keys, arrays)
        }
        step_piece(w, gradients(bucket, w, grads), state)
        _rounding.store(params, w, rounding, ok)
        for key, array in zip(keys, arrays):
            _rounding.store(array, state[key], state_rounding, ok)
    if bucket.rule == "nadamw":
        carry(bucket, "mu_product", _look_ahead(bucket)[2], ok)
