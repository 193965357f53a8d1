# SPDX-License-Identifier: MIT
"""A small CNN on Fashion-MNIST with Adam, Diag-TO and Adam-TO: changing the optimizer is one line.

    PYTHONPATH=build-release/python python3 examples/fashion_mnist.py --out fashion_mnist.png

Reads Debian's package dataset-fashion-mnist, or the folder that --data names; takes a minute.
"""

from __future__ import annotations

import argparse
import gzip
import pathlib
import sys

import numpy as np
import tandem
import torch
from torch import Tensor, nn

# Each with the best of a few rates; a fair comparison is a study, see docs/studies.md.
OPTIMIZERS = {
    "Adam (torch)": lambda params: torch.optim.Adam(params, lr=5e-3),
    "Diag-TO": lambda params: tandem.DiagonalTO(params, lr=0.5, alpha=0.01, beta=0.1),
    "Adam-TO": lambda params: tandem.AdamTO(params, lr=5e-3, alpha=0.01, beta=0.1),
}


def read_idx(path: pathlib.Path, count: int) -> Tensor:
    """The first `count` items of an idx file of bytes."""
    with gzip.open(path) as file:
        magic = file.read(4)
        if magic[:3] != b"\0\0\x08":
            sys.exit(f"{path}: starts with {magic!r}, expected an idx file of bytes")
        shape = [int.from_bytes(file.read(4), "big") for _ in range(magic[3])]
        shape[0] = min(count, shape[0])
        content = file.read(int(np.prod(shape)))
    if len(content) != np.prod(shape):
        sys.exit(f"{path}: ends after {len(content)} bytes, expected {np.prod(shape)}")
    return torch.from_numpy(np.frombuffer(content, np.uint8).reshape(shape).copy())


def read_part(folder: pathlib.Path, part: str, count: int) -> tuple[Tensor, Tensor]:
    files = [folder / f"{part}-{kind}-ubyte.gz" for kind in ("images-idx3", "labels-idx1")]
    for file in files:
        if not file.exists():
            print(f"{file} is not there: install dataset-fashion-mnist, or give --data")
            sys.exit(3)
    images = read_idx(files[0], count)[:, None].float() / 255
    return (images - 0.286) / 0.353, read_idx(files[1], count).long()


def make_model() -> nn.Module:
    torch.manual_seed(1)  # the same start for all
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.Conv2d(8, 16, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(16 * 7 * 7, 10),
    )


def train(name: str, train_part: tuple[Tensor, Tensor], epochs: int) -> tuple[nn.Module, list[float]]:
    model = make_model()
    optimizer = OPTIMIZERS[name](model.parameters())
    order = torch.Generator().manual_seed(1)
    images, labels = train_part
    losses = []
    for _ in range(epochs):
        for rows in torch.randperm(len(images), generator=order).split(64):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(images[rows]), labels[rows])
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return model, losses


def plot(curves: dict[str, list[float]], path: pathlib.Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4))
    for name, losses in curves.items():
        window = min(50, len(losses))
        smooth = np.convolve(losses, np.ones(window) / window, "valid")
        axes.plot(np.arange(window, len(losses) + 1), smooth, label=name)
    axes.set(xlabel="step", ylabel="training loss, mean of 50 steps", yscale="log")
    axes.set_title("A small CNN on Fashion-MNIST")
    axes.grid(alpha=0.3, which="both")
    axes.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    folder = pathlib.Path("/usr/share/datasets/fashion-mnist")
    parser.add_argument("--data", type=pathlib.Path, default=folder)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("fashion_mnist.png"))
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--images", type=int, default=20_000, help="of the training part")
    options = parser.parse_args()
    train_part = read_part(options.data, "train", options.images)
    test_images, test_labels = read_part(options.data, "t10k", 10_000)

    curves = {}
    print(f"{'optimizer':<14} {'training loss':>14} {'test accuracy':>14}")
    for name in OPTIMIZERS:
        model, curves[name] = train(name, train_part, options.epochs)
        with torch.no_grad():
            accuracy = (model(test_images).argmax(1) == test_labels).float().mean().item()
        print(f"{name:<14} {np.mean(curves[name][-200:]):>14.4f} {accuracy:>14.4f}")
    plot(curves, options.out)
    print(f"the curves are in {options.out}")


if __name__ == "__main__":
    main()
