# SPDX-License-Identifier: MIT
"""The optimizers as torch.optim.Optimizer: against references, and in all that torch's can do."""

from __future__ import annotations

import copy
import ctypes
import inspect
import io
import json
import math
import pickle
from typing import Any

import pytest
import tandem
import tandem.reference
import torch
from models import IDS, RULES, batches, loss_of, make_model, train, weights
from torch import nn

rules = pytest.mark.parametrize("cls,options", RULES, ids=IDS)

#: torch's own optimizers that ours must equal.
PEERS = [
    (tandem.Adam, {"lr": 0.01, "weight_decay": 0.1}, torch.optim.Adam, {}),
    (tandem.AdamW, {"lr": 0.01, "betas": (0.8, 0.99)}, torch.optim.AdamW, {}),
    (tandem.SGD, {"lr": 0.05, "weight_decay": 0.1}, torch.optim.SGD, {}),
    (tandem.Nesterov, {"lr": 0.01}, torch.optim.SGD, {"momentum": 0.9, "nesterov": True}),
    (tandem.Adagrad, {"lr": 0.05, "initial_accumulator_value": 0.1}, torch.optim.Adagrad, {}),
    (tandem.RMSProp, {"lr": 0.01}, torch.optim.RMSprop, {}),
]


@rules
def test_is_an_optimizer_of_torch_and_lowers_the_loss(cls: Any, options: dict[str, Any]) -> None:
    model = make_model()
    optimizer = cls(model.parameters(), **options)
    assert isinstance(optimizer, torch.optim.Optimizer)
    losses = train(model, optimizer, batches(300))
    assert sum(losses[-20:]) < 0.5 * sum(losses[:20])


@pytest.mark.parametrize(
    "name,options",
    [(cls.__name__, options) for cls, options in RULES if hasattr(tandem.reference, cls.__name__)],
)
def test_equals_the_reference_in_plain_torch(name: str, options: dict[str, Any]) -> None:
    ours, theirs = make_model(torch.float64), make_model(torch.float64)
    data = batches(200, torch.float64)
    train(ours, getattr(tandem, name)(ours.parameters(), **options), data)
    train(theirs, getattr(tandem.reference, name)(theirs.parameters(), **options), data)
    torch.testing.assert_close(weights(ours), weights(theirs), rtol=1e-9, atol=1e-9)


def test_all_trainable_rules_have_a_reference() -> None:
    trainable = [cls.__name__ for cls, options in RULES if "alpha" in options]
    assert len(trainable) == 5
    assert all(hasattr(tandem.reference, name) for name in trainable)


@pytest.mark.parametrize("ours,options,theirs,more", PEERS, ids=[p[0].rule for p in PEERS])
def test_equals_torch(ours: Any, options: Any, theirs: Any, more: Any) -> None:
    a, b = make_model(torch.float64), make_model(torch.float64)
    data = batches(200, torch.float64)
    train(a, ours(a.parameters(), **options), data)
    same_options = {**options, **more}
    train(b, theirs(b.parameters(), **same_options), data)
    torch.testing.assert_close(weights(a), weights(b), rtol=1e-11, atol=1e-11)


def test_alpha_zero_is_momentum() -> None:
    a, b = make_model(torch.float64), make_model(torch.float64)
    data = batches(100, torch.float64)
    train(a, tandem.DiagonalTO(a.parameters(), lr=0.05, alpha=0.0, beta=0.1), data)
    train(b, tandem.Momentum(b.parameters(), lr=0.05, momentum=0.9), data)
    torch.testing.assert_close(weights(a), weights(b), rtol=1e-11, atol=1e-11)


@rules
def test_defaults_are_those_of_the_library(cls: Any, options: dict[str, Any]) -> None:
    optimizer = cls([nn.Parameter(torch.zeros(3))])
    texts = tandem._options.check(cls.rule, optimizer.param_groups[0])
    ours = tandem._options.core_options(cls.rule, texts)
    theirs = {o["name"]: o["default"] for o in _described(cls.rule)["options"]}
    if "weight_decay" in ours:  # torch's default of Adam's, which decouples it, is the library's
        assert ours["weight_decay"] == repr(float(theirs["weight_decay"]))
    for name, value in ours.items():
        assert _value(value) == _value(theirs[name]), name
    documented = cls.__doc__ + tandem.Optimizer.__doc__
    for name in inspect.signature(cls).parameters:
        assert name in documented


