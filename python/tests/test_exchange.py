# SPDX-License-Identifier: MIT
"""State dicts pass between torch's optimizers and ours, both ways, to the same next steps; and states of
every type keep it."""

from __future__ import annotations

import copy
import io
from typing import Any

import pytest
import tandem
import torch
from models import IDS, RULES, batches, loss_of, make_model, train, weights
from torch import nn

rules = pytest.mark.parametrize("cls,options", RULES, ids=IDS)
TORCH2 = int(torch.__version__.split(".")[0]) >= 2

#: Ours, its options, torch's, its options. docs/python.md names the same pairs.
PAIRS: list[tuple[Any, dict[str, Any], Any, dict[str, Any]]] = [
    (tandem.Adam, {"weight_decay": 0.1}, torch.optim.Adam, {"weight_decay": 0.1}),
    (tandem.AdamW, {"betas": (0.8, 0.99)}, torch.optim.AdamW, {"betas": (0.8, 0.99)}),
    (tandem.SGD, {"weight_decay": 0.1}, torch.optim.SGD, {"weight_decay": 0.1}),
    (
        tandem.Momentum,
        {"momentum": 0.8},
        torch.optim.SGD,
        {"momentum": 0.8, "dampening": 0.8},
    ),
    (tandem.Momentum, {"form": "torch"}, torch.optim.SGD, {"momentum": 0.9}),
    (tandem.Nesterov, {}, torch.optim.SGD, {"momentum": 0.9, "nesterov": True}),
    (tandem.Adagrad, {"initial_accumulator_value": 0.1}, torch.optim.Adagrad, {}),
    (tandem.RMSProp, {"alpha": 0.9}, torch.optim.RMSprop, {"alpha": 0.9}),
]
if TORCH2:  # before, torch's NAdam has no decoupled weight decay, and an error in its momentum
    PAIRS.append((tandem.NAdamW, {}, torch.optim.NAdam, {"decoupled_weight_decay": True}))
pairs = pytest.mark.parametrize(
    "ours,options,theirs,their_options", PAIRS, ids=[f"{p[0].rule}-{i}" for i, p in enumerate(PAIRS)]
)


def through_a_file(state: Any) -> Any:
    file = io.BytesIO()
    torch.save(state, file)
    file.seek(0)
    return torch.load(file)


@pairs
def test_from_torch(ours: Any, options: Any, theirs: Any, their_options: Any) -> None:
    data = batches(40, torch.float64)
    model = make_model(torch.float64)
    optimizer = theirs(model.parameters(), lr=0.01, **their_options)
    train(model, optimizer, data[:20])
    twin = copy.deepcopy(model)
    saved = through_a_file(optimizer.state_dict())
    train(model, optimizer, data[20:])

    resumed = ours(twin.parameters(), lr=0.5, **options)
    resumed.load_state_dict(saved)
    assert resumed.param_groups[0]["lr"] == 0.01
    train(twin, resumed, data[20:])
    torch.testing.assert_close(weights(model), weights(twin), rtol=1e-10, atol=1e-10)


