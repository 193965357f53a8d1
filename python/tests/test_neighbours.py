# SPDX-License-Identifier: MIT
"""The programs that others train with, and TensorBoard's own reader, with the real packages."""

from __future__ import annotations

import importlib.util
import json
import os
import pathlib
import re
import struct
import subprocess
import sys
from typing import Any

os.environ["HF_HUB_OFFLINE"] = "1"  # before anything of Hugging Face is imported
os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
os.environ["HF_DATASETS_OFFLINE"] = "1"

import pytest

torch = pytest.importorskip("torch", reason="the optimizers need torch")
if int(torch.__version__.split(".")[0]) < 2:
    pytest.skip(
        f"these packages need torch 2, this is {torch.__version__}", allow_module_level=True
    )

import tandem  # noqa: E402
from torch import nn  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # of other packages


def package(name: str) -> Any:
    """A package, or a skip that names it."""
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"the package {name} is not installed")
    return importlib.import_module(name)


@pytest.fixture(autouse=True)
def one_thread() -> Any:
    """The models are tiny."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def weights(model: nn.Module) -> Any:
    return torch.cat([p.detach().reshape(-1) for p in model.parameters()])


# ---- Hugging Face Trainer ------------------------------------------------------------------------

STEPS, SAVED_AT = 20, 10


def make_llama(dtype: Any, seed: int = 0) -> Any:
    transformers = package("transformers")
    torch.manual_seed(seed)
    config = transformers.LlamaConfig(
        vocab_size=64,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=32,
    )
    return transformers.LlamaForCausalLM(config).to(dtype)


def texts() -> list[dict[str, Any]]:
    """Sequences that count, in 8 of the 64 words: that these are the only ones is soon learned."""
    made = []
    for start in range(STEPS * 4):
        ids = (start + torch.arange(16)) % 8
        made.append({"input_ids": ids, "labels": ids})
    return made


def trainer_of(kind: str, folder: pathlib.Path, seed: int = 0) -> Any:
    transformers = package("transformers")
    dtype = torch.bfloat16 if "bfloat16" in kind else torch.float32
    model = make_llama(dtype, seed)
    arguments = transformers.TrainingArguments(
        output_dir=str(folder),
        max_steps=STEPS,
        save_steps=SAVED_AT,
        logging_steps=1,
        per_device_train_batch_size=4,
        learning_rate=0.02,
        weight_decay=0.01,
        lr_scheduler_type="linear",
        use_cpu=True,
        report_to=[],
        disable_tqdm=True,
        seed=3,
    )
    given: dict[str, Any] = {}
    if kind.startswith("class"):
        cls = tandem.RankOneTO if "rank one" in kind else tandem.AdamTO
        given["optimizer_cls_and_kwargs"] = (cls, {"lr": 0.02, "alpha": 0.01, "beta": 0.2})
    else:
        optimizer = tandem.DiagonalTO(
            model.named_parameters(),
            lr=0.5,
            alpha=0.01,
            beta=0.2,
            stochastic_rounding="bfloat16" in kind,
        )
        scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 / (1 + 0.05 * step))
        given["optimizers"] = (optimizer, scheduler)
    return transformers.Trainer(model=model, args=arguments, train_dataset=texts(), **given)


def losses_of(trainer: Any) -> dict[int, float]:
    return {entry["step"]: entry["loss"] for entry in trainer.state.log_history if "loss" in entry}


@pytest.mark.parametrize(
    "kind",
    [
        "optimizers=",
        "optimizers=, bfloat16",
        "class and kwargs",
        "class and kwargs, rank one",
    ],
)
def test_trainer_resumes_to_the_same_losses(kind: str, tmp_path: pathlib.Path) -> None:
    package("accelerate")  # which the Trainer needs
    trainer = trainer_of(kind, tmp_path / "whole")
    trainer.train()
    losses = losses_of(trainer)
    assert sorted(losses) == list(range(1, STEPS + 1))
    assert sum(losses[k] for k in range(16, 21)) < sum(losses[k] for k in range(1, 6))

    again = trainer_of(kind, tmp_path / "resumed", seed=9)
    again.train(resume_from_checkpoint=str(tmp_path / "whole" / f"checkpoint-{SAVED_AT}"))
    resumed = losses_of(again)
    for step in range(SAVED_AT + 1, STEPS + 1):
        assert resumed[step] == losses[step], f"step {step}"
    assert torch.equal(weights(again.model), weights(trainer.model))
    state = next(iter(again.optimizer.state.values()))
    assert state["step"] == STEPS
    assert state["a"].dtype == torch.float32  # also of bfloat16 weights


def test_trainer_example(repository: pathlib.Path) -> None:
    package("transformers")
    done = subprocess.run(
        [sys.executable, str(repository / "examples" / "hf_trainer.py"), "--steps", "40"],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    before, after = re.search(r"loss before ([0-9.]+), after ([0-9.]+)", done.stdout).groups()
    assert float(after) < 0.8 * float(before)


# ---- Accelerate ----------------------------------------------------------------------------------


def make_net(seed: int = 0) -> nn.Module:
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 1))


def rows() -> tuple[Any, Any]:
    generator = torch.Generator().manual_seed(5)
    x = torch.randn(160, 6, generator=generator)
    return x, x[:, :1] * x[:, 1:2] + x[:, 2:3]


def accelerated(seed: int = 0, accumulate: int = 1, batch: int = 8) -> tuple[Any, ...]:
    accelerate = package("accelerate")
    accelerator = accelerate.Accelerator(cpu=True, gradient_accumulation_steps=accumulate)
    net = make_net(seed)
    optimizer = tandem.RankOneTO(net.named_parameters(), lr=0.05, alpha=0.02, beta=0.2)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.98)
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(*rows()), batch)
    return (accelerator, *accelerator.prepare(net, optimizer, loader, scheduler))


def run_epoch(accelerator: Any, net: Any, optimizer: Any, loader: Any, scheduler: Any) -> None:
    for x, y in loader:
        with accelerator.accumulate(net):
            accelerator.backward((net(x) - y).square().mean())
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()


def test_accelerate_saves_and_loads(tmp_path: pathlib.Path) -> None:
    whole = accelerated()
    start = weights(whole[1])
    run_epoch(*whole)
    whole[0].save_state(str(tmp_path / "state"))
    run_epoch(*whole)
    assert not torch.equal(weights(whole[1]), start)

    resumed = accelerated(seed=9)
    resumed[0].load_state(str(tmp_path / "state"))
    run_epoch(*resumed)
    assert torch.equal(weights(resumed[1]), weights(whole[1]))
    assert resumed[2].param_groups[0]["lr"] == whole[2].param_groups[0]["lr"]


def test_accelerate_accumulates_gradients() -> None:
    # One after the other: Accelerators share how many steps they accumulate.
    halves = accelerated(accumulate=2, batch=4)
    run_epoch(*halves)
    whole = accelerated(batch=8)
    run_epoch(*whole)
    torch.testing.assert_close(weights(halves[1]), weights(whole[1]), rtol=1e-4, atol=1e-6)
    parameter = next(iter(halves[1].parameters()))
    assert halves[2].optimizer.state[parameter]["step"] == 20


# ---- Lightning -----------------------------------------------------------------------------------


def lightning_module(lightning: Any, seed: int) -> Any:
    class Module(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.net = make_net(seed)

        def training_step(self, batch: Any, _: int) -> Any:
            return (self.net(batch[0]) - batch[1]).square().mean()

        def configure_optimizers(self) -> Any:
            optimizer = tandem.DiagonalTO(self.named_parameters(), lr=0.1, alpha=0.01, beta=0.2)
            scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)
            return {"optimizer": optimizer, "lr_scheduler": scheduler}

    return Module()


def test_lightning_resumes_to_the_same_weights(tmp_path: pathlib.Path) -> None:
    lightning = package("lightning")
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(*rows()), 16)

    def fit(folder: str, epochs: int, seed: int = 0, **options: Any) -> Any:
        module = lightning_module(lightning, seed)
        trainer = lightning.Trainer(
            default_root_dir=str(tmp_path / folder),
            max_epochs=epochs,
            accelerator="cpu",
            logger=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            gradient_clip_val=1.0,
        )
        trainer.fit(module, loader, **options)
        if epochs == 2:
            trainer.save_checkpoint(str(tmp_path / "saved.ckpt"))
        return module, trainer

    whole, trainer = fit("whole", 4)
    fit("half", 2)
    resumed, second = fit("resumed", 4, seed=9, ckpt_path=str(tmp_path / "saved.ckpt"))
    assert not torch.equal(weights(whole), weights(make_net()))
    assert torch.equal(weights(resumed), weights(whole))
    rates = [t.optimizers[0].param_groups[0]["lr"] for t in (trainer, second)]
    assert rates[0] == rates[1] != 0.1


# ---- TensorBoard ---------------------------------------------------------------------------------

STUDY = """
name = "small"
epochs = 3
tune_seed = 0
seeds = [1, 2]

