# SPDX-License-Identifier: MIT
"""Tandem in scikit-learn's manner: a classifier, and a comparison of optimizers with statistics.

    python examples/classifier.py --out curves.png
"""

from __future__ import annotations

import argparse
import time
import warnings

from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from tandem import lab


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", default="curves.png", help="where the figure goes")
    parser.add_argument("--epochs", type=int, default=20, help="of the comparison")
    arguments = parser.parse_args()

    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)

    # 1. Any optimizer of the library where scikit-learn expects a classifier.
    models = {
        "LogisticRegression": LogisticRegression(max_iter=1000),
        "saga": lab.TandemClassifier("saga", random_state=0),
        "diag-to": lab.TandemClassifier("diag-to", random_state=0),
        "adam-to": lab.TandemClassifier("adam-to", random_state=0),
    }
    print(f"{'model':20}{'training loss':>15}{'test accuracy':>15}{'epochs':>8}{'seconds':>9}")
    for name, model in models.items():
        pipeline = make_pipeline(MinMaxScaler(), model)
        began = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the table says how far they came
            pipeline.fit(X_train, y_train)
        seconds = time.perf_counter() - began
        loss = log_loss(y_train, pipeline.predict_proba(X_train))
        accuracy = pipeline.score(X_test, y_test)
        epochs = int(max(model.n_iter_)) if name == "LogisticRegression" else model.n_iter_
        print(f"{name:20}{loss:15.5f}{accuracy:15.4f}{epochs:8d}{seconds:9.2f}")

    # 2. Which optimizer is better, and by how much? Each is tuned on one seed and measured on five.
    study = lab.compare(
        MinMaxScaler().fit_transform(X_train),
        y_train,
        ["adam", "momentum", "saga", "diag-to", "adam-to"],
        epochs=arguments.epochs,
        lambda_=1e-3,
        init="zeros",
        validation=0.2,
        verbose=True,
    )
    print(f"\n{study}")
    study.plot(arguments.out)
    print(f"\nCurves: {arguments.out}")


if __name__ == "__main__":
    main()