@pairs
def test_to_torch(ours: Any, options: Any, theirs: Any, their_options: Any) -> None:
    data = batches(40, torch.float64)
    model = make_model(torch.float64)
    optimizer = ours(model.parameters(), lr=0.01, **options)
    train(model, optimizer, data[:20])
    twin = copy.deepcopy(model)
    saved = through_a_file(optimizer.state_dict())
    train(model, optimizer, data[20:])

    resumed = theirs(twin.parameters(), lr=0.5)
    resumed.load_state_dict(saved)
    assert resumed.param_groups[0]["lr"] == 0.01
    train(twin, resumed, data[20:])
    torch.testing.assert_close(weights(model), weights(twin), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(
    "ours,theirs,options,text",
    [
        (tandem.Adam, torch.optim.Adam, {"amsgrad": True}, "amsgrad"),
        (tandem.AdamW, torch.optim.AdamW, {"amsgrad": True}, "amsgrad"),
        (tandem.Momentum, torch.optim.SGD, {"momentum": 0.9}, 'dampening.*form="torch"'),
        (tandem.Momentum, torch.optim.SGD, {"momentum": 0.9, "nesterov": True}, "nesterov|dampening"),
        (tandem.Nesterov, torch.optim.SGD, {"momentum": 0.9}, "nesterov"),
        (tandem.SGD, torch.optim.SGD, {"momentum": 0.9}, "momentum"),
        (tandem.RMSProp, torch.optim.RMSprop, {"momentum": 0.9}, "momentum"),
        (tandem.RMSProp, torch.optim.RMSprop, {"centered": True}, "centered"),
        (tandem.Adagrad, torch.optim.Adagrad, {"lr_decay": 0.1}, "lr_decay"),
        (tandem.Lion, torch.optim.Adam, {}, "exp_avg_sq"),
        (tandem.DiagonalTO, torch.optim.Adam, {}, "exp_avg"),
    ],
)
def test_what_has_no_counterpart_is_refused(
    ours: Any, theirs: Any, options: Any, text: str
) -> None:
    model = make_model()
    foreign = theirs(model.parameters(), lr=0.01, **options)
    train(model, foreign, batches(2))
    optimizer = ours(model.parameters(), lr=0.01)
    train(model, optimizer, batches(2))
    before = str(optimizer.state_dict())
    with pytest.raises(ValueError, match=text):
        optimizer.load_state_dict(foreign.state_dict())
    assert str(optimizer.state_dict()) == before


def test_decoupled_weight_decay_is_another_rule() -> None:
    model = make_model()
    with pytest.raises(ValueError, match="rule 'adamw', expected 'adam'"):
        tandem.Adam(model.parameters()).load_state_dict(
            tandem.AdamW(model.parameters()).state_dict()
        )
    if not TORCH2:
        return
    adamw = torch.optim.AdamW(model.parameters())
    with pytest.raises(ValueError, match="decoupled_weight_decay is True"):
        tandem.Adam(model.parameters()).load_state_dict(adamw.state_dict())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("narrow", [False, True])
@rules
def test_a_state_keeps_its_type(
    cls: Any, options: dict[str, Any], narrow: bool, dtype: torch.dtype
) -> None:
    """torch's own load_state_dict would cast it to the parameter's."""
    if narrow:
        if "state_type" not in tandem._rules.RULES[cls.rule].options or dtype == torch.float64:
            return
        options = {**options, "state_type": "bfloat16"}
    if dtype == torch.bfloat16:
        options = {**options, "stochastic_rounding": True, "seed": 3}
    data = batches(20, dtype)
    model = make_model(dtype)
    optimizer = cls(model.parameters(), **options)
    train(model, optimizer, data[:10])
    twin = copy.deepcopy(model)
    resumed = cls(twin.parameters(), **options)
    resumed.load_state_dict(through_a_file(optimizer.state_dict()))
    for p, q in zip(model.parameters(), twin.parameters()):
        for key, value in optimizer.state[p].items():
            found = resumed.state[q][key]
            if torch.is_tensor(value):
                wanted = torch.bfloat16 if narrow else torch.float32
                assert found.dtype == value.dtype == (torch.float64 if dtype == torch.float64 else wanted)
                assert torch.equal(found, value), key
            elif not isinstance(value, dict):
                assert found == value
    train(model, optimizer, data[10:])
    train(twin, resumed, data[10:])
    assert torch.equal(weights(model), weights(twin))


def test_wider_parameters_take_a_narrower_state_and_not_the_other_way() -> None:
    model = make_model()
    optimizer = tandem.Adam(model.parameters(), lr=0.01)
    train(model, optimizer, batches(3))
    wide = copy.deepcopy(model).double()
    tandem.Adam(wide.parameters()).load_state_dict(optimizer.state_dict())
    doubles = tandem.Adam(wide.parameters(), lr=0.01)
    train(wide, doubles, batches(3, torch.float64))
    with pytest.raises(tandem.StateError, match="float64, which torch.float32 cannot hold"):
        optimizer.load_state_dict(doubles.state_dict())
    # torch keeps the state of bfloat16 parameters in bfloat16.
    narrow = make_model(torch.bfloat16)
    foreign = torch.optim.Adam(narrow.parameters(), lr=0.01)
    train(narrow, foreign, batches(3, torch.bfloat16))
    ours = tandem.Adam(narrow.parameters(), lr=0.01)
    ours.load_state_dict(foreign.state_dict())
    assert ours.state[narrow[0].weight]["exp_avg"].dtype == torch.float32
    train(narrow, ours, batches(3, torch.bfloat16))


@rules
def test_every_key_of_the_state_is_a_parameter(cls: Any, options: dict[str, Any]) -> None:
    model = make_model()
    optimizer = cls(model.parameters(), **options)
    assert not optimizer.state
    train(model, optimizer, batches(3))
    params = list(model.parameters())
    assert all(any(key is p for p in params) for key in optimizer.state)
    assert len(optimizer.state) == len(params)
    for p in params:
        state = optimizer.state[p]
        assert state["step"] == 3
        for key, value in state.items():
            assert isinstance(value, (int, float, dict)) or value.shape == p.shape, key


@rules
def test_a_step_without_rate_and_gradients_moves_nothing(cls: Any, options: dict[str, Any]) -> None:
    """torch.distributed.checkpoint makes one to initialise an optimizer."""
    model = make_model()
    before = weights(model)
    optimizer = cls(model.parameters(), **{**options, "lr": 0.0})
    for p in model.parameters():
        p.grad = torch.zeros_like(p)
    optimizer.step()
    assert torch.equal(before, weights(model))
    assert len(optimizer.state) == 4


@rules
def test_a_state_that_others_write_is_honoured(cls: Any, options: dict[str, Any]) -> None:
    """Tools put tensors of their own into optimizer.state, or write to those that are there."""
    data = batches(12)
    a, b = make_model(), make_model()
    plain, touched = cls(a.parameters(), **options), cls(b.parameters(), **options)
    for t, batch in enumerate(data):
        train(a, plain, [batch])
        train(b, touched, [batch])
        if t % 3 == 0:
            for p in b.parameters():
                touched.state[p] = copy.deepcopy(touched.state[p])
        if t % 3 == 1:
            for p in b.parameters():
                for key, value in touched.state[p].items():
                    if torch.is_tensor(value):
                        touched.state[p][key] = value.clone()
        if t % 3 == 2:
            kept = {p: copy.deepcopy(touched.state[p]) for p in b.parameters()}
            train(b, touched, data[:1])
            touched.state.clear()
            touched.state.update(kept)
            for p, q in zip(a.parameters(), b.parameters()):
                q.data.copy_(p.data)
        assert torch.equal(weights(a), weights(b)), t


@pytest.mark.parametrize("in_place", [True, False])
@rules
def test_other_numbers_in_the_state_are_honoured(
    cls: Any, options: dict[str, Any], in_place: bool
) -> None:
    """As if they had been loaded: nothing that a rule has derived from the old ones is left."""
    data = batches(10)
    a, b = make_model(), make_model()
    touched, loaded = cls(a.parameters(), **options), cls(b.parameters(), **options)
    train(a, touched, data[:5])
    for state in touched.state.values():
        for key, value in state.items():
            if torch.is_tensor(value):
                state[key] = value.mul_(1.5) if in_place else value * 1.5
    b.load_state_dict(a.state_dict())
    loaded.load_state_dict(copy.deepcopy(touched.state_dict()))
    train(a, touched, data[5:])
    train(b, loaded, data[5:])
    assert torch.equal(weights(a), weights(b))


def test_states_of_the_wrong_kind_are_named() -> None:
    model = make_model()
    optimizer = tandem.DiagonalTO(model.named_parameters(), lr=0.1)
    train(model, optimizer, batches(2))
    before = weights(model)
    good = optimizer.state[model[0].weight]["a"]
    for bad, text in (
        (good.double(), "'0.weight': its state 'a'.*float64"),
        (good[:2], "'0.weight': its state 'a' is .2, 6."),
        (good.t().contiguous().t().to("meta"), "'0.weight': its state 'a' is on meta"),
    ):
        optimizer.state[model[0].weight]["a"] = bad
        with pytest.raises(tandem.StateError, match=text):
            optimizer.step()
        assert torch.equal(before, weights(model))
    # Other strides are not another state.
    optimizer.state[model[0].weight]["a"] = good.t().contiguous().t()
    optimizer.step()
    assert optimizer.state[model[0].weight]["a"].is_contiguous()


@pytest.mark.parametrize("backend", ["fused", "foreach"])
@pytest.mark.parametrize("cls", [tandem.FullTO, tandem.BlockTO])
def test_half_a_matrix_is_refused(cls: Any, backend: str, tmp_path: Any) -> None:
    model = make_model()
    optimizer = cls(model.named_parameters(), lr=0.01, backend=backend)
    train(model, optimizer, batches(3))
    before = str(optimizer.state_dict())

    def without_unit(state: Any) -> None:
        del state["unit"]

    for damage, text in (
        (without_unit, "'0.weight': the state has no 'unit'"),
        (lambda state: state["unit"].pop("b"), "'0.weight': unit.b is missing, expected"),
        (lambda state: state["unit"].update(A=torch.ones(5)), "'0.weight': unit.A has 5 elements"),
    ):
        saved = copy.deepcopy(optimizer.state_dict())
        damage(saved["state"][0])
        with pytest.raises(tandem.StateError, match=text):
            optimizer.load_state_dict(saved)
        assert str(optimizer.state_dict()) == before
    # In place, where nothing was loaded.
    without_unit(optimizer.state[model[0].weight])
    weights_before = weights(model)
    with pytest.raises(tandem.StateError, match="'0.weight': the state has no 'unit'"):
        optimizer._forget()
        optimizer.step()
    assert torch.equal(weights(model), weights_before)
    optimizer.save_state(tmp_path / "half.safetensors")
    other = cls(model.named_parameters(), lr=0.01, backend=backend)
    with pytest.raises(tandem.StateError, match="half.safetensors: parameter '0.weight'"):
        other.load_state(tmp_path / "half.safetensors")
    assert not other.state


@pytest.mark.parametrize("backend", ["fused", "foreach"])
@rules
def test_half_a_state_is_named(cls: Any, options: dict[str, Any], backend: str) -> None:
    """Each of its keys in turn, in a dictionary that is loaded and in optimizer.state itself."""
    model = make_model()
    optimizer = cls(model.named_parameters(), **{**options, "backend": backend})
    train(model, optimizer, batches(3))
    first = model[0].weight
    good, before = copy.deepcopy(optimizer.state_dict()), weights(model)
    for key in good["state"][0]:
        saved = copy.deepcopy(good)
        del saved["state"][0][key]
        if key != "step" or cls not in (tandem.SGD, tandem.Momentum, tandem.Nesterov):
            with pytest.raises(tandem.StateError, match=f"'0.weight'.*'{key}'"):
                optimizer.load_state_dict(saved)
        held = optimizer.state[first].pop(key)
        if len(optimizer.state[first]) > 0:  # else it is a new one
            with pytest.raises(tandem.StateError, match=f"'0.weight'.*'{key}'"):
                optimizer.step()
        assert torch.equal(weights(model), before), key
        optimizer.state[first][key] = held
    optimizer.step()


@pytest.mark.parametrize("backend", ["fused", "foreach"])
@pytest.mark.parametrize("cls", [tandem.RankOneTO, tandem.FullTO])
def test_counts_that_differ_in_one_matrix(cls: Any, backend: str) -> None:
    model = make_model()
    optimizer = cls(model.named_parameters(), lr=0.01, backend=backend)
    train(model, optimizer, batches(3))
    before = weights(model)
    optimizer.state[model[2].bias]["step"] = 7
    with pytest.raises(tandem.StateError, match="'0.weight' has made 3 steps .* '2.bias' 7"):
        optimizer.step()
    assert torch.equal(weights(model), before)


def test_counters_on_the_device_of_the_parameters() -> None:
    """Of a checkpoint that was read into other memory."""
    options: Any = {"capturable": True, "on_nonfinite": "skip"}
    here = nn.Parameter(torch.ones(2))
    saved = tandem.SGD([here], lr=0.1, **options).state_dict()
    there = tandem.SGD([nn.Parameter(torch.ones(2, device="meta"))], lr=0.1, **options)
    there.load_state_dict(saved)
    assert there.param_groups[0]["skipped_steps"].device.type == "meta"


def test_parameters_that_moved_or_changed_between_steps() -> None:
    model = make_model()
    optimizer = tandem.DiagonalTO(model.named_parameters(), lr=0.1)
    train(model, optimizer, batches(2))
    weight = model[0].weight
    # The same numbers elsewhere in memory, and in another order.
    other, twin = copy.deepcopy((model, optimizer))
    for moved in (weight.data.clone(), weight.data.t().contiguous().t(), weight.data.clone()):
        moved.copy_(weight.data)
        weight.data = moved
        for p, q in zip(model.parameters(), other.parameters()):
            p.grad = torch.randn_like(p)
            q.grad = p.grad.clone()
        optimizer.step()
        twin.step()
        assert torch.equal(weights(model), weights(other))

    kept = weight.data
    weight.data = kept.double()
    weight.grad = torch.ones_like(weight)
    with pytest.raises(RuntimeError, match="'0.weight' was of type torch.float32.*now torch.float64"):
        optimizer.step()
    weight.data = kept[:3].clone()
    weight.grad = torch.ones_like(weight)
    with pytest.raises(RuntimeError, match="'0.weight' was of type.*30 elements.*now .* 18"):
        optimizer.step()
    weight.data = kept
    weight.grad = torch.ones_like(weight)
    optimizer.step()


@pytest.mark.parametrize("backend", ["fused", "foreach"])
@rules
def test_other_views_of_the_same_memory_are_named(
    cls: Any, options: dict[str, Any], backend: str
) -> None:
    """The pointer is what it was; the kernels must not go by it alone."""
    for view in (lambda data: data[:4], lambda data: data.view(torch.bfloat16)):
        p = nn.Parameter(torch.ones(8))
        optimizer = cls([("w", p)], **options, backend=backend)
        p.grad = torch.ones(8)
        optimizer.step()
        memory = p.data
        before, p.grad = memory.clone(), None
        p.data = view(memory)
        p.grad = torch.ones_like(p)
        with pytest.raises(RuntimeError, match="'w' was .*float32.*8 elements.* now "):
            optimizer.step()
        assert torch.equal(memory, before)


@pytest.mark.skipif(not TORCH2, reason="torch 1.13 cannot swap the memory of a parameter")
@pytest.mark.parametrize("backend", ["fused", "foreach"])
def test_a_model_that_moved_is_named(backend: str) -> None:
    model = make_model()
    optimizer = tandem.DiagonalTO(model.named_parameters(), lr=0.1, backend=backend)
    train(model, optimizer, batches(2))
    torch.__future__.set_swap_module_params_on_conversion(True)
    try:
        model.to("meta")
    finally:
        torch.__future__.set_swap_module_params_on_conversion(False)
    for p in model.parameters():
        p.grad = torch.empty_like(p)
    with pytest.raises(RuntimeError, match="'0.weight' was .*on cpu .*is now .*on meta"):
        optimizer.step()


def test_memory_that_was_freed_is_named() -> None:
    p = nn.Parameter(torch.ones(1000))
    optimizer = tandem.DiagonalTO([("w", p)], lr=0.1)
    p.grad = torch.ones(1000)
    optimizer.step()
    storage = p.data.untyped_storage() if hasattr(p.data, "untyped_storage") else p.data.storage()
    storage.resize_(0)
    with pytest.raises(RuntimeError, match="'w' has 1000 elements and no memory"):
        optimizer.step()


def test_autograd_is_told_that_weights_changed() -> None:
    model = make_model()
    optimizer = tandem.DiagonalTO(model.parameters(), lr=0.1)
    train(model, optimizer, batches(2))
    versions = [p._version for p in model.parameters()]
    loss = loss_of(model, batches(1)[0])
    optimizer.step()
    assert all(p._version > version for p, version in zip(model.parameters(), versions))
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_files_and_state_dicts_have_the_same_state(tmp_path: Any) -> None:
    for cls, options in RULES:
        model = make_model()
        optimizer = cls(model.named_parameters(), **options)
        train(model, optimizer, batches(5))
        path = tmp_path / f"{cls.rule}.safetensors"
        optimizer.save_state(path)
        twin = copy.deepcopy(model)
        other = cls(twin.named_parameters(), **options)
        other.load_state(path)
        train(model, optimizer, batches(5))
        train(twin, other, batches(5))
        assert torch.equal(weights(model), weights(twin)), cls.rule


def test_the_history_of_full_to_goes_when_it_becomes_a_matrix() -> None:
    torch.manual_seed(0)
    p = nn.Parameter(torch.randn(600))
    optimizer = tandem.FullTO([("w", p)], lr=0.01, alpha=1e-4)
    was_span = False
    for _ in range(2000):
        p.grad = torch.randn(600)
        optimizer.step()
        unit = optimizer.state[p]["unit"]
        if unit["dense"]:
            break
        was_span = True
        assert unit["rows"] > 0 and len(unit["history"]) > 0
    assert was_span and unit["dense"]
    assert {key for key, value in unit.items() if not isinstance(value, (int, float))} == {
        "A",
        "b",
        "u",
        "v",
    }
    twin = nn.Parameter(p.detach().clone())
    resumed = tandem.FullTO([("w", twin)], lr=0.01, alpha=1e-4)
    resumed.load_state_dict(through_a_file(optimizer.state_dict()))
    for _ in range(3):
        p.grad = torch.randn(600)
        twin.grad = p.grad.clone()
        optimizer.step()
        resumed.step()
    assert torch.equal(p, twin)


@pytest.mark.parametrize("cls", [tandem.FullTO, tandem.BlockTO, tandem.DiagonalTO, tandem.RankOneTO])
def test_the_memory_format_is_not_part_of_the_state(cls: Any) -> None:
    """Channels last, and changed between steps."""
    torch.manual_seed(0)
    plain = nn.Parameter(torch.randn(4, 3, 2, 2))
    other = nn.Parameter(plain.detach().clone().to(memory_format=torch.channels_last))
    a, b = cls([plain], lr=0.05), cls([other], lr=0.05)
    for t in range(8):
        plain.grad = torch.randn(4, 3, 2, 2)
        other.grad = plain.grad.clone()
        if t == 4:
            other.data = other.data.contiguous()
        a.step()
        b.step()
        torch.testing.assert_close(plain.detach(), other.detach(), rtol=1e-5, atol=1e-6)