def _described(rule: str) -> Any:
    """What the library says of a rule."""
    describe = tandem._core.library().tandem_v1_describe
    needed = ctypes.c_size_t()
    assert describe(rule.encode(), None, ctypes.c_size_t(0), ctypes.byref(needed)) == 0
    text = ctypes.create_string_buffer(needed.value)
    assert describe(rule.encode(), text, needed, None) == 0
    return json.loads(text.value)


def _value(text: str) -> Any:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        return text


@rules
def test_groups_with_options_of_their_own(cls: Any, options: dict[str, Any]) -> None:
    model = make_model()
    first, second = list(model[0].parameters()), list(model[2].parameters())
    frozen = [p.detach().clone() for p in second]
    optimizer = cls([{"params": first}, {"params": second, "lr": 0.0}], **options)
    assert optimizer.param_groups[0]["lr"] == options["lr"]
    before = weights(model)
    train(model, optimizer, batches(3))
    assert not torch.equal(before, weights(model))
    for p, q in zip(second, frozen):
        assert torch.equal(p.detach(), q)


def test_a_group_added_later_is_stepped() -> None:
    model = make_model()
    optimizer = tandem.DiagonalTO(model[0].parameters(), lr=0.1)
    train(model, optimizer, batches(2))
    optimizer.add_param_group({"params": model[2].parameters(), "lr": 0.2})
    before = model[2].weight.detach().clone()
    train(model, optimizer, batches(2))
    assert optimizer.param_groups[1]["lr"] == 0.2
    assert not torch.equal(before, model[2].weight)


@rules
def test_resumes_to_the_same_bits(cls: Any, options: dict[str, Any]) -> None:
    data = batches(40)
    model = make_model()
    optimizer = cls(model.named_parameters(), **options)
    train(model, optimizer, data[:17])
    file = io.BytesIO()
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, file)
    train(model, optimizer, data[17:])

    file.seek(0)
    saved = torch.load(file)
    resumed = make_model(seed=5)
    resumed.load_state_dict(saved["model"])
    again = cls(resumed.named_parameters(), lr=0.123)
    again.load_state_dict(saved["optimizer"])
    assert again.param_groups[0]["lr"] == options["lr"]
    train(resumed, again, data[17:])
    assert torch.equal(weights(model), weights(resumed))


@rules
def test_deep_copy_and_pickle_go_on_to_the_same_bits(cls: Any, options: dict[str, Any]) -> None:
    data = batches(20)
    model = make_model()
    optimizer = cls(model.parameters(), **options)
    train(model, optimizer, data[:9])
    both = (model, optimizer)
    for other_model, other in (copy.deepcopy(both), pickle.loads(pickle.dumps(both))):
        assert type(other) is cls
        other_params = {id(p) for p in other_model.parameters()}
        assert {id(p) for g in other.param_groups for p in g["params"]} == other_params
        train(other_model, other, data[9:])
        twin_model, twin = copy.deepcopy(both)
        train(twin_model, twin, data[9:])
        assert torch.equal(weights(other_model), weights(twin_model))
        assert not torch.equal(weights(other_model), weights(model))


def test_state_dict_holds_the_state_of_each_parameter() -> None:
    model = make_model()
    optimizer = tandem.DiagonalTO(model.parameters(), lr=0.1)
    assert optimizer.state_dict()["state"] == {}
    train(model, optimizer, batches(3))
    state = optimizer.state_dict()["state"]
    for index, parameter in enumerate(model.parameters()):
        assert set(state[index]) == {"step", "a", "b"}
        assert state[index]["step"] == 3
        assert state[index]["a"].shape == parameter.shape
        assert optimizer.state[parameter]["b"] is state[index]["b"]


# ---- Loads that must be refused ------------------------------------------------------------------


