# SPDX-License-Identifier: MIT
"""Optimizers with `backend="foreach"` against the same with the fused kernels, on CPU tensors; on
the meta device; and under torch.compile."""

from __future__ import annotations

import copy
import pathlib
import shutil
from typing import Any, Iterator

import pytest
import tandem
import torch
from models import IDS, RULES, batches, loss_of, make_model, train, weights
from tandem._rules import RULES as FACTS
from torch import Tensor, nn

TORCH_2 = int(torch.__version__.split(".")[0]) >= 2
NARROW = [(cls, o) for cls, o in RULES if "state_type" in FACTS[cls.rule].options]
every_rule = pytest.mark.parametrize("cls, options", RULES, ids=IDS)


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Threads that wait for each other take long where others want the processors."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def make(
    cls: type[tandem.Optimizer], model: nn.Module, options: dict[str, Any], **more: Any
) -> tandem.Optimizer:
    if cls.rule == "full-to":
        more.setdefault("form", "dense")
    return cls(model.named_parameters(), **{**options, **more})


def distance(one: nn.Module, other: nn.Module) -> float:
    x, y = weights(one).double(), weights(other).double()
    assert torch.isfinite(y).all()
    return float((x - y).abs().max() / y.abs().max())


def both(
    cls: type[tandem.Optimizer],
    options: dict[str, Any],
    dtype: torch.dtype = torch.float32,
    steps: int = 50,
    **more: Any,
) -> float:
    """How far the backends are apart after some steps."""
    models = [make_model(dtype) for _ in range(2)]
    for model, backend in zip(models, ("fused", "foreach")):
        train(model, make(cls, model, options, backend=backend, **more), batches(steps, dtype))
    assert distance(models[0], make_model(dtype)) > 1e-3  # they have moved
    return distance(*models)


# ---- The same steps as the fused kernels -------------------------------------------------------


@every_rule
def test_double(cls: type[tandem.Optimizer], options: dict[str, Any]) -> None:
    assert both(cls, options, torch.float64, 200) < 1e-11


@every_rule
def test_float(cls: type[tandem.Optimizer], options: dict[str, Any]) -> None:
    assert both(cls, options) < 1e-5


OPTIONS: list[dict[str, Any]] = [
    {"weight_decay": 0.1},
    {"maximize": True, "lr": 1e-3},
    {"l2": 0.05},
    {"normalize": True},
    {"beta": 0.0},
    {"betas": (0.7, 0.9)},
    {"eps": 1e-3},
    {"momentum": 0.5},
    {"momentum_decay": 0.1},
    {"initial_accumulator_value": 0.3},
    {"block": 7},
    {"beta2": 0.9},
    {"scope": "tensor"},
    {"scope": "group"},
]
#: Each rule with each set that it has.
CASES = [
    (cls, {**options, **more})
    for cls, options in RULES
    for more in [
        *(o for o in OPTIONS if set(o) <= {*FACTS[cls.rule].options, "maximize"}),
        *([{"form": "torch"}] if cls.rule == "momentum" else []),
        *([{"alpha": 0.9}] if cls.rule == "rmsprop" else []),
        *([{"alpha": 0.0}] if FACTS[cls.rule].weights_per_estimate else []),
    ]
]


@pytest.mark.parametrize("cls, options", CASES, ids=lambda case: str(getattr(case, "rule", case)))
def test_options(cls: type[tandem.Optimizer], options: dict[str, Any]) -> None:
    assert both(cls, options, torch.float64, 100) < 1e-10


@every_rule
def test_bfloat16_parameters(cls: type[tandem.Optimizer], options: dict[str, Any]) -> None:
    """One step from the same weights and state differs by a unit in the last place at most, where
    a float is next to the middle of two bfloat16s."""
    model = make_model(torch.bfloat16)
    fused = make(cls, model, options)
    for batch in batches(8, torch.bfloat16):
        twin = copy.deepcopy(model)
        foreach = make(cls, twin, options, backend="foreach")
        foreach.load_state_dict(copy.deepcopy(fused.state_dict()))
        assert foreach.param_groups[0]["backend"] == "foreach"
        for one, optimizer in ((model, fused), (twin, foreach)):
            train(one, optimizer, [batch])
        x, y = weights(model).float(), weights(twin).float()
        assert torch.all((x - y).abs() <= x.abs() / 128)
        assert (x != y).float().mean() < 0.05


