# SPDX-License-Identifier: MIT
"""TandemClassifier: against numpy written here, scikit-learn's own solver and its checks."""

from __future__ import annotations

import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="TandemClassifier needs scikit-learn")
sparse = pytest.importorskip("scipy.sparse", reason="scikit-learn needs scipy")

from sklearn.base import clone  # noqa: E402
from sklearn.datasets import load_breast_cancer, load_digits, load_iris  # noqa: E402
from sklearn.exceptions import ConvergenceWarning  # noqa: E402
from sklearn.linear_model import LogisticRegression  # noqa: E402
from sklearn.model_selection import GridSearchCV  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler, scale  # noqa: E402
from sklearn.utils.estimator_checks import parametrize_with_checks  # noqa: E402

from tandem.lab import TandemClassifier  # noqa: E402


@parametrize_with_checks([TandemClassifier(), TandemClassifier("adam-to")])
def test_scikit_learn_checks(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        check(estimator)


# ---- against numpy ------------------------------------------------------------------------------


def softmax(logits):
    e = np.exp(logits - logits.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def loss_and_gradient(W, X, y, lambda_):
    """F of weights with a row a class, and its gradient, in double precision."""
    p = softmax(X @ W.T)
    n = len(y)
    loss = -np.log(p[np.arange(n), y]).mean() + lambda_ / 2 * (W**2).sum()
    p[np.arange(n), y] -= 1
    return loss, p.T @ X / n + lambda_ * W


def descend(X, y, classes, lambda_, steps, rule):
    """Full-batch training from zero by `rule`, which keeps its state in a dict."""
    W = np.zeros((classes, X.shape[1]))
    state: dict = {}
    losses = []
    for t in range(1, steps + 1):
        loss, g = loss_and_gradient(W, X, y, lambda_)
        losses.append(loss)
        W = W - rule(W, g, t, state)
    losses.append(loss_and_gradient(W, X, y, lambda_)[0])
    return W, np.array(losses)


def gradient_descent(W, g, t, state):
    return 0.1 * g


def adam(W, g, t, state):
    m = state["m"] = 0.9 * state.get("m", 0) + 0.1 * g
    v = state["v"] = 0.999 * state.get("v", 0) + 0.001 * g**2
    return 0.01 * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)


def diagonal_to(W, g, t, state):
    a, b = state.get("a", np.zeros_like(W)), state.get("b", np.zeros_like(W))
    residual = g - (a * W + b)
    a = state["a"] = a + 0.05 * residual * W
    b = state["b"] = b + 0.5 * residual
    return 0.1 * (a * W + b)


@pytest.mark.parametrize(
    ("rule", "parameters"),
    [
        (gradient_descent, {"optimizer": "sgd", "lr": 0.1}),
        (adam, {"optimizer": "adam", "lr": 0.01}),
        (diagonal_to, {"optimizer": "diag-to", "lr": 0.1, "alpha": 0.05, "beta": 0.5}),
        (gradient_descent, {"optimizer": "saga", "lr": 0.1}),  # all samples: the gradient itself
    ],
)
def test_steps_are_those_of_the_rule(rule, parameters):
    X, y = load_iris(return_X_y=True)
    X = scale(X)
    model = TandemClassifier(
        **parameters, C=2.0, fit_intercept=False, batch_size=len(y), max_iter=25, tol=0
    ).fit(X, y)
    W, losses = descend(X, y, 3, 1 / (2.0 * len(y)), 25, rule)
    np.testing.assert_allclose(model.coef_, W, atol=2e-5)
    np.testing.assert_allclose(model.loss_curve_, losses, rtol=1e-5)
    np.testing.assert_allclose(model.predict_proba(X), softmax(X @ W.T), atol=1e-5)


def test_two_classes_are_the_binary_problem():
    X, y = load_breast_cancer(return_X_y=True)
    X = scale(X)
    model = TandemClassifier(
        "sgd", lr=0.05, C=3.0, batch_size=len(y), max_iter=10, tol=0, fit_intercept=False
    ).fit(X, y)
    assert model.coef_.shape == (1, 30) and model.intercept_.shape == (1,)
    w = model.coef_[0]
    sign = 2 * y - 1
    binary = np.log1p(np.exp(-sign * (X @ w))).mean() + (w @ w) / (2 * 3.0 * len(y))
    assert model.loss_curve_[-1] == pytest.approx(binary, rel=1e-5)
    p = 1 / (1 + np.exp(-(X @ w)))
    np.testing.assert_allclose(model.predict_proba(X), np.column_stack([1 - p, p]), atol=1e-12)


@pytest.mark.parametrize("C", [0.01, 1.0])
@pytest.mark.parametrize("data", [load_iris, load_breast_cancer, load_digits])
def test_the_optimum_is_that_of_logistic_regression(data, C):
    X, y = data(return_X_y=True)
    X = np.column_stack([scale(X), np.ones(len(y))])
    if data is load_digits:
        X, y = np.column_stack([load_digits().data[:500] / 16, np.ones(500)]), y[:500]
    theirs = LogisticRegression(C=C, fit_intercept=False, tol=1e-8, max_iter=5000).fit(X, y)
    ours = TandemClassifier(
        C=C, fit_intercept=False, tol=0, max_iter=40 if C < 1 else 150, random_state=0
    ).fit(X, y)

    def objective(model):
        p = np.clip(model.predict_proba(X), 1e-300, 1)
        index = np.searchsorted(model.classes_, y)
        penalty = (model.coef_**2).sum() / (2 * C * len(y))
        return -np.log(p[np.arange(len(y)), index]).mean() + penalty

    assert objective(ours) == pytest.approx(objective(theirs), rel=1e-6 if C < 1 else 2e-3)
    assert objective(ours) == pytest.approx(ours.loss_curve_[-1], rel=1e-5)
    assert (ours.predict(X) == theirs.predict(X)).mean() > 0.98


# ---- inputs -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:500] / 16, y[:500]


def weights(X, y, **parameters):
    model = TandemClassifier(max_iter=5, tol=0, random_state=0, **parameters).fit(X, y)
    return np.column_stack([model.coef_, model.intercept_])


def test_sparse_is_dense(digits):
    X, y = digits
    np.testing.assert_allclose(weights(sparse.csr_matrix(X), y), weights(X, y), atol=1e-5)


def test_layouts_and_types_give_the_same_bits(digits):
    X, y = digits
    X = X.astype(np.float32)
    expected = weights(X, y)
    wide = np.zeros((len(y), 2 * X.shape[1]), dtype=np.float32)
    wide[:, ::2] = X
    shuffled = sparse.csr_matrix(X.astype(np.float64))
    shuffled.indices = shuffled.indices.astype(np.int64)
    shuffled.indptr = shuffled.indptr.astype(np.int64)
    for same in (X.astype(np.float64), np.asfortranarray(X), X.astype(">f8"), wide[:, ::2]):
        np.testing.assert_array_equal(weights(same, y), expected)
    np.testing.assert_array_equal(
        weights(shuffled, y), weights(sparse.csr_matrix(X), y)
    )


def test_threads_do_not_matter(digits):
    X, y = digits
    for optimizer in ("saga", "ro-to"):
        one = weights(X, y, optimizer=optimizer, n_threads=1, lr=0.01)
        np.testing.assert_array_equal(one, weights(X, y, optimizer=optimizer, n_threads=3, lr=0.01))


def test_unscaled_data_do_no_harm():
    X, y = load_breast_cancer(return_X_y=True)  # features from 0.01 to 4000
    for optimizer in ("saga", "adam", "diag-to", "adam-to"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = TandemClassifier(optimizer, random_state=0, max_iter=50).fit(X, y)
        assert model.score(X, y) > 0.85, optimizer


def test_random_state_decides(digits):
    X, y = digits
    np.testing.assert_array_equal(weights(X, y), weights(X, y))
    other = TandemClassifier(max_iter=5, tol=0, random_state=1).fit(X, y)
    assert (other.coef_ != weights(X, y)[:, :-1]).any()


def test_tol_stops_and_the_lack_of_it_warns(digits):
    X, y = digits
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        model = TandemClassifier(C=0.01, tol=1e-4, random_state=0).fit(X, y)
    assert 2 <= model.n_iter_ < 200 and len(model.loss_curve_) == model.n_iter_ + 1
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        TandemClassifier(max_iter=2, random_state=0).fit(X, y)


def test_an_intercept_is_a_penalised_column(digits):
    X, y = digits
    own = TandemClassifier(max_iter=5, tol=0, random_state=0, intercept_scaling=2.0).fit(X, y)
    column = np.column_stack([X, np.full(len(y), 2.0)])
    given = TandemClassifier(max_iter=5, tol=0, random_state=0, fit_intercept=False).fit(column, y)
    np.testing.assert_array_equal(own.coef_, given.coef_[:, :-1])
    np.testing.assert_allclose(own.decision_function(X), given.decision_function(column))
    assert not given.intercept_.any()


# ---- in scikit-learn's company ------------------------------------------------------------------


def test_pickle_clone_pipeline_and_search(digits):
    X, y = digits
    model = TandemClassifier("adam", options={"beta2": 0.99}, max_iter=3, tol=0, random_state=0)
    again = pickle.loads(pickle.dumps(model.fit(X, y)))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert clone(model).get_params() == model.get_params()
    assert not hasattr(clone(model), "coef_")
    search = GridSearchCV(
        make_pipeline(StandardScaler(), TandemClassifier(tol=0, max_iter=3, random_state=0)),
        {"tandemclassifier__C": [1e-6, 1.0]},
        cv=2,
    ).fit(X, y)
    assert search.best_params_ == {"tandemclassifier__C": 1.0}


def test_names_of_features_and_texts_as_classes():
    pandas = pytest.importorskip("pandas")
    X, y = load_iris(return_X_y=True, as_frame=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model = TandemClassifier(tol=0, max_iter=20, random_state=0).fit(X, names)
    assert list(model.feature_names_in_) == list(X.columns)
    assert list(model.classes_) == ["setosa", "versicolor", "virginica"]
    assert model.score(X, names) > 0.9
    with pytest.warns(UserWarning, match="feature names"):
        model.predict(pandas.DataFrame(X).to_numpy())


# ---- bad input ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"optimizer": "sage"}, ValueError, "did you mean 'saga'"),
        ({"optimizer": 3}, TypeError, "optimizer"),
        ({"lr": -1.0}, ValueError, "lr"),
        ({"lr": float("nan")}, ValueError, "lr must be finite"),
        ({"lr": [0.1]}, TypeError, "lr must be a number"),
        ({"options": {"momentun": 0.9}}, ValueError, "momentun"),
        ({"options": [1]}, TypeError, "options must be a dict"),
        ({"alpha": 0.1}, ValueError, "alpha"),  # saga has none
        ({"C": 0}, ValueError, "C == 0"),
        ({"C": -1}, ValueError, "C == -1"),
        ({"C": "1"}, TypeError, "C must be"),
        ({"max_iter": 0}, ValueError, "max_iter == 0"),
        ({"max_iter": 2.5}, TypeError, "max_iter"),
        ({"tol": -1e-3}, ValueError, "tol"),
        ({"batch_size": 0}, ValueError, "batch_size"),
        ({"batch_size": "all"}, ValueError, "batch_size"),
        ({"init": "ones"}, ValueError, "init must be one of"),
        ({"n_threads": 0}, ValueError, "n_threads"),
        ({"n_threads": 100000}, ValueError, "number of threads"),
        ({"intercept_scaling": 0}, ValueError, "intercept_scaling"),
    ],
)
def test_bad_parameters(parameters, error, message):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(error, match=message):
        TandemClassifier(**parameters).fit(X, y)


def test_bad_data():
    X, y = load_iris(return_X_y=True)
    fit = TandemClassifier(max_iter=1, tol=0).fit
    holes = X.copy()
    holes[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        fit(holes, y)
    with pytest.raises(ValueError, match="too large for dtype.*float32"):
        fit(np.where(X > 5, 1e300, X), y)
    with pytest.raises(ValueError, match="too large for dtype.*float32"):
        fit(sparse.csr_matrix(np.where(X > 5, 1e300, X)), y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        fit(X, y[:-1])
    with pytest.raises(ValueError, match="one class"):
        fit(X, np.zeros_like(y))
    with pytest.raises(ValueError, match="Complex data not supported"):
        fit(X + 1j, y)
    with pytest.raises(ValueError, match="Unknown label type"):
        fit(X, y + 0.5)
    with pytest.raises(ValueError, match="could not convert string to float"):
        fit(np.full(X.shape, "a", dtype=object), y)
    with pytest.raises(ValueError, match="Expected 2D array"):
        fit(X[:, 0], y)
    with pytest.raises(ValueError, match="0 sample"):
        fit(X[:0], y[:0])


def test_divergence_is_an_error():
    X, y = load_breast_cancer(return_X_y=True)
    with pytest.raises(ValueError, match="diverged in epoch .* lr=1000000"):
        TandemClassifier("sgd", lr=1e6, C=1e-3).fit(X, y)


TOO_MANY_THREADS = """
import resource
import numpy as np
from tandem.lab import TandemClassifier, compare

X, y = np.random.default_rng(1).normal(size=(200, 5)), np.arange(200) % 2
TandemClassifier(n_threads=2, max_iter=1).fit(X, y)
in_use = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (in_use + (1 << 30), resource.RLIM_INFINITY))
few, many = (TandemClassifier(n_threads=n, max_iter=2, random_state=1).fit(X, y) for n in (1, 2000))
np.testing.assert_array_equal(few.coef_, many.coef_)
compare(X, y, optimizers=["sgd"], epochs=1, n_threads=2000)
print("done")
"""


def test_threads_that_cannot_be_started_are_done_without():
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", TOO_MANY_THREADS],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout == "done\n"
