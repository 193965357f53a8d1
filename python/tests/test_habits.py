# SPDX-License-Identifier: MIT
"""What users of torch expect of an optimizer: options, schedulers, hooks, names, compiled steps."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import pytest
import tandem
import torch
from models import IDS, RULES, batches, loss_of, make_model, train, weights
from torch import nn
from torch.optim import lr_scheduler

rules = pytest.mark.parametrize("cls,options", RULES, ids=IDS)
TORCH2 = int(torch.__version__.split(".")[0]) >= 2
torch2 = pytest.mark.skipif(not TORCH2, reason=f"torch {torch.__version__} has none, torch 2 does")


@rules
def test_maximize(cls: Any, options: dict[str, Any]) -> None:
    data = batches(10)
    a, b = make_model(), make_model()
    down, up = cls(a.parameters(), **options), cls(b.parameters(), maximize=True, **options)
    for batch in data:
        for model, optimizer, sign in ((a, down, 1), (b, up, -1)):
            optimizer.zero_grad()
            (sign * loss_of(model, batch)).backward()
            optimizer.step()
    assert torch.equal(weights(a), weights(b))
    assert all(p.grad is not None for p in b.parameters())


@pytest.mark.parametrize("cls", [tandem.Adam, tandem.AdamW, tandem.NAdamW, tandem.Lion])
def test_one_cycle_moves_betas(cls: Any) -> None:
    model = make_model()
    optimizer = cls(model.parameters(), lr=0.01)
    scheduler = lr_scheduler.OneCycleLR(optimizer, max_lr=0.05, total_steps=20)
    seen = set()

    def each() -> None:
        scheduler.step()
        seen.add(optimizer.param_groups[0]["betas"][0])

    train(model, optimizer, batches(19), each)
    assert len(seen) > 5


def test_one_cycle_equals_torchs() -> None:
    data = batches(19, torch.float64)
    a, b = make_model(torch.float64), make_model(torch.float64)
    pairs = ((a, tandem.Adam(a.parameters())), (b, torch.optim.Adam(b.parameters())))
    for model, optimizer in pairs:
        scheduler = lr_scheduler.OneCycleLR(optimizer, max_lr=0.05, total_steps=20)
        train(model, optimizer, data, scheduler.step)
    torch.testing.assert_close(weights(a), weights(b), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("backend", ["fused", "foreach"])
@rules
def test_a_check_that_is_asked_for_later(cls: Any, options: dict[str, Any], backend: str) -> None:
    model = make_model()
    optimizer = cls(model.parameters(), **options, backend=backend, on_nonfinite="ignore")
    train(model, optimizer, batches(2))
    before = weights(model)
    optimizer.param_groups[0]["on_nonfinite"] = "raise"
    model[0].bias.grad[0] = float("nan")
    with pytest.raises(tandem.NonFiniteGradient, match="parameter 1 of group 0.*element 0"):
        optimizer.step()
    assert torch.equal(weights(model), before)
    optimizer.param_groups[0]["on_nonfinite"] = "ignore"
    optimizer.step()
    assert not torch.equal(weights(model), before)


@rules
def test_the_backend_changes_between_steps(cls: Any, options: dict[str, Any]) -> None:
    """To torch's operations, to steps that could be captured, and back."""
    if cls is tandem.FullTO:
        options = {**options, "form": "dense"}
    data = batches(9, torch.float64)
    a, b = make_model(torch.float64), make_model(torch.float64)
    plain = cls(a.parameters(), **options, on_nonfinite="skip")
    changed = cls(b.parameters(), **options, on_nonfinite="skip")
    train(a, plain, data)
    group = changed.param_groups[0]
    for number, (backend, capturable) in enumerate(
        [("foreach", False), ("auto", True), ("fused", False)]
    ):
        group.update(backend=backend, capturable=capturable)
        train(b, changed, data[3 * number : 3 * number + 3])
        kind = torch.Tensor if capturable else int
        assert all(isinstance(state["step"], kind) for state in changed.state.values())
    torch.testing.assert_close(weights(a), weights(b), rtol=1e-5, atol=1e-6)
    assert all(state["step"] == 9 for state in changed.state.values())