@pytest.mark.parametrize("cls, options", NARROW, ids=[cls.rule for cls, _ in NARROW])
def test_state_in_bfloat16(cls: type[tandem.Optimizer], options: dict[str, Any]) -> None:
    more = {"state_type": "bfloat16", "state_rounding": "nearest"}
    # A state that is rounded otherwise once goes its own way by a bfloat16's 2^-8.
    assert both(cls, options, steps=20, **more) < 2e-2
    one, other = (make_model() for _ in range(2))
    first, second = (
        make(cls, one, options, **more),
        make(cls, other, options, backend="foreach", **more),
    )
    train(one, first, batches(1))
    train(other, second, batches(1))
    assert distance(one, other) < 1e-6
    for p, q in zip(one.parameters(), other.parameters()):
        for key, array in first.state[p].items():
            if isinstance(array, Tensor) and array.dtype == torch.bfloat16:
                assert second.state[q][key].dtype == torch.bfloat16
                assert torch.allclose(array.float(), second.state[q][key].float(), rtol=2**-7)


@every_rule
def test_half_parameters_are_stepped_by_foreach(
    cls: type[tandem.Optimizer], options: dict[str, Any]
) -> None:
    if not TORCH_2:
        pytest.skip("torch 1.13 has no backward pass in half on a CPU")
    model = make_model(torch.float16)
    optimizer = make(cls, model, options)
    data = batches(30, torch.float16)
    losses = train(model, optimizer, data)
    assert losses[-1] < losses[0]
    for state in optimizer.state.values():
        for array in state.values():
            assert not isinstance(array, Tensor) or array.dtype == torch.float32


# ---- Tensors in the place of numbers -----------------------------------------------------------


@pytest.mark.parametrize("on_nonfinite", ["skip", "ignore"])
@every_rule
def test_capturable(
    cls: type[tandem.Optimizer], options: dict[str, Any], on_nonfinite: str
) -> None:
    plain, captured = make_model(), make_model()
    train(plain, make(cls, plain, options), batches(30))
    lr = torch.tensor(0.0)
    optimizer = make(
        cls, captured, {**options, "lr": lr}, capturable=True, on_nonfinite=on_nonfinite
    )
    lr.fill_(options["lr"])  # seen without being told
    train(captured, optimizer, batches(30))
    assert distance(captured, plain) < 1e-5
    assert [float(state["step"]) for state in optimizer.state.values()] == [30.0] * 4
    assert all(isinstance(state["step"], Tensor) for state in optimizer.state.values())


@every_rule
def test_skipped_steps_are_counted_in_a_tensor(
    cls: type[tandem.Optimizer], options: dict[str, Any]
) -> None:
    model = make_model()
    optimizer = make(cls, model, options, capturable=True, on_nonfinite="skip")
    train(model, optimizer, batches(3))
    before, state = weights(model).clone(), copy.deepcopy(optimizer.state_dict()["state"])
    list(model.parameters())[1].grad[2] = float("inf")
    optimizer.step()
    assert torch.equal(weights(model), before)
    now = optimizer.state_dict()["state"]

    def same(x: Any, y: Any) -> bool:
        if isinstance(x, dict):
            return x.keys() == y.keys() and all(same(x[key], y[key]) for key in x)
        return torch.equal(x, y) if isinstance(x, Tensor) else bool(x == y)

    assert same(now, state)
    assert optimizer.skipped_steps == 1
    assert isinstance(optimizer.param_groups[0]["skipped_steps"], Tensor)


@every_rule
def test_tensor_lr(cls: type[tandem.Optimizer], options: dict[str, Any]) -> None:
    lr = torch.tensor(options["lr"], dtype=torch.float64)
    assert both(cls, {**options, "lr": lr}, torch.float64, 20) < 1e-11


@every_rule
def test_a_rate_in_a_tensor_of_one_dimension(
    cls: type[tandem.Optimizer], options: dict[str, Any]
) -> None:
    plain, captured = make_model(), make_model()
    train(plain, make(cls, plain, options), batches(5))
    more = {"lr": torch.tensor([options["lr"]]), "capturable": True, "on_nonfinite": "skip"}
    train(captured, make(cls, captured, {**options, **more}), batches(5))
    assert distance(captured, plain) < 1e-5
    with pytest.raises(TypeError, match="lr must be a number.*2 elements"):
        make(cls, captured, {**options, **more, "lr": torch.ones(2)})


