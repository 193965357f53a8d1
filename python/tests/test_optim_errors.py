# SPDX-License-Identifier: MIT
"""Bad input to the optimizers: exceptions of the kind and in the words of torch's."""

from __future__ import annotations

import math
from typing import Any

import pytest
import tandem
import torch
from models import IDS, RULES, batches, loss_of, make_model, train, weights
from torch import nn


def parameter(*values: float) -> nn.Parameter:
    return nn.Parameter(torch.tensor(values or (1.0, 2.0)))


@pytest.mark.parametrize(
    "cls,options,kind,text",
    [
        (tandem.DiagonalTO, {"lr": -1.0}, ValueError, "Invalid learning rate: -1.0"),
        (tandem.DiagonalTO, {"lr": math.nan}, ValueError, "Invalid learning rate: nan"),
        (tandem.DiagonalTO, {"lr": "fast"}, ValueError, "learning rate must be a number or a sch.*fast"),
        (tandem.DiagonalTO, {"lr": None}, TypeError, "learning rate must be a number"),
        (tandem.DiagonalTO, {"lr": torch.ones(2)}, TypeError, "learning rate must be a number"),
        (tandem.DiagonalTO, {"lr": torch.ones((), device="meta")}, TypeError, "learning rate must be"),
        (tandem.DiagonalTO, {"alpha": -0.1}, ValueError, "Invalid alpha value: -0.1"),
        (tandem.DiagonalTO, {"beta": math.inf}, ValueError, "Invalid beta value: inf"),
        (tandem.DiagonalTO, {"normalize": "yes"}, TypeError, "normalize must be a bool"),
        (tandem.DiagonalTO, {"on_nonfinite": "crash"}, ValueError, "on_nonfinite"),
        (tandem.DiagonalTO, {"seed": 1.5}, TypeError, "seed must be an int"),
        (tandem.DiagonalTO, {"momentum": 0.9}, TypeError, "momentum"),
        (tandem.BlockTO, {"block": 0}, ValueError, "Invalid block value: 0"),
        (tandem.RankOneTO, {"scope": "all"}, ValueError, "whole"),
        (tandem.FullTO, {"form": "sparse"}, ValueError, "span"),
        (tandem.Adam, {"betas": (1.0, 0.9)}, ValueError, "Invalid beta parameter at index 0: 1.0"),
        (tandem.Adam, {"betas": 0.9}, TypeError, "betas"),
        (tandem.Adam, {"eps": -1e-8}, ValueError, "Invalid epsilon value: -1e-08"),
        (tandem.AdamW, {"weight_decay": -1}, ValueError, "Invalid weight_decay value: -1.0"),
        (tandem.Momentum, {"momentum": 1.0}, ValueError, "Invalid momentum value: 1.0"),
        (tandem.AdamTO, {"beta2": 1.0}, ValueError, "Invalid beta2 value: 1.0"),
    ],
)
def test_options(cls: Any, options: dict[str, Any], kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        cls([parameter()], **options)
    with pytest.raises((kind, TypeError)):
        cls([{"params": [parameter()], **options}], **options)


@pytest.mark.parametrize("cls", [cls for cls, _ in RULES], ids=IDS)
def test_parameters(cls: Any) -> None:
    p = parameter()
    with pytest.raises(ValueError, match="empty parameter list"):
        cls([])
    with pytest.raises(TypeError, match="iterable of Tensors or dicts"):
        cls(p)
    with pytest.raises(TypeError, match="can only optimize Tensors"):
        cls([p, "weight"])
    with pytest.raises(TypeError, match="ordered collections"):
        cls([{"params": {p}}])
    with pytest.raises(ValueError, match="non-leaf"):
        cls([p * 2])
    with pytest.raises(ValueError, match="more than one parameter group"):
        cls([{"params": [p]}, {"params": [p]}])
    with pytest.raises(ValueError, match="not unique"):
        cls([("w", p), ("w", parameter())])
    with pytest.raises(ValueError, match="with/without names"):
        cls([{"params": [("w", p)]}, {"params": [parameter()]}])


def test_a_group_that_is_refused_leaves_no_trace() -> None:
    model = make_model()
    optimizer = tandem.DiagonalTO(model.parameters(), lr=0.1)
    with pytest.raises(ValueError, match="more than one"):
        optimizer.add_param_group({"params": [model[0].weight]})
    with pytest.raises(ValueError, match="learning rate"):
        optimizer.add_param_group({"params": [parameter()], "lr": -1})
    with pytest.raises(TypeError, match="must be a dict"):
        optimizer.add_param_group([parameter()])
    assert len(optimizer.param_groups) == 1
    train(model, optimizer, batches(2))


def test_names_that_are_taken_leave_no_trace_either() -> None:
    p, q = parameter(), parameter()
    optimizer = tandem.DiagonalTO([("w", p)], lr=0.1)
    with pytest.raises(ValueError, match="not unique: 'w'"):
        optimizer.add_param_group({"params": [("w", q)]})
    p.grad, q.grad = torch.ones(2), torch.ones(2)
    optimizer.step()
    assert torch.equal(q.detach(), torch.tensor([1.0, 2.0]))
    optimizer.add_param_group({"params": [("v", q)]})
    optimizer.step()
    assert not torch.equal(q.detach(), torch.tensor([1.0, 2.0]))


def test_changes_behind_its_back() -> None:
    p = parameter()
    optimizer = tandem.DiagonalTO([p], lr=0.1)
    p.grad = torch.ones(2)
    optimizer.param_groups[0]["lr"] = -0.5
    with pytest.raises(ValueError, match="Invalid learning rate: -0.5"):
        optimizer.step()
    optimizer.param_groups[0]["lr"] = 0.1
    optimizer.step()
    optimizer.param_groups[0]["nothing"] = 1  # which some tool may have put there
    optimizer.step()


def test_gradients_that_no_rule_can_take_are_refused_by_name() -> None:
    embedding = nn.Embedding(5, 3, sparse=True)
    optimizer = tandem.DiagonalTO(embedding.named_parameters(), lr=0.1)
    embedding(torch.tensor([1, 2])).sum().backward()
    with pytest.raises(RuntimeError, match="parameter 'weight' has a sparse gradient"):
        optimizer.step()

    half = nn.Parameter(torch.ones(3, dtype=torch.float16))
    optimizer = tandem.DiagonalTO([("scale", half)], backend="fused")
    half.grad = torch.ones(3, dtype=torch.float16)
    with pytest.raises(RuntimeError, match="'scale' is torch.float16 on cpu, .*fused"):
        optimizer.step()

    turning = nn.Parameter(torch.ones(3, dtype=torch.complex64))
    optimizer = tandem.DiagonalTO([("phase", turning)])
    turning.grad = torch.ones(3, dtype=torch.complex64)
    with pytest.raises(RuntimeError, match="'phase' is of type torch.complex64"):
        optimizer.step()

    scattered = nn.Parameter(torch.eye(3).to_sparse())
    for backend in ("auto", "foreach"):
        optimizer = tandem.DiagonalTO([("sparse", scattered)], backend=backend)
        scattered.grad = torch.eye(3).to_sparse()
        with pytest.raises(RuntimeError, match="'sparse' is torch.sparse_coo, expected a dense"):
            optimizer.step()

    expanded = nn.Parameter(torch.ones(1).expand(3))
    optimizer = tandem.DiagonalTO([("wide", expanded)])
    expanded.grad = torch.ones(3)
    with pytest.raises(RuntimeError, match="'wide' has elements that share memory"):
        optimizer.step()


@pytest.mark.parametrize("cls,options", RULES, ids=IDS)
def test_gradients_that_are_not_finite(cls: Any, options: dict[str, Any]) -> None:
    model = make_model()
    optimizer = cls(model.named_parameters(), **options)
    train(model, optimizer, batches(2))
    loss_of(model, batches(1)[0]).backward()
    model[2].weight.grad[1, 2] = math.nan
    before = weights(model)
    with pytest.raises(tandem.NonFiniteGradient, match=r"'2.weight' is not finite at element 7"):
        optimizer.step()
    assert torch.equal(before, weights(model))

    optimizer.param_groups[0]["on_nonfinite"] = "skip"
    optimizer.step()
    assert torch.equal(before, weights(model))
    assert optimizer.skipped_steps == 1


def test_full_to_within_its_memory() -> None:
    p = nn.Parameter(torch.ones(5000))
    optimizer = tandem.FullTO([p], form="dense", memory_limit=1 << 20)
    p.grad = torch.ones(5000)
    with pytest.raises((MemoryError, RuntimeError, ValueError), match="memory_limit|bytes"):
        optimizer.step()
    assert torch.equal(p.detach(), torch.ones(5000))


def test_names_that_are_missing() -> None:
    model = make_model()
    optimizer = tandem.DiagonalTO(model.parameters())
    with pytest.raises(ValueError, match="name_parameters"):
        optimizer.save_state("never-written.safetensors")
    with pytest.raises(ValueError, match="parameter 2 of group 0"):
        optimizer.name_parameters(model[0].named_parameters())
    optimizer.name_parameters(model.named_parameters())
    assert optimizer.param_groups[0]["param_names"][0] == "0.weight"


@pytest.mark.parametrize("backend", ["fused", "foreach"])
def test_rates_that_grew_without_end_change_nothing(backend: str) -> None:
    """A scheduler's rate that float weights cannot take, of two tensors with states of their own."""
    for rule in (tandem.DiagonalTO, tandem.AdamW, tandem.RankOneTO, tandem.BlockTO):
        model = torch.nn.Linear(3, 2)
        optimizer = rule(model.parameters(), lr=0.1, backend=backend)
        for param in model.parameters():
            param.grad = torch.ones_like(param)
        optimizer.step()
        before = [param.detach().clone() for param in model.parameters()]
        state = str(optimizer.state_dict()["state"])
        for lr, error, message in (
            (1e39, RuntimeError, "lr = 1e.39 .*step 2.*float"),
            (float("inf"), ValueError, "learning rate"),
            (float("nan"), ValueError, "learning rate"),
        ):
            optimizer.param_groups[0]["lr"] = lr
            with pytest.raises(error, match=message):
                optimizer.step()
            assert str(optimizer.state_dict()["state"]) == state
            assert all(map(torch.equal, before, model.parameters()))
        optimizer.param_groups[0]["lr"] = 0.1
        optimizer.step()


@pytest.mark.parametrize("backend", ["fused", "foreach"])
def test_rank_one_that_diverges_is_no_error(backend: str) -> None:
    """Its scalars are doubles, and grow beyond what a float holds."""
    torch.manual_seed(0)
    p = nn.Parameter(10 * torch.randn(20000))
    optimizer = tandem.RankOneTO([p], lr=1e-6, alpha=0.01, backend=backend)
    p.grad = 0.01 * torch.randn(20000)
    for _ in range(20):
        optimizer.step()
    assert not torch.isfinite(p).any()
    assert optimizer.state[p]["step"] == 20