def test_a_state_dict_that_does_not_fit_is_refused_and_changes_nothing() -> None:
    model = make_model()
    optimizer = tandem.DiagonalTO(model.named_parameters(), lr=0.1)
    train(model, optimizer, batches(3))
    before = optimizer.state_dict()

    def refused(state: Any, *parts: str) -> None:
        with pytest.raises(ValueError) as error:
            optimizer.load_state_dict(state)
        for part in parts:
            assert part in str(error.value)
        after = optimizer.state_dict()
        assert after["param_groups"] == before["param_groups"]
        for index, arrays in before["state"].items():
            for name, value in arrays.items():
                found = after["state"][index][name]
                assert torch.equal(found, value) if torch.is_tensor(value) else found == value

    foreign = torch.optim.Adam(model.parameters())
    loss_of(model, batches(1)[0]).backward()
    foreign.step()
    refused(foreign.state_dict(), "DiagonalTO", "exp_avg")
    refused(tandem.Adam(model.parameters()).state_dict(), "adam", "diag-to")
    refused(tandem.DiagonalTO(model[0].parameters()).state_dict(), "2", "4")
    groups = [{"params": model[0].parameters()}, {"params": model[2].parameters()}]
    refused(tandem.DiagonalTO(groups).state_dict(), "number of parameter groups")

    other = nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 3))
    renamed = [("other." + name, p) for name, p in other.named_parameters()]
    refused(tandem.DiagonalTO(renamed).state_dict(), "other.0.weight", "0.weight")

    wider = nn.Sequential(nn.Linear(6, 4), nn.Tanh(), nn.Linear(4, 3))
    wide = tandem.DiagonalTO(wider.named_parameters())
    loss_of(wider, batches(1)[0]).backward()
    wide.step()
    refused(wide.state_dict(), "shape", "4, 6", "5, 6")

    damaged = copy.deepcopy(before)
    del damaged["state"][1]["a"]
    refused(damaged, "'0.bias'", "no 'a'")
    damaged = copy.deepcopy(before)
    damaged["state"][0]["a"] = damaged["state"][0]["a"].double()
    refused(damaged, "'0.weight'", "float64")
    damaged = copy.deepcopy(before)
    damaged["state"][0]["a"] = 3
    refused(damaged, "'0.weight': a is int", "tensor")
    damaged = copy.deepcopy(before)
    damaged["state"][0]["step"] = -1
    refused(damaged, "'0.weight': step")
    damaged = copy.deepcopy(before)
    damaged["state"][0]["step"] = 1.5
    refused(damaged, "'0.weight': step")
    damaged = copy.deepcopy(before)
    damaged["state"][0] = [1]
    refused(damaged, "'0.weight'", "dict")
    damaged = copy.deepcopy(before)
    damaged["state"][77] = {}
    refused(damaged, "77", "in no group")
    damaged = copy.deepcopy(before)
    damaged["param_groups"][0]["alpha"] = -1.0
    refused(damaged, "Invalid alpha value: -1.0")
    for key in ("state", "param_groups"):
        damaged = copy.deepcopy(before)
        del damaged[key]
        refused(damaged, key)
    # A key that is missing in a group gets its default.
    partial = copy.deepcopy(before)
    partial["param_groups"][0].pop("alpha")
    optimizer.param_groups[0]["alpha"] = 0.7
    optimizer.load_state_dict(partial)
    assert optimizer.param_groups[0]["alpha"] == 0.01


# ---- What torch's training loops do --------------------------------------------------------------


@rules
def test_closure(cls: Any, options: dict[str, Any]) -> None:
    a, b = make_model(), make_model()
    data = batches(5)
    train(a, cls(a.parameters(), **options), data)
    optimizer = cls(b.parameters(), **options)
    for batch in data:

        def closure() -> torch.Tensor:
            optimizer.zero_grad()
            loss = loss_of(b, batch)
            loss.backward()
            return loss

        assert float(optimizer.step(closure).detach()) > 0
    assert torch.equal(weights(a), weights(b))


def test_schedulers_move_lr_and_with_schedule_all_alpha_and_beta() -> None:
    data = batches(30, torch.float64)
    a, b, c = (make_model(torch.float64) for _ in range(3))
    scheduled = tandem.DiagonalTO(a.parameters(), lr=0.1, alpha=0.05, beta=0.5, schedule_all=True)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(scheduled, 0.9)
    train(a, scheduled, data, scheduler.step)
    by_hand = tandem.DiagonalTO(b.parameters(), lr=0.1, alpha=0.05, beta=0.5)
    rate = [1.0]

    def decay() -> None:
        rate[0] *= 0.9
        by_hand.param_groups[0].update(lr=0.1 * rate[0], alpha=0.05 * rate[0], beta=0.5 * rate[0])

    train(b, by_hand, data, decay)
    torch.testing.assert_close(weights(a), weights(b), rtol=1e-9, atol=1e-9)

    lr_alone = tandem.DiagonalTO(c.parameters(), lr=0.1, alpha=0.05, beta=0.5)
    train(c, lr_alone, data, torch.optim.lr_scheduler.ExponentialLR(lr_alone, 0.9).step)
    assert not torch.allclose(weights(a), weights(c), atol=1e-6)