def test_betas_in_a_list_may_change_in_place() -> None:
    a, b = make_model(), make_model()
    changed = tandem.Adam(a.parameters(), lr=0.01, betas=[0.9, 0.999])
    other = tandem.Adam(b.parameters(), lr=0.01)
    for model, optimizer in ((a, changed), (b, other)):
        train(model, optimizer, batches(2))
    changed.param_groups[0]["betas"][0] = 0.5
    other.param_groups[0]["betas"] = (0.5, 0.999)
    for model, optimizer in ((a, changed), (b, other)):
        train(model, optimizer, batches(2))
    assert torch.equal(weights(a), weights(b))


@pytest.mark.parametrize("cls", [tandem.Momentum, tandem.Nesterov])
def test_cycles_of_momentum(cls: Any) -> None:
    model = make_model()
    optimizer = cls(model.parameters(), lr=0.01)
    scheduler = lr_scheduler.CyclicLR(optimizer, 0.001, 0.05, step_size_up=5)
    train(model, optimizer, batches(13), scheduler.step)
    optimizer.step()
    group = optimizer.param_groups[0]
    assert group["momentum"] != 0.9
    assert group["dampening"] == (group["momentum"] if cls is tandem.Momentum else 0.0)


@pytest.mark.parametrize("cls", [tandem.DiagonalTO, tandem.RankOneTO, tandem.AdamTO])
def test_trainable_rules_take_cycles_without_cycle_momentum(cls: Any) -> None:
    model = make_model()
    optimizer = cls(model.parameters(), lr=0.01)
    with pytest.raises(ValueError, match="cycle_momentum"):
        lr_scheduler.OneCycleLR(optimizer, max_lr=0.05, total_steps=20)
    scheduler = lr_scheduler.OneCycleLR(
        optimizer, max_lr=0.05, total_steps=20, cycle_momentum=False
    )
    train(model, optimizer, batches(19), scheduler.step)
    scheduler = lr_scheduler.CyclicLR(optimizer, 0.001, 0.05, cycle_momentum=False)
    train(model, optimizer, batches(5), scheduler.step)


def test_unknown_keys_in_a_group_are_told() -> None:
    p, q = nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(2))
    with pytest.warns(UserWarning, match="DiagonalTO has no 'alhpa'.*alpha") as told:
        tandem.DiagonalTO([{"params": [p], "alhpa": 0.5}])
        tandem.DiagonalTO([p]).add_param_group({"params": [q], "alhpa": 0.5})
    assert [warning.filename for warning in told] == [__file__] * 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        optimizer = tandem.DiagonalTO([{"params": [p], "name": "first", "weight_decay": 0.1}])
        optimizer.add_param_group({"params": [q], "lr": 0.5})


def test_weight_decay_groups() -> None:
    model = make_model()
    decayed = [p for p in model.parameters() if p.dim() > 1]
    others = [p for p in model.parameters() if p.dim() <= 1]
    optimizer = tandem.DiagonalTO(
        [{"params": decayed, "weight_decay": 0.5}, {"params": others}], lr=0.1
    )
    before = [p.detach().clone() for p in model.parameters()]
    for p in model.parameters():
        p.grad = torch.zeros_like(p)
    optimizer.step()
    for p, old in zip(model.parameters(), before):
        expected = old * (1 - 0.1 * 0.5) if p.dim() > 1 else old
        torch.testing.assert_close(p.detach(), expected)


