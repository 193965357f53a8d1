# SPDX-License-Identifier: MIT
"""Hugging Face's Trainer with Adam-TO: a tiny Llama learns the letters of a poem.

    pip install tandem-optim transformers accelerate
    python3 examples/hf_trainer.py

Downloads nothing: the model is made from a configuration, with random weights. Takes some seconds.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import tandem  # noqa: E402
import torch  # noqa: E402
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments  # noqa: E402

POEM = """\
Tyger Tyger, burning bright,
In the forests of the night;
What immortal hand or eye,
Could frame thy fearful symmetry?

In what distant deeps or skies.
Burnt the fire of thine eyes?
On what wings dare he aspire?
What the hand, dare seize the fire?
"""  # William Blake, 1794

LENGTH = 48
LETTERS = sorted(set(POEM))


def encode(text: str) -> torch.Tensor:
    return torch.tensor([LETTERS.index(letter) for letter in text])


def pieces() -> list[dict[str, Any]]:
    """Every piece of the poem that is LENGTH letters long."""
    starts = range(len(POEM) - LENGTH + 1)
    ids = [encode(POEM[start : start + LENGTH]) for start in starts]
    return [{"input_ids": piece, "labels": piece} for piece in ids]


def make_model() -> LlamaForCausalLM:
    torch.manual_seed(1)
    config = LlamaConfig(
        vocab_size=len(LETTERS),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=LENGTH,
        bos_token_id=None,
        eos_token_id=None,  # every number is a letter
    )
    return LlamaForCausalLM(config)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=200)
    options = parser.parse_args()

    torch.set_num_threads(1)  # the model is too small for more
    model = make_model()
    data = pieces()
    # optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    optimizer = tandem.AdamTO(model.named_parameters(), lr=5e-3, alpha=0.01, beta=0.1)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, options.steps)

    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(
            model=model,
            args=TrainingArguments(
                output_dir=folder,
                max_steps=options.steps,
                per_device_train_batch_size=16,
                logging_steps=max(1, options.steps // 5),
                save_strategy="no",
                report_to=[],
                use_cpu=True,
                disable_tqdm=True,
            ),
            train_dataset=data,
            eval_dataset=data[::7],
            optimizers=(optimizer, scheduler),
        )
        before = trainer.evaluate()["eval_loss"]
        trainer.train()
        after = trainer.evaluate()["eval_loss"]
    print(f"loss before {before:.3f}, after {after:.3f}")

    ids = encode("Tyger")[None]
    written = model.generate(ids, max_new_tokens=LENGTH - 5, do_sample=False, pad_token_id=0)[0]
    print("".join(LETTERS[letter] for letter in written))


if __name__ == "__main__":
    main()