@rules
def test_moved_rates_give_the_bits_of_changed_options(cls: Any, options: dict[str, Any]) -> None:
    data = batches(20)
    a, b = make_model(), make_model()
    moved, changed = (
        cls([{"params": m[0].parameters()}, {"params": m[2].parameters(), "lr": 0.002}], **options)
        for m in (a, b)
    )
    for t, batch in enumerate(data):
        for optimizer in (moved, changed):
            for number, group in enumerate(optimizer.param_groups):
                group["lr"] *= 0.9 if number == 0 or t % 2 else 1.0
                if t % 3 == 0:
                    group["weight_decay"] = 0.01 * (1 + number) / (1 + t)
                if t % 4 == 0 and "alpha" in group:
                    group.update(alpha=0.01 / (1 + t), beta=0.4 / (1 + t), l2=0.001 * t)
        changed._forget()  # all options are sent as texts
        train(a, moved, [batch])
        train(b, changed, [batch])
        assert torch.equal(weights(a), weights(b)), t


@rules
def test_moved_rates_that_cannot_be_are_refused(cls: Any, options: dict[str, Any]) -> None:
    model = make_model()
    optimizer = cls(model.parameters(), **options)
    train(model, optimizer, batches(2))
    before = weights(model).clone()
    group = optimizer.param_groups[0]
    words = {"lr": "learning rate"}
    for name in ("lr", "weight_decay", "alpha", "beta", "l2"):
        if name not in group:
            continue
        good = group[name]
        for bad in (-1.0, math.nan, math.inf):
            group[name] = bad
            with pytest.raises(ValueError, match=f"Invalid {words.get(name, name + ' value')}: {bad}"):
                optimizer.step()
        group[name] = "much"
        with pytest.raises((TypeError, ValueError), match=words.get(name, name)):
            optimizer.step()
        group[name] = []
        with pytest.raises(TypeError, match=words.get(name, name)):
            optimizer.step()
        group[name] = good
    assert torch.equal(weights(model), before)
    optimizer.step()
    assert not torch.equal(weights(model), before)


def test_schedule_all_is_resumed_from_where_it_began() -> None:
    data = batches(20)

    def start() -> tuple[nn.Module, tandem.DiagonalTO, Any]:
        model = make_model()
        optimizer = tandem.DiagonalTO(model.parameters(), lr=0.1, beta=0.5, schedule_all=True)
        return model, optimizer, torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.8)

    model, optimizer, scheduler = start()
    train(model, optimizer, data[:10], scheduler.step)
    saved = copy.deepcopy(
        (model.state_dict(), optimizer.state_dict(), scheduler.state_dict())
    )
    train(model, optimizer, data[10:], scheduler.step)
    again, other, other_scheduler = start()
    again.load_state_dict(saved[0])
    other.load_state_dict(saved[1])
    other_scheduler.load_state_dict(saved[2])
    train(again, other, data[10:], other_scheduler.step)
    assert torch.equal(weights(model), weights(again))


def test_a_tensor_as_lr_may_be_changed_in_place() -> None:
    a, b = make_model(), make_model()
    lr = torch.tensor(0.125)
    tensor_lr, float_lr = tandem.Adam(a.parameters(), lr=lr), tandem.Adam(b.parameters(), lr=0.125)
    train(a, tensor_lr, batches(3))
    train(b, float_lr, batches(3))
    lr.mul_(0.5)
    float_lr.param_groups[0]["lr"] = 0.0625
    train(a, tensor_lr, batches(3))
    train(b, float_lr, batches(3))
    assert torch.equal(weights(a), weights(b))


def test_gradient_accumulation_and_clipping() -> None:
    data = batches(12)
    a, b = make_model(), make_model()
    ours = tandem.Adam(a.parameters(), lr=0.01)
    theirs = torch.optim.Adam(b.parameters(), lr=0.01)
    for model, optimizer in ((a, ours), (b, theirs)):
        for step in range(0, 12, 3):
            optimizer.zero_grad()
            for batch in data[step : step + 3]:
                (loss_of(model, batch) / 3).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.1)
            optimizer.step()
    torch.testing.assert_close(weights(a), weights(b), rtol=1e-5, atol=1e-6)


