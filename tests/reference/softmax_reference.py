# SPDX-License-Identifier: MIT
"""Softmax regression from zeros, rows in file order, in plain numpy and float64.

Writes softmax_fixture.libsvm and softmax_fixture.json beside itself: the data, and the full training loss after each epoch for a
few optimizers. The tests hold `tandem train --init zeros --shuffle off` to it. Run: python3 softmax_reference.py
"""
import json
import pathlib

import numpy as np

ROWS, FEATURES, BATCH, EPOCHS, LAMBDA = 43, 5, 8, 3, 0.02
CLASSES = [1, 2, 5]  # sorted numerically become 0, 1, 2

rng = np.random.default_rng(7)
features = np.round(rng.normal(size=(ROWS, FEATURES)), 3)
scores = features @ rng.normal(size=(FEATURES, len(CLASSES))) + 0.5 * rng.normal(size=(ROWS, len(CLASSES)))
labels = scores.argmax(axis=1)
x = np.hstack([features, np.ones((ROWS, 1))])  # a bias column appended


def probabilities(w, rows):
    logits = x[rows] @ w.T
    e = np.exp(logits - logits.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def full_loss(w):
    p = probabilities(w, np.arange(ROWS))
    return -np.log(p[np.arange(ROWS), labels]).mean() + LAMBDA / 2 * (w**2).sum()


def gradient(w, rows):
    p = probabilities(w, rows)
    p[np.arange(len(rows)), labels[rows]] -= 1
    return p.T @ x[rows] / len(rows) + LAMBDA * w


def sgd(lr):
    return lambda w, g, t, s: w - lr * g


def momentum(lr, m):
    def step(w, g, t, s):
        s["b"] = m * s.get("b", 0) + (1 - m) * g
        return w - lr * s["b"]
    return step


def adam(lr, b1=0.9, b2=0.999, eps=1e-8):
    def step(w, g, t, s):
        s["m"] = b1 * s.get("m", 0) + (1 - b1) * g
        s["v"] = b2 * s.get("v", 0) + (1 - b2) * g * g
        return w - lr * (s["m"] / (1 - b1**t)) / (np.sqrt(s["v"] / (1 - b2**t)) + eps)
    return step


def diag_to(lr, alpha, beta):
    def step(w, g, t, s):
        a, b = s.get("a", 0 * w), s.get("b", 0 * w)
        r = g - a * w - b
        s["a"], s["b"] = a + alpha * r * w, b + beta * r
        return w - lr * (s["a"] * w + s["b"])
    return step


def full_to(lr, alpha, beta):
    def step(w, g, t, s):
        v, d = w.ravel(), w.size
        a, b = s.get("A", np.zeros((d, d))), s.get("b", np.zeros(d))
        r = g.ravel() - a @ v - b
        s["A"], s["b"] = a + alpha * np.outer(r, v), b + beta * r
        return w - lr * (s["A"] @ v + s["b"]).reshape(w.shape)
    return step


def ro_to(lr, alpha, beta):
    def step(w, g, t, s):
        v = w.ravel()
        if "a" not in s:  # from w = 0
            s["a"], s["b"], s["c"] = 0 * v, 0 * v, 0 * v
        elif not s["c"].any():  # the weights have moved
            s["c"] = v / np.linalg.norm(v)
        a, b, c = s["a"], s["b"], s["c"]
        r = g.ravel() - a * (c @ v) - b
        s["a"], s["c"], s["b"] = a + alpha * (c @ v) * r, c + alpha * (r @ a) * v, b + beta * r
        return w - lr * (s["a"] * (s["c"] @ v) + s["b"]).reshape(w.shape)
    return step


RUNS = [
    ("sgd", {"lr": 0.5}, sgd(0.5)),
    ("momentum", {"lr": 0.5, "momentum": 0.9}, momentum(0.5, 0.9)),
    ("adam", {"lr": 0.05}, adam(0.05)),
    ("diag-to", {"lr": 0.3, "alpha": 0.1, "beta": 0.5}, diag_to(0.3, 0.1, 0.5)),
    ("full-to", {"lr": 0.3, "alpha": 0.05, "beta": 0.5}, full_to(0.3, 0.05, 0.5)),
    ("ro-to", {"lr": 0.3, "alpha": 0.1, "beta": 0.5}, ro_to(0.3, 0.1, 0.5)),
]

runs = []
for name, options, step in RUNS:
    w, state, t = np.zeros((len(CLASSES), FEATURES + 1)), {}, 0
    losses = [full_loss(w)]
    for _ in range(EPOCHS):
        for begin in range(0, ROWS - BATCH + 1, BATCH):  # what does not fill a batch is left out
            t += 1
            w = step(w, gradient(w, np.arange(begin, begin + BATCH)), t, state)
        losses.append(full_loss(w))
    runs.append({"optimizer": name, "options": options, "losses": losses})

here = pathlib.Path(__file__).parent
with open(here / "softmax_fixture.libsvm", "w") as out:
    for row, label in zip(features, labels):
        cells = " ".join(f"{i + 1}:{value}" for i, value in enumerate(row) if value != 0)
        out.write(f"{CLASSES[label]} {cells}\n")
with open(here / "softmax_fixture.json", "w") as out:
    json.dump({"batch": BATCH, "epochs": EPOCHS, "lambda": LAMBDA, "runs": runs}, out, indent=1)
    out.write("\n")