[[task]]
data = "synthetic:rows=300"
model = "logistic"
lambda = 0.1
batch = 20
validation = 0.2

[[optimizer]]
name = "adam"
baseline = true
lr = [0.01, 0.1]

[[optimizer]]
name = "diag-to"
lr = [0.1, 0.5]
alpha = 0
beta = 0.5
"""


def test_tensorboard_reads_our_event_files(program: str, tmp_path: pathlib.Path) -> None:
    package("tensorboard")
    from tensorboard.backend.event_processing import event_accumulator, event_multiplexer

    def run(*arguments: str) -> str:
        done = subprocess.run([program, *arguments], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def single(value: float) -> float:
        return struct.unpack("f", struct.pack("f", value))[0]

    (tmp_path / "small.toml").write_text(STUDY)
    run("study", "small.toml", "--store", "s.db", "--quiet")
    run("export", "tensorboard", "--store", "s.db", "--out", "tb", "--quiet")
    points = [json.loads(line) for line in run("export", "jsonl", "--store", "s.db").splitlines()]
    expected: dict[str, list[tuple[int, float]]] = {}
    for point in points:
        name = "/".join(["small", point["task"], point["optimizer"], f"seed-{point['seed']}"])
        expected.setdefault(name, []).append((point["step"], single(point["train_loss"])))
    assert len(expected) == 4

    board = event_multiplexer.EventMultiplexer().AddRunsFromDirectory(str(tmp_path / "tb"))
    board.Reload()
    assert set(board.Runs()) == set(expected) | {"small"}
    for name, curve in expected.items():
        scalars = board.Scalars(name, "loss/train")
        assert [(event.step, event.value) for event in scalars] == curve
        assert all(event.wall_time > 0 for event in scalars)
        tags = board.GetAccumulator(name).Tags()["scalars"]
        assert {"loss/validation", "accuracy/validation", "least/train_loss"} <= set(tags)
        plugins = board.GetAccumulator(name).PluginTagToContent("hparams")
        assert "_hparams_/session_start_info" in plugins
    assert "study/file" in board.GetAccumulator("small").PluginTagToContent("text")

    # While `tandem train` writes.
    train = ["train", "--data", "synthetic:rows=400", "--optimizer", "diag-to", "--lr", "0.1"]
    lines = run(*train, "--epochs", "3", "--json", "--tensorboard", "live").splitlines()
    events = [line for line in map(json.loads, lines) if line["event"] == "point"]
    live = event_accumulator.EventAccumulator(str(tmp_path / "live"))
    live.Reload()
    curve = [(event.step, event.value) for event in live.Scalars("loss/train")]
    assert curve == [(event["step"], single(event["train_loss"])) for event in events]
