# SPDX-License-Identifier: MIT
"""ZeroRedundancyOptimizer: DDP, where each rank steps some parameters and sends them out."""

from __future__ import annotations

import copy
import math
import pathlib
from typing import Any

import torch
import torch.distributed as dist
from common import ELEMENTWISE, RULES, assert_near, assert_same, batches, gathered, loss_of
from common import make_model, part_of, refusal, run, tandem, train, weights
from torch import nn
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel

STEPS = 20


def make(rule: str, model: nn.Module, **more: Any) -> tuple[nn.Module, ZeroRedundancyOptimizer]:
    cls, options = RULES[rule]
    parallel = DistributedDataParallel(model)
    options = {**options, **more}
    return parallel, ZeroRedundancyOptimizer(model.parameters(), optimizer_class=cls, **options)


def equals_one_process(_: str) -> None:
    data = batches(STEPS)
    kinds: list[tuple[str, dict[str, Any]]] = [(rule, {}) for rule in [*ELEMENTWISE, "block-to"]]
    kinds += [("ro-to", {"scope": "tensor"}), ("full-to", {"scope": "tensor"})]
    kinds += [("diag-to", {"parameters_as_bucket_view": True})]
    for rule, more in kinds:
        cls, options = RULES[rule]
        alone = make_model()
        own = {key: value for key, value in more.items() if key == "scope"}
        train(alone, cls(alone.parameters(), **options, **own), data, whole=True)
        parallel, optimizer = make(rule, make_model(), **more)
        train(parallel, optimizer, data)
        assert_near(weights(parallel), weights(alone), 1e-9, f"{rule} {more}")
        for other in gathered(weights(parallel)):
            assert_same(weights(parallel), other, f"{rule} {more}: rank against rank")


def resumes_to_the_same_bits(folder: str) -> None:
    data = batches(STEPS)
    for rule in [*ELEMENTWISE, "block-to"]:
        parallel, optimizer = make(rule, make_model())
        train(parallel, optimizer, data[:9])
        optimizer.consolidate_state_dict(to=0)
        path = pathlib.Path(folder) / f"{rule}.pt"
        if dist.get_rank() == 0:
            state = {"model": parallel.module.state_dict(), "optimizer": optimizer.state_dict()}
            torch.save(state, path)
        dist.barrier()
        train(parallel, optimizer, data[9:])

        saved = torch.load(path)
        model = make_model(seed=5)
        model.load_state_dict(saved["model"])
        again, resumed = make(rule, model, lr=0.123)
        resumed.load_state_dict(saved["optimizer"])
        assert resumed.optim.param_groups[0]["lr"] == RULES[rule][1]["lr"]
        train(again, resumed, data[9:])
        assert_same(weights(again), weights(parallel), f"{rule}: resumed")

        # Into an optimizer that has trained already, on other weights.
        train(again, resumed, data[:3])
        again.module.load_state_dict(torch.load(path)["model"])
        resumed.load_state_dict(torch.load(path)["optimizer"])
        train(again, resumed, data[9:])
        assert_same(weights(again), weights(parallel), f"{rule}: loaded into a trained one")


def groups_and_a_rank_without_parameters(_: str) -> None:
    data = batches(STEPS)
    cls, options = RULES["diag-to"]
    alone, model = make_model(), make_model()
    ours: Any = None
    for net, wrap in ((alone, False), (model, True)):
        layers = [list(layer.parameters()) for layer in net.children() if list(layer.parameters())]
        first = [{"params": layers[0][:1]}]  # one parameter: rank 1 has none
        if wrap:
            ours = ZeroRedundancyOptimizer(first, optimizer_class=cls, **options)
            optimizer = ours
        else:
            optimizer = cls(first, **options)
        parallel = DistributedDataParallel(net) if wrap else net
        train(parallel, optimizer, data[:5], whole=not wrap)
        optimizer.add_param_group({"params": layers[1], "lr": 0.02})
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)
        for batch in data[5:]:
            train(parallel, optimizer, [batch], whole=not wrap)
            scheduler.step()
    assert_near(weights(model), weights(alone), 1e-9, "groups")
    assert len(set(gathered(len(ours.optim.param_groups[0]["params"])))) == 2


def what_is_over_several_tensors_is_refused(_: str) -> None:
    for rule in ("ro-to", "full-to"):
        for more in ({}, {"scope": "group"}):
            message = refusal(lambda: make(rule, make_model(), **more))
            for part in (RULES[rule][0].__name__, "ZeroRedundancyOptimizer", 'scope="tensor"'):
                assert part in message, f"{rule} {more}: '{message}' lacks {part}"
    # torch's own is not disturbed, nor is ours beside it.
    model = make_model()
    ZeroRedundancyOptimizer(model.parameters(), optimizer_class=torch.optim.Adam, lr=0.02)
    tandem.RankOneTO(model.parameters(), lr=0.02)


def all_ranks_agree_on_gradients_that_are_not_finite(_: str) -> None:
    """All ranks have the same gradients, but each looks at those of its parameters."""
    for number in range(6):  # some are rank 0's, some rank 1's
        for on_nonfinite in ("raise", "skip"):
            parallel, optimizer = make("diag-to", make_model(), on_nonfinite=on_nonfinite)
            twin = copy.deepcopy(parallel.module)
            train(parallel, optimizer, batches(3))
            before = weights(parallel)
            optimizer.zero_grad()
            loss_of(parallel, part_of(batches(1)[0])).backward()
            list(parallel.parameters())[number].grad.view(-1)[0] = math.nan
            what = f"parameter {number}, {on_nonfinite}"
            if on_nonfinite == "raise":
                refusal(optimizer.step, tandem.NonFiniteGradient)
            else:
                optimizer.step()
            assert_same(weights(parallel), before, what)
            train(parallel, optimizer, batches(5)[3:])
            cls, options = RULES["diag-to"]
            train(twin, cls(twin.parameters(), **options), batches(5), whole=True)
            assert_near(weights(parallel), weights(twin), 1e-9, f"{what}: training went on")


if __name__ == "__main__":
    run(
        equals_one_process,
        resumes_to_the_same_bits,
        groups_and_a_rank_without_parameters,
        what_is_over_several_tensors_is_refused,
        all_ranks_agree_on_gradients_that_are_not_finite,
    )