def test_what_a_grad_scaler_reports_is_heeded() -> None:
    """A GradScaler sets these attributes on optimizers that say they support it."""
    assert tandem.DiagonalTO._step_supports_amp_scaling
    data = batches(4)
    a, b = make_model(), make_model()
    plain, scaled = (tandem.DiagonalTO(m.parameters(), lr=0.1) for m in (a, b))
    for batch in data:
        for model, optimizer, scale in ((a, plain, 1.0), (b, scaled, 1024.0)):
            optimizer.zero_grad()
            (loss_of(model, batch) * scale).backward()
        plain.step()
        scaled.grad_scale, scaled.found_inf = torch.tensor(1024.0), torch.tensor(0.0)
        scaled.step()
        del scaled.grad_scale, scaled.found_inf
    assert torch.equal(weights(a), weights(b))

    before = weights(b)
    b[0].weight.grad[0, 0] = math.inf
    scaled.grad_scale, scaled.found_inf = torch.tensor(1024.0), torch.tensor(1.0)
    scaled.step()
    assert torch.equal(before, weights(b))
    assert scaled.skipped_steps == 1
    assert copy.deepcopy(scaled).skipped_steps == 1


def test_the_grad_scaler_of_torch() -> None:
    scaler_of = getattr(getattr(torch, "amp", None), "GradScaler", None)
    if scaler_of is None:
        pytest.skip(f"torch {torch.__version__} has no GradScaler for the CPU")
    model = make_model()
    optimizer = tandem.DiagonalTO(model.parameters(), lr=0.1)
    scaler = scaler_of("cpu", init_scale=256.0)
    before = weights(model)
    scaler.scale(loss_of(model, batches(1)[0])).backward()
    scaler.step(optimizer)
    scaler.update()
    assert not torch.equal(before, weights(model))
    before = weights(model)
    model[0].weight.grad.fill_(math.inf)
    scaler.step(optimizer)
    scaler.update()
    assert torch.equal(before, weights(model))


@rules
def test_bfloat16_parameters_with_a_float_state(cls: Any, options: dict[str, Any]) -> None:
    model = make_model(torch.bfloat16)
    optimizer = cls(model.parameters(), stochastic_rounding=True, **options)
    losses = train(model, optimizer, batches(300, torch.bfloat16))
    assert sum(losses[-20:]) < 0.6 * sum(losses[:20])
    types = set()
    for state in optimizer.state.values():
        tandem._state.for_tensors(state, lambda tensor: types.add(tensor.dtype))
    assert types <= {torch.float32}


@rules
def test_threads_do_not_change_bits(cls: Any, options: dict[str, Any]) -> None:
    if cls is tandem.FullTO:
        options = {**options, "scope": "tensor"}
    before = torch.get_num_threads()
    results = []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            generator = torch.Generator().manual_seed(1)
            sizes = (300, 1200) if cls is tandem.FullTO else (70_000, 300)
            params = [nn.Parameter(torch.randn(n, generator=generator)) for n in sizes]
            optimizer = cls(params, **options)
            for _ in range(3):
                for p in params:
                    p.grad = torch.randn(p.numel(), generator=generator) * 0.1
                optimizer.step()
            results.append(torch.cat([p.detach() for p in params]))
    finally:
        torch.set_num_threads(before)
    assert torch.equal(results[0], results[1]) and torch.equal(results[0], results[2])


def test_strides_and_missing_gradients() -> None:
    base = torch.randn(8, 6)
    lying = nn.Parameter(base.clone().t())  # not contiguous
    standing = nn.Parameter(base.clone().t().contiguous())
    idle = nn.Parameter(torch.ones(3))
    gradient = torch.randn(6, 8)
    a, b = tandem.DiagonalTO([lying, idle], lr=0.1), tandem.DiagonalTO([standing], lr=0.1)
    for _ in range(3):
        lying.grad, standing.grad = gradient.clone(), gradient.clone()
        a.step()
        b.step()
    assert torch.equal(lying.detach(), standing.detach())
    assert torch.equal(idle.detach(), torch.ones(3))


def test_diagnostics() -> None:
    p = nn.Parameter(torch.tensor([3.0, 4.0]))
    optimizer = tandem.DiagonalTO([p], lr=0.1, alpha=0.1, beta=0.5)
    assert math.isnan(optimizer.last.residual_norm) and optimizer.state_bytes == 0
    p.grad = torch.tensor([0.6, 0.8])
    optimizer.step()
    assert optimizer.last.gradient_norm == pytest.approx(1.0)
    assert optimizer.last.residual_norm == pytest.approx(1.0)
    assert optimizer.last.delta == pytest.approx(0.1 * 16 + 0.5)
    assert optimizer.state_bytes == 16


def test_repr_shows_the_options() -> None:
    text = repr(tandem.DiagonalTO([nn.Parameter(torch.zeros(2))], lr=0.25))
    assert text.startswith("DiagonalTO") and "lr: 0.25" in text and "alpha: 0.01" in text
