# SPDX-License-Identifier: MIT
"""DistributedDataParallel: every rank has all weights and the same gradients."""

from __future__ import annotations

from common import RULES, assert_near, assert_same, batches, gathered, make_model, run
from common import state_of, train, weights
from torch.nn.parallel import DistributedDataParallel


def equals_one_process() -> None:
    data = batches(20)
    for rule in ("diag-to", "ro-to", "adam-to", "adam", "full-to", "block-to"):
        cls, options = RULES[rule]
        alone = make_model()
        train(alone, cls(alone.named_parameters(), **options), data, whole=True)
        model = make_model()
        parallel = DistributedDataParallel(model)
        optimizer = cls(parallel.named_parameters(), **options)
        train(parallel, optimizer, data)
        assert_near(weights(model), weights(alone), 1e-9, rule)
        for other in gathered((weights(model), state_of(optimizer))):
            assert_same((weights(model), state_of(optimizer)), other, f"{rule}: rank against rank")


if __name__ == "__main__":
    run(equals_one_process)