def test_schedules_as_text() -> None:
    data = batches(30)
    a, b = make_model(), make_model()
    texts = tandem.DiagonalTO(
        a.parameters(), lr="0.1*0.9^epoch", alpha="2/(t+100)^2", beta="0.5*cosine(t/30)"
    )
    numbers = tandem.DiagonalTO(b.parameters(), lr=0.1)
    assert texts.rates()[0]["lr"] == pytest.approx(0.1)
    for t, batch in enumerate(data):
        if t % 10 == 0 and t > 0:
            texts.epoch_end()
        values = {
            name: tandem._core.schedule_value(texts.param_groups[0][name], t + 1, t // 10)
            for name in ("lr", "alpha", "beta")
        }
        numbers.param_groups[0].update(values)
        assert texts.rates()[0]["alpha"] == values["alpha"]
        train(a, texts, [batch])
        train(b, numbers, [batch])
        assert torch.equal(weights(a), weights(b)), t
    resumed = tandem.DiagonalTO(a.parameters())
    resumed.load_state_dict(texts.state_dict())
    assert resumed.rates() == texts.rates()
    assert resumed.rates()[0]["lr"] == pytest.approx(0.1 * 0.9**2)


def test_what_schedule_all_makes_of_alpha_can_be_seen() -> None:
    model = make_model()
    optimizer = tandem.DiagonalTO(
        model.parameters(), lr=0.2, alpha=0.1, beta=0.4, schedule_all=True
    )
    scheduler = lr_scheduler.ExponentialLR(optimizer, 0.5)
    train(model, optimizer, batches(2), scheduler.step)
    now = optimizer.rates()[0]
    assert now["lr"] == pytest.approx(0.05)
    assert now["alpha"] == pytest.approx(0.025) and now["beta"] == pytest.approx(0.1)
    assert optimizer.param_groups[0]["alpha"] == 0.1
    with pytest.raises(ValueError, match="schedule_all.*schedule"):
        tandem.DiagonalTO(model.parameters(), lr="0.1*0.9^epoch", schedule_all=True)


def test_a_tensor_as_lr_moves_as_a_number_does() -> None:
    data = batches(10)
    a, b = make_model(), make_model()
    tensor = tandem.Adam(a.parameters(), lr=torch.tensor(0.01))
    number = tandem.Adam(b.parameters(), lr=float(torch.tensor(0.01)))
    for optimizer, model in ((tensor, a), (number, b)):
        scheduler = lr_scheduler.StepLR(optimizer, 3, 0.5)
        train(model, optimizer, data, scheduler.step)
    torch.testing.assert_close(weights(a), weights(b), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("capturable", [False, True])
def test_schedule_all_follows_a_tensor(capturable: bool) -> None:
    """A scheduler of torch 2 writes to the tensor itself."""
    p = nn.Parameter(torch.ones(2))
    lr = torch.tensor(0.2, dtype=torch.float64)
    optimizer = tandem.DiagonalTO(
        [p],
        lr=lr,
        alpha=0.1,
        beta=0.4,
        schedule_all=True,
        capturable=capturable,
        on_nonfinite="skip",
    )
    again = tandem.DiagonalTO([p], schedule_all=True)
    again.load_state_dict(optimizer.state_dict())
    for one in (optimizer, again):
        group = one.param_groups[0]
        group["lr"].mul_(0.5)
        assert one.rates()[0]["alpha"] == pytest.approx(0.05)
        assert one.rates()[0]["beta"] == pytest.approx(0.2)
        group["lr"].mul_(2.0)


@torch2
def test_hooks_leave_the_dictionary_that_is_loaded() -> None:
    model = make_model()
    optimizer = tandem.Adam(model.parameters())

    def other_groups(_: Any, state_dict: Any) -> None:
        state_dict["param_groups"] = [{**state_dict["param_groups"][0], "lr": 0.5}]

    optimizer.register_load_state_dict_pre_hook(other_groups)
    saved = optimizer.state_dict()
    optimizer.load_state_dict(saved)
    assert optimizer.param_groups[0]["lr"] == 0.5
    assert saved["param_groups"][0]["lr"] == 0.001


@torch2
def test_hooks() -> None:
    model = make_model()
    optimizer = tandem.DiagonalTO(model.named_parameters(), lr=0.1)
    calls: list[str] = []
    optimizer.register_step_pre_hook(lambda *_: calls.append("before step"))
    optimizer.register_step_post_hook(lambda *_: calls.append("after step"))
    optimizer.register_state_dict_pre_hook(lambda *_: calls.append("before saving"))

    def halve(_: Any, state_dict: Any) -> Any:
        calls.append("loading")
        changed = copy.deepcopy(state_dict)
        changed["param_groups"][0]["lr"] /= 2
        return changed

    optimizer.register_load_state_dict_pre_hook(halve)
    optimizer.register_load_state_dict_post_hook(lambda *_: calls.append("loaded"))
    train(model, optimizer, batches(1))
    optimizer.load_state_dict(optimizer.state_dict())
    assert calls == ["before step", "after step", "before saving", "loading", "loaded"]
    assert optimizer.param_groups[0]["lr"] == 0.05
    assert optimizer.param_groups[0]["param_names"][0] == "0.weight"


@torch2
@rules
def test_a_compiled_step_around_it(cls: Any, options: dict[str, Any]) -> None:
    """The fused step is left to Python; what is around it is compiled."""
    data = batches(5)
    a, b = make_model(), make_model()
    plain, compiled = cls(a.parameters(), **options), cls(b.parameters(), **options)

    @torch.compile(backend="aot_eager")
    def one(x: Any, y: Any) -> Any:
        loss = (b(x) - y).square().mean()
        loss.backward()
        compiled.step()
        compiled.zero_grad()
        return loss

    for batch in data:
        train(a, plain, [batch])
        one(*batch)
    torch.testing.assert_close(weights(a), weights(b), rtol=1e-5, atol=1e-6)
    torch._dynamo.reset()


@rules
def test_parameters_that_come_and_go(cls: Any, options: dict[str, Any]) -> None:
    """A part of the model without gradients in some steps: each parameter counts its own."""
    if cls in (tandem.FullTO, tandem.RankOneTO):
        options = {**options, "scope": "tensor"}
    data = batches(9)
    model = make_model()
    together = cls(model.parameters(), **options)
    twin = make_model()
    apart = [cls([p], **options) for p in twin.parameters()]
    for t, batch in enumerate(data):
        for m in (model, twin):
            for p in m.parameters():
                p.grad = None
            loss_of(m, batch).backward()
            if t % 3 == 1:
                m[2].weight.grad = None
            if t % 4 == 2:
                m[0].bias.grad = None
        together.step()
        for optimizer in apart:
            optimizer.step()
        assert torch.equal(weights(model), weights(twin)), t
    assert together.state[model[2].weight]["step"] == 6
    assert together.state[model[0].weight]["step"] == 9


def test_named_parameters_in_messages_and_groups() -> None:
    model = make_model()
    optimizer = tandem.RankOneTO(model.named_parameters(), lr=0.1)
    assert optimizer.param_groups[0]["param_names"] == ["0.weight", "0.bias", "2.weight", "2.bias"]
    saved = optimizer.state_dict()["param_groups"][0]
    assert saved["param_names"][1] == "0.bias"


def test_all_or_nothing_over_groups() -> None:
    """One group's gradient is not finite: the other's weights stay too."""
    for backend in ("fused", "foreach"):
        model = make_model()
        groups = [{"params": model[0].parameters()}, {"params": model[2].parameters(), "lr": 0.3}]
        optimizer = tandem.Adam(groups, lr=0.1, backend=backend)
        train(model, optimizer, batches(2))
        before, state = weights(model), copy.deepcopy(optimizer.state_dict()["state"])
        loss_of(model, batches(1)[0]).backward()
        model[2].bias.grad[1] = float("inf")
        with pytest.raises(tandem.NonFiniteGradient, match="parameter 1 of group 1.*element 1"):
            optimizer.step()
        assert torch.equal(before, weights(model))
        for group in optimizer.param_groups:
            group["on_nonfinite"] = "skip"
        optimizer.step()
        assert torch.equal(before, weights(model)) and optimizer.skipped_steps == 1
        assert str(state) == str(optimizer.state_dict()["state"])
        model[2].bias.grad[1] = 0.0
        optimizer.step()
        assert not torch.equal(before, weights(model))