@pytest.mark.parametrize("on_nonfinite", ["skip", "ignore"])
@every_rule
def test_meta(cls: type[tandem.Optimizer], options: dict[str, Any], on_nonfinite: str) -> None:
    """A whole step where there are no values to be read."""
    model = make_model().to("meta")
    lr = torch.full((), 0.1, device="meta")
    optimizer = make(
        cls, model, {**options, "lr": lr}, capturable=True, on_nonfinite=on_nonfinite
    )
    for _ in range(3):
        for p in model.parameters():
            p.grad = torch.empty_like(p)
        optimizer.step()
    for p in model.parameters():
        for key, array in optimizer.state[p].items():
            if isinstance(array, Tensor):
                assert array.device.type == "meta"
                assert array.shape in (p.shape, ())


@pytest.mark.skipif(not TORCH_2, reason="torch 1.13 cannot count operations")
@pytest.mark.parametrize("on_nonfinite, looks", [("raise", 1), ("skip", 1), ("ignore", 0)])
def test_a_step_looks_at_the_device_once(on_nonfinite: str, looks: int) -> None:
    """However many groups there are."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Count(TorchDispatchMode):
        reads = 0

        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            self.reads += function is torch.ops.aten._local_scalar_dense.default
            return function(*args, **(kwargs or {}))

    model = make_model()
    groups = [{"params": [p], "lr": 0.01 * (n + 1)} for n, p in enumerate(model.parameters())]
    optimizer = tandem.AdamTO(groups, backend="foreach", on_nonfinite=on_nonfinite)
    train(model, optimizer, batches(2))
    with Count() as count:
        optimizer.step()
    assert count.reads == looks


# ---- torch.compile -----------------------------------------------------------------------------


def compiled_training(
    cls: type[tandem.Optimizer], options: dict[str, Any], backend: str, on_nonfinite: str
) -> tuple[nn.Module, nn.Module, tandem.Optimizer]:
    """A model trained by a compiled step, and one trained eagerly."""
    import torch._dynamo

    torch._dynamo.reset()
    more = {"capturable": True, "on_nonfinite": on_nonfinite}
    models = [make_model() for _ in range(2)]
    lrs = [torch.tensor(options["lr"]) for _ in range(2)]
    optimizers = [make(cls, m, {**options, "lr": lr}, **more) for m, lr in zip(models, lrs)]

    def step(batch: tuple[Tensor, Tensor]) -> Tensor:
        optimizers[0].zero_grad()
        loss = loss_of(models[0], batch)
        loss.backward()
        optimizers[0].step()
        return loss.detach()

    compiled = torch.compile(step, backend=backend)
    for number, batch in enumerate(batches(12)):
        if number == 6:
            for lr in lrs:
                lr.mul_(0.5)
        compiled(batch)
        train(models[1], optimizers[1], [batch])
    return models[0], models[1], optimizers[0]


@pytest.mark.skipif(not TORCH_2, reason="torch 1.13 has no torch.compile")
@every_rule
def test_compile(cls: type[tandem.Optimizer], options: dict[str, Any]) -> None:
    on_nonfinite = "ignore" if cls.rule in ("sgd", "adam") else "skip"
    ours, expected, optimizer = compiled_training(cls, options, "aot_eager", on_nonfinite)
    assert distance(ours, expected) < 1e-6
    assert distance(ours, make_model()) > 1e-3
    assert [float(state["step"]) for state in optimizer.state.values()] == [12.0] * 4


@pytest.mark.skipif(not TORCH_2, reason="torch 1.13 has no torch.compile")
@every_rule
def test_compile_without_graph_breaks(
    cls: type[tandem.Optimizer], options: dict[str, Any]
) -> None:
    """All of a step but the first, which makes the state."""
    import torch._dynamo

    torch._dynamo.reset()
    more = {"capturable": True, "on_nonfinite": "skip"}
    models = [make_model() for _ in range(2)]
    optimizers = [make(cls, m, {**options, "lr": torch.tensor(options["lr"])}, **more) for m in models]
    whole = torch.compile(optimizers[0].step, backend="eager", fullgraph=True)
    for number, batch in enumerate(batches(4)):
        for model, optimizer in zip(models, optimizers):
            optimizer.zero_grad()
            loss_of(model, batch).backward()
            (whole if optimizer is optimizers[0] and number > 0 else optimizer.step)()
    assert distance(*models) < 1e-6


@pytest.mark.skipif(not TORCH_2, reason="torch 1.13 has no torch.compile")
@pytest.mark.skipif(shutil.which("g++") is None, reason="torch's inductor needs a C++ compiler")
def test_compile_to_machine_code() -> None:
    cls, options = RULES[IDS.index("diag-to")]
    ours, expected, _ = compiled_training(cls, options, "inductor", "skip")
    assert distance(ours, expected) < 1e-5
    assert distance(ours, make_model()) > 1e-3


# ---- States pass between the backends ----------------------------------------------------------


@pytest.mark.parametrize("capturable", [False, True])
@pytest.mark.parametrize("first, second", [("fused", "foreach"), ("foreach", "fused")])
@every_rule
def test_states_pass(
    cls: type[tandem.Optimizer],
    options: dict[str, Any],
    first: str,
    second: str,
    capturable: bool,
) -> None:
    """Training that changes the backend half way goes on as if it had not."""
    of = {"fused": {"backend": "fused"}, "foreach": {"backend": "foreach"}}
    of["foreach"]["capturable"] = capturable
    straight, changed = (make_model(torch.float64) for _ in range(2))
    data = batches(40, torch.float64)
    train(straight, make(cls, straight, options), data)
    before = make(cls, changed, options, **of[first])
    train(changed, before, data[:20])
    after = make(cls, changed, options, **of[second])
    after.load_state_dict(before.state_dict())
    train(changed, after, data[20:])
    assert after.param_groups[0]["backend"] == second
    # A carried scalar of a capturable one is a float.
    tight = 1e-6 if capturable and cls.rule == "nadamw" else 1e-11
    assert distance(changed, straight) < tight


@pytest.mark.parametrize("state_type", ["full", "bfloat16"])
@pytest.mark.parametrize("first, second", [("fused", "foreach"), ("foreach", "fused")])
def test_states_of_full_with_factors_pass(first: str, second: str, state_type: str) -> None:
    """From 512 weights on updates of A wait; some do when the backend changes."""
    torch.manual_seed(0)
    models = [nn.Linear(30, 20) for _ in range(2)]
    models[1].load_state_dict(models[0].state_dict())
    options = {"lr": 0.05, "alpha": 0.001, "beta": 0.3, "form": "dense", "state_type": state_type}
    straight = tandem.FullTO(models[0].parameters(), **options, state_rounding="nearest")
    changed = tandem.FullTO(
        models[1].parameters(), **options, backend=first, state_rounding="nearest"
    )
    for t in range(150):
        if t in (70, 100):
            backend = {70: second, 100: first}[t]
            following = tandem.FullTO(
                models[1].parameters(), **options, backend=backend, state_rounding="nearest"
            )
            following.load_state_dict(changed.state_dict())
            unit = following.state[models[1].weight]["unit"]
            assert unit["pending"] > 0
            changed = following
        x = torch.randn(8, 30, generator=torch.Generator().manual_seed(t))
        for model, optimizer in zip(models, (straight, changed)):
            optimizer.zero_grad()
            (model(x) - x[:, :20]).square().mean().backward()
            optimizer.step()
    assert distance(models[1], models[0]) < (1e-4 if state_type == "full" else 1e-2)


@every_rule
def test_state_files_pass(
    cls: type[tandem.Optimizer], options: dict[str, Any], tmp_path: pathlib.Path
) -> None:
    fused, foreach = (make_model(torch.float64) for _ in range(2))
    data = batches(20, torch.float64)
    one = make(cls, fused, options, backend="fused")
    train(fused, one, data[:10])
    one.save_state(tmp_path / "fused.safetensors")
    foreach.load_state_dict(fused.state_dict())
    other = make(cls, foreach, options, backend="foreach")
    other.load_state(tmp_path / "fused.safetensors")
    train(fused, one, data[10:])
    train(foreach, other, data[10:])
    assert distance(foreach, fused) < 1e-11
    other.save_state(tmp_path / "foreach.safetensors")
    one.load_state(tmp_path / "foreach.safetensors")
    train(fused, one, data[:5])
    train(foreach, other, data[:5])
    assert distance(foreach, fused) < 1e-11


# ---- What cannot be ----------------------------------------------------------------------------


def test_a_span_is_refused() -> None:
    model = nn.Linear(30, 20)
    fused = tandem.FullTO(model.parameters(), form="span")
    model(torch.randn(4, 30)).sum().backward()
    fused.step()
    foreach = tandem.FullTO(model.parameters(), backend="foreach")
    groups = foreach.state_dict()["param_groups"]
    foreach.load_state_dict({**fused.state_dict(), "param_groups": groups})
    before = weights(model).clone()
    with pytest.raises(tandem.StateError, match='form="dense"'):
        foreach.step()
    with pytest.raises(ValueError, match='form="dense"'):
        tandem.FullTO(model.parameters(), backend="foreach", form="span").step()
    with pytest.raises(MemoryError, match="memory_limit is 100000"):
        tandem.FullTO(model.parameters(), backend="foreach", memory_limit=100_000).step()
    assert torch.equal(weights(model), before)


@every_rule
def test_nonfinite_gradients_raise(cls: type[tandem.Optimizer], options: dict[str, Any]) -> None:
    model = make_model()
    optimizer = make(cls, model, options, backend="foreach")
    train(model, optimizer, batches(2))
    before = weights(model).clone()
    list(model.parameters())[2].grad[1, 3] = float("nan")
    with pytest.raises(tandem.NonFiniteGradient, match="2.weight"):
        optimizer.step()
    assert torch.equal(weights(model), before)
    optimizer = make(cls, model, options, backend="foreach", on_nonfinite="skip")
    optimizer.step()
    assert torch.equal(weights(model), before) and optimizer.skipped_steps == 1


def free(tensor: Tensor) -> None:
    storage = tensor.untyped_storage() if TORCH_2 else tensor.storage()
    storage.resize_(0)


BAD: dict[str, tuple[Any, type[Exception], str]] = {
    "a sparse gradient": (
        lambda p, _: setattr(p, "grad", torch.ones(4, 2).to_sparse()),
        RuntimeError,
        "'w' has a sparse gradient",
    ),
    "another size": (
        lambda p, _: (setattr(p, "data", torch.ones(5, 2)), setattr(p, "grad", torch.ones(5, 2))),
        RuntimeError,
        "'w' was .* with 8 elements .* is now .* with 10",
    ),
    "another type": (
        lambda p, _: (setattr(p, "data", p.data.double()), setattr(p, "grad", p.data)),
        RuntimeError,
        "'w' was torch.float32 .* is now torch.float64",
    ),
    "a gradient without memory": (lambda p, _: free(p.grad), RuntimeError, "'w' has 8 .*no memory"),
    "a parameter without memory": (lambda p, _: free(p.data), RuntimeError, "'w' has 8 .*no memory"),
    "a state of another shape": (
        lambda p, state: state.update(exp_avg=torch.ones(7)),
        tandem.StateError,
        "'w': its state 'exp_avg' is .7. of torch.float32",
    ),
    "a state of another type": (
        lambda p, state: state.update(exp_avg=torch.ones(4, 2).double()),
        tandem.StateError,
        "'w': its state 'exp_avg' is .* torch.float64",
    ),
    "half a state": (
        lambda p, state: state.pop("exp_avg_sq"),
        tandem.StateError,
        "'w': the state has no 'exp_avg_sq'",
    ),
}


@pytest.mark.parametrize("capturable", [False, True])
@pytest.mark.parametrize("what", BAD)
def test_what_changed_since_the_last_step_is_named(what: str, capturable: bool) -> None:
    """The parameter before it stays as it was."""
    change, kind, text = BAD[what]
    first, second = nn.Parameter(torch.ones(3)), nn.Parameter(torch.ones(4, 2))
    options = {"capturable": True, "on_nonfinite": "skip"} if capturable else {}
    optimizer = tandem.Adam([("v", first), ("w", second)], lr=0.1, backend="foreach", **options)
    first.grad, second.grad = torch.ones(3), torch.ones(4, 2)
    optimizer.step()
    change(second, optimizer.state[second])
    before, state = first.detach().clone(), copy.deepcopy(optimizer.state[first])
    with pytest.raises(kind, match=text):
        optimizer.step()
    assert torch.equal(first.detach(), before)
    assert str(optimizer.state[first]) == str(state)
