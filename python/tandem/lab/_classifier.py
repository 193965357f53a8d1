# SPDX-License-Identifier: MIT
"""Softmax regression in scikit-learn's manner, trained by any optimizer of the library."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from tandem.lab import _arrays, _lab, _rates
from tandem.lab._progress import Reporter
from tandem.lab._values import choice, count, number, text, threads

try:  # scikit-learn 1.6 made a function of the method
    from sklearn.utils.validation import validate_data as _validate_data
except ImportError:

    def _validate_data(estimator: Any, *args: Any, **kwargs: Any) -> Any:
        return estimator._validate_data(*args, **kwargs)


class TandemClassifier(ClassifierMixin, BaseEstimator):
    """Logistic regression (softmax for more than two classes) by stochastic optimizers.

    Minimises what ``LogisticRegression`` does with the same `C`, divided by ``C * n_samples``::

        F(w) = mean cross entropy + 1 / (2 C n_samples) |w|^2

    with one difference: the intercept is penalised too, as liblinear does it, which a larger
    `intercept_scaling` makes weaker. Weights are float32 while they are trained.

    Parameters
    ----------
    optimizer : str
        ``"saga"`` (the default: it reaches the optimum with a constant rate and needs no tuning), a
        rule such as ``"adam"`` or ``"diag-to"``, or ``SOURCE+RULE`` such as ``"svrg+diag-to"``.
    lr : float or str, optional
        The rate, or a schedule (``"0.1*0.95^epoch"``). None is 1 / L, where L bounds the curvature
        of a batch's loss, which for batches of one is about what scikit-learn's SAGA takes; for
        rules that scale their steps (Adam and its relatives) 0.1 / (mean of sum |x_i|), which moves
        a logit by about 0.1 a step at most.
    alpha, beta : float or str, optional
        Rates of the trainable optimizers; None is their default.
    options : dict, optional
        Other options of the optimizer.
    C : float
        Inverse strength of the penalty, as in ``LogisticRegression``; ``inf`` is no penalty.
    fit_intercept : bool
        Whether there is an intercept: a column of the constant `intercept_scaling`.
    intercept_scaling : float
        That constant.
    max_iter : int
        Most epochs.
    tol : float
        Stops when the loss F changes by no more than this part of itself in two epochs in a row.
    batch_size : int or "auto"
        Samples a step; "auto" is 8, or fewer so that an epoch has 50 steps.
    init : {"zeros", "normal"}
        Where training starts: 0, or N(0, 1).
    random_state : int, RandomState or None
        Draws the order of samples, and a normal start.
    n_threads : int, optional
        As many as there are, or one for little work, if not given. Results do not depend on it.
    verbose : bool
        Tells on stderr how far it is.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    coef_ : array of shape (1, n_features) or (n_classes, n_features)
    intercept_ : array of shape (1,) or (n_classes,)
    n_iter_ : int
        Epochs.
    loss_curve_ : array of shape (n_iter_ + 1,)
        F at the start and after each epoch.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from tandem.lab import TandemClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> bool(TandemClassifier(random_state=0).fit(scale(X), y).score(scale(X), y) > 0.97)
    True
    """

    def __init__(
        self,
        optimizer: str = "saga",
        *,
        lr: float | str | None = None,
        alpha: float | str | None = None,
        beta: float | str | None = None,
        options: Mapping[str, Any] | None = None,
        C: float = 1.0,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        max_iter: int = 200,
        tol: float = 1e-5,
        batch_size: int | str = "auto",
        init: str = "zeros",
        random_state: Any = None,
        n_threads: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.optimizer = optimizer
        self.lr = lr
        self.alpha = alpha
        self.beta = beta
        self.options = options
        self.C = C
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.max_iter = max_iter
        self.tol = tol
        self.batch_size = batch_size
        self.init = init
        self.random_state = random_state
        self.n_threads = n_threads
        self.verbose = verbose

    def fit(self, X: Any, y: Any) -> TandemClassifier:
        """Trains on samples X (dense or CSR) with labels y."""
        X, y = _validate_data(
            self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], y_numeric=False
        )
        check_classification_targets(y)
        self._check_parameters()
        bias = float(self.intercept_scaling) if self.fit_intercept else 0.0
        task, self.classes_ = _arrays.task("X", X, y, bias, None)
        # Two classes are two rows of weights, w and -w, with w half of coef_. Twice lambda makes
        # their penalty that of coef_, so that C means the same as for more classes.
        rows = 2 if task.classes == 2 else 1
        lambda_ = rows / (self.C * task.rows) if math.isfinite(self.C) else 0.0
        batch = self._batch(task.rows)
        options = self._options(task, batch, lambda_)
        reporter = Reporter(bool(self.verbose))

        def tell(epochs: float, loss: float) -> None:
            text = f"epoch {int(epochs) + 1} of {self.max_iter}, loss {loss:.6g}"
            reporter.show(epochs / self.max_iter, text)

        try:
            result = _lab.fit(
                task=task,
                method=self.optimizer,
                options=options,
                lambda_=lambda_,
                batch=batch,
                epochs=int(self.max_iter),
                seed=int(check_random_state(self.random_state).randint(2**31 - 1)),
                zeros=self.init == "zeros",
                tolerance=float(self.tol),
                threads=threads(self.n_threads, task.rows * task.features * task.classes),
                progress=tell if self.verbose else None,
            )
        finally:
            reporter.finish()
        self._take(result, bias, options)
        return self

    def _check_parameters(self) -> None:
        if not isinstance(self.optimizer, str):
            raise TypeError(f"optimizer must be a name, got {self.optimizer!r}")
        _lab.parse_method(self.optimizer)
        if number(self.C, "C", finite=False) == 0:
            raise ValueError("C == 0, must be > 0.")
        number(self.tol, "tol")
        count(self.max_iter, "max_iter", 1)
        if self.fit_intercept and number(self.intercept_scaling, "intercept_scaling") == 0:
            raise ValueError("intercept_scaling == 0, must be > 0.")
        choice(self.init, "init", ("zeros", "normal"))
        if self.options is not None and not isinstance(self.options, Mapping):
            raise TypeError(f"options must be a dict, not {type(self.options).__name__}.")

    def _batch(self, rows: int) -> int:
        if isinstance(self.batch_size, str):
            choice(self.batch_size, "batch_size", ("auto",))
            return min(8, max(1, rows // 50))
        return min(rows, count(self.batch_size, "batch_size", 1))

    def _options(self, task: _lab.Task, batch: int, lambda_: float) -> dict[str, str]:
        options = {str(n): text(value, str(n)) for n, value in (self.options or {}).items()}
        given = {"lr": self.lr, "alpha": self.alpha, "beta": self.beta}
        options.update({n: text(value, n) for n, value in given.items() if value is not None})
        if "lr" not in options:
            rate = _rates.default_lr(self.optimizer, task, batch, lambda_)
            options["lr"] = text(rate, "lr")
        return options

    def _take(self, result: dict[str, Any], bias: float, options: dict[str, str]) -> None:
        losses = result["losses"]
        if result["diverged"] or not np.isfinite(losses).all():
            raise ValueError(
                f"{self.optimizer} diverged in epoch {len(losses)} with lr={options['lr']}. A "
                "lower lr, or scaling the input with StandardScaler or MinMaxScaler, might help."
            )
        weights = result["weights"].astype(np.float64)
        if len(weights) == 2:
            weights = weights[1:] - weights[:1]
        if bias:
            self.coef_ = np.ascontiguousarray(weights[:, :-1])
            self.intercept_ = weights[:, -1] * bias
        else:
            self.coef_ = weights
            self.intercept_ = np.zeros(len(weights))
        self.loss_curve_ = losses
        self.n_iter_ = len(losses) - 1
        if not result["converged"] and self.tol > 0:
            warnings.warn(
                "The max_iter was reached which means the coef_ did not converge: raise max_iter, "
                "scale the data, or raise tol.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def decision_function(self, X: Any) -> Any:
        """Logits: of the second class where there are two, else a column a class."""
        check_is_fitted(self)
        X = _validate_data(self, X, accept_sparse="csr", reset=False)
        scores = np.asarray(X @ self.coef_.T) + self.intercept_
        return scores.ravel() if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> Any:
        """The most probable class of each sample."""
        scores = self.decision_function(X)
        index = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[index]

    def predict_proba(self, X: Any) -> Any:
        """The probability of each class, in the order of ``classes_``."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            scores = np.column_stack([np.zeros_like(scores), scores])
        scores = scores - scores.max(axis=1, keepdims=True)
        np.exp(scores, out=scores)
        return scores / scores.sum(axis=1, keepdims=True)

    def predict_log_proba(self, X: Any) -> Any:
        """The logarithm of :meth:`predict_proba`."""
        return np.log(self.predict_proba(X))

    def __sklearn_tags__(self) -> Any:  # scikit-learn 1.6 and later
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
