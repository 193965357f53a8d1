# SPDX-License-Identifier: MIT
"""compare(): against numpy, over threads, sparse data, a kill and a resume; and what it refuses."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from tandem import lab


def data(rows=150, classes=2, seed=5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 6))
    return X, (X @ rng.normal(size=(6, classes))).argmax(axis=1)


GRIDS = [
    ("adam", {"lr": [0.01, 0.1]}),
    ("diag-to", {"lr": [0.1, 1.0], "alpha": [0, 0.01]}),
    ("saga", {"lr": [0.03, 0.3]}),
]
SMALL = {"epochs": 3, "seeds": 3, "batch": 16, "lambda_": 0.01}


def losses(study):
    return [
        run.points["train_loss"].tolist()
        for task in study.tasks
        for each in task.optimizers
        for run in (*each.tuned, *each.measured)
    ]


def test_losses_are_those_of_numpy():
    """Full-batch gradient descent from zero, written here."""
    X, y = data(classes=3)
    study = lab.compare(
        X, y, [("sgd", {"lr": [0.1, 0.5]})], epochs=6, seeds=1, batch=150, lambda_=0.1, init="zeros"
    )
    ones = np.column_stack([X, np.ones(len(y))])
    for run, rate in zip(study.tasks[0].optimizers[0].tuned, (0.1, 0.5)):
        assert run.options["lr"] == str(rate)
        W = np.zeros((3, 7))
        for expected in run.points["train_loss"]:
            p = np.exp(ones @ W.T)
            p /= p.sum(axis=1, keepdims=True)
            loss = -np.log(p[np.arange(len(y)), y]).mean() + 0.05 * (W**2).sum()
            assert expected == pytest.approx(loss, rel=1e-5)
            p[np.arange(len(y)), y] -= 1
            W -= rate * (p.T @ ones / len(y) + 0.1 * W)


def test_a_softmax_taken_twice_and_losses_without_lambda(tmp_path):
    """Against numpy: the other loss, its two parts, and a report of one of them."""
    X, y = data(classes=3)
    path = tmp_path / "runs.db"
    lab.compare(
        X,
        y,
        [("sgd", {"lr": [0.1, 2.0]})],
        epochs=4,
        seeds=1,
        batch=150,
        lambda_=0.1,
        init="zeros",
        loss="double-softmax",
        optimum=False,
        store=path,
    )
    store = lab.open_store(path)
    total, without = store.study(), store.study(report_loss="data")
    ones = np.column_stack([X, np.ones(len(y))])

    def softmax(z):
        e = np.exp(z - z.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    for run, other, rate in zip(
        total.tasks[0].optimizers[0].tuned, without.tasks[0].optimizers[0].tuned, (0.1, 2.0)
    ):
        W = np.zeros((3, 7))
        for at in range(5):
            p = softmax(ones @ W.T)
            q = softmax(p)
            loss = -np.log(q[np.arange(len(y)), y]).mean()
            assert run.points["data_loss"][at] == pytest.approx(loss, rel=1e-5)
            assert other.points["train_loss"][at] == run.points["data_loss"][at]
            assert run.points["squared_norm"][at] == pytest.approx((W**2).sum(), rel=1e-4)
            assert run.points["train_loss"][at] == pytest.approx(
                loss + 0.05 * (W**2).sum(), rel=1e-5
            )
            q[np.arange(len(y)), y] -= 1
            slopes = p * (q - (p * q).sum(axis=1, keepdims=True))
            W -= rate * (slopes.T @ ones / len(y) + 0.1 * W)
    with pytest.raises(ValueError, match="report_loss"):
        store.study(report_loss="date")
    with pytest.raises(ValueError, match="loss"):
        lab.compare(X, y, ["sgd"], loss="hinge")


def test_validation_is_measured():
    X, y = data(classes=3)
    study = lab.compare(
        X[:100], y[:100], [("sgd", {"lr": 0.5})], epochs=2, seeds=1, batch=100, init="zeros",
        validation=(X[100:], y[100:]),
    )  # fmt: skip
    (points,) = study.curves["sgd"].values()
    assert points["validation_loss"][0] == pytest.approx(np.log(3), rel=1e-5)
    assert points["validation_loss"][2] < points["validation_loss"][0]
    assert 0.5 < points["validation_accuracy"][2] <= 1
    part = lab.compare(X, y, [("sgd", {"lr": 0.5})], epochs=1, seeds=1, validation=0.2)
    assert part.tasks[0].samples == 120
    assert np.isfinite(part.curves["sgd"][1]["validation_loss"]).all()


def test_threads_do_not_matter():
    one = lab.compare(*data(), GRIDS, n_threads=1, **SMALL)
    three = lab.compare(*data(), GRIDS, n_threads=3, **SMALL)
    assert losses(one) == losses(three)
    assert [row.rho for row in one.rows] == [row.rho for row in three.rows]


def test_sparse_is_dense():
    sparse = pytest.importorskip("scipy.sparse")
    X, y = data()
    X[X < 0.3] = 0
    dense = lab.compare(X, y, GRIDS, **SMALL)
    for form in (sparse.csr_matrix, sparse.coo_matrix):
        np.testing.assert_allclose(
            losses(lab.compare(form(X), y, GRIDS, **SMALL)), losses(dense), rtol=1e-5
        )


def test_default_grids_contain_what_works():
    X, y = data(rows=300, classes=3)
    names = ["sgd", "momentum", "saga", "svrg", "adam", "lion", "diag-to", "ro-to", "adam-to"]
    for factor in (1, 1e3):  # whatever the scale of the features
        study = lab.compare(X * factor, y, names, epochs=5, seeds=1, init="zeros", batch=16)
        for row in study.rows:
            assert row.mean_min_loss < 0.5, row  # log(3) is 1.1
            assert row.members > row.diverged


def test_forms_of_optimizers_and_the_baseline():
    X, y = data()
    study = lab.compare(
        X, y,
        [
            {"name": "adam", "label": "slow", "lr": np.float32(0.5) ** 10},
            {"name": "adam", "label": "fast", "lr": np.array([0.01, 0.1])},
            ("adamw", {"weight_decay": 0, "correct_first": False, "lr": "0.1*0.9^epoch"}),
        ],
        baseline="fast", decay=[1, 0.9], **SMALL,
    )  # fmt: skip
    assert [row.baseline for row in study.rows] == [False, True, False]
    assert [row.members for row in study.rows] == [2, 4, 2]
    assert study.rows[0].options["lr"] == "0.0009765625"
    assert study.rows[2].options["lr"] == "0.1*0.9^epoch"


def test_numbers_are_written_as_in_study_files():
    study = lab.compare(*data(), [("sgd", {"lr": [1.0, 1e-5, np.float64(0.1), 2]})], **SMALL)
    assert study.tasks[0].optimizers[0].grid == {"lr": ["1", "1e-05", "0.1", "2"]}


def test_each_lambda_is_a_task():
    study = lab.compare(*data(), [("adam", {"lr": 0.1})], **{**SMALL, "lambda_": [0.1, 0.01]})
    assert [task.lambda_ for task in study.tasks] == [0.1, 0.01]
    with pytest.raises(ValueError, match="2 tasks"):
        study.curves
    assert len(study.tasks[1].curves["adam"]) == 3
    assert str(study).count("least loss") == 2


def test_a_net_and_texts_as_labels():
    X, y = data()
    study = lab.compare(
        X, np.array(["no", "yes"])[y], [("adam", {"lr": 0.05})], model="ffn:8", epochs=10, seeds=1
    )
    assert study.tasks[0].model == "ffn:8"
    assert study.rows[0].mean_min_loss < study.curves["adam"][1]["train_loss"][0]


def test_the_table_and_the_plot(tmp_path):
    study = lab.compare(*data(), GRIDS, **SMALL)
    text = str(study)
    for part in ("adam (baseline)", "diag-to", "saga", "rho x 1e3", "gap to F*", "lr="):
        assert part in text
    pytest.importorskip("matplotlib")
    figure = study.plot(tmp_path / "curves.png", x="gradient_evaluations")
    assert (tmp_path / "curves.png").stat().st_size > 5000
    assert len(figure.axes[0].lines) == 3
    with pytest.raises(ValueError, match="Unknown figure 'loss'"):
        study.plot(y="loss")


def test_nothing_is_left_behind(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    lab.compare(*data(), [("adam", {"lr": 0.1})], **SMALL)
    assert list(tmp_path.iterdir()) == []


# ---- progress, threads, Ctrl-C ------------------------------------------------------------------


def test_progress_is_told_and_may_stop(tmp_path, capfd):
    X, y = data(rows=2000)
    told = []
    more = {"epochs": 150, "seeds": 2, "batch": 2, "store": tmp_path / "p.db"}
    grids = [("adam", {"lr": [0.01, 0.02, 0.05, 0.1]}), ("sgd", {"lr": 0.1})]

    def stop(progress):
        told.append(progress)
        if len(told) == 3:
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        lab.compare(X, y, grids, progress=stop, **more)
    assert len(told) == 3 and told[0].part < told[2].part < 1
    assert "adam" in told[0].doing and told[0].alive == 4
    assert not lab.open_store(tmp_path / "p.db").study().complete
    assert lab.compare(X, y, grids, **more).complete
    assert capfd.readouterr().err == ""  # nothing without verbose


LONG = """
import sys
import numpy as np
from tandem import lab
rng = np.random.default_rng(0)
X = rng.normal(size=(4000, 20))
y = (X[:, 0] > 0).astype(int)
def started(progress):
    if progress.units_done >= int(sys.argv[2]):
        print("running", flush=True)
try:
    study = lab.compare(
        X, y, [("adam", {"lr": [0.01, 0.1]}), ("sgd", {"lr": 0.1})], epochs=int(sys.argv[3]),
        seeds=2, batch=2, store=sys.argv[1], progress=started,
    )
    print(repr([row.min_loss for row in study.rows]))
except KeyboardInterrupt:
    print("interrupted", flush=True)
    sys.exit(130)
"""


def start(path, units, epochs):
    command = [sys.executable, "-c", LONG, str(path), str(units), str(epochs)]
    # Whoever starts the tests in the background has SIGINT ignored, which children inherit.
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def wait_until_running(process):
    line = process.stdout.readline()
    assert line == "running\n"


def test_ctrl_c_stops_at_once(tmp_path):
    process = start(tmp_path / "c.db", 0, 100_000)
    wait_until_running(process)
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=20)
    assert time.monotonic() - began < 5
    assert process.returncode == 130 and out.endswith("interrupted\n")


def test_killed_it_goes_on_to_the_same_result(tmp_path):
    process = start(tmp_path / "k.db", 1, 15)
    wait_until_running(process)
    process.kill()
    process.communicate()
    (info,) = lab.open_store(tmp_path / "k.db").studies
    assert 0 < info.units_done
    kept = lab.open_store(tmp_path / "k.db").study()
    resumed, _ = start(tmp_path / "k.db", 1000, 15).communicate(timeout=60)
    fresh, _ = start(tmp_path / "f.db", 1000, 15).communicate(timeout=60)
    assert resumed == fresh and "[" in fresh
    whole = lab.open_store(tmp_path / "k.db").study()
    # What was whole before was not trained again: its seconds are the same too.
    first = kept.tasks[0].optimizers[0].tuned[0].points["seconds"]
    assert (first == whole.tasks[0].optimizers[0].tuned[0].points["seconds"]).all()


# ---- what it refuses ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"optimizers": ["adma"]}, ValueError, "Unknown optimizer 'adma', did you mean 'adam'"),
        ({"optimizers": []}, ValueError, "optimizers is empty"),
        ({"optimizers": [3]}, TypeError, "must be a name"),
        ({"optimizers": ["adam", "adam"]}, ValueError, "twice"),
        ({"optimizers": [{"lr": 0.1}]}, ValueError, "'name'"),
        ({"optimizers": [("adam", {"rate": 0.1})]}, ValueError, "rate"),
        ({"optimizers": [("adam", {"lr": -0.1})]}, ValueError, "lr"),
        ({"optimizers": [("adam", {"lr": []})]}, ValueError, "empty list"),
        ({"optimizers": [("adam", {"lr": [0.1, 0.1]})]}, ValueError, "twice"),
        ({"optimizers": [("adam", {"lr": None})]}, TypeError, "lr must be a number"),
        ({"optimizers": [("adam", {"lr": float("inf")})]}, ValueError, "finite"),
        ({"baseline": "sgd"}, ValueError, "baseline must be one of"),
        ({"epochs": 0}, ValueError, "epochs == 0"),
        ({"epochs": 1.5}, TypeError, "epochs must be"),
        ({"seeds": [0, 1]}, ValueError, "tuning seed"),
        ({"seeds": [1, 1]}, ValueError, "twice"),
        ({"seeds": -1}, ValueError, "seeds"),
        ({"batch": 1000}, ValueError, "batch"),
        ({"lambda_": -1}, ValueError, "lambda_"),
        ({"lambda_": "1"}, TypeError, "lambda_"),
        ({"model": "logistik"}, ValueError, "did you mean 'logistic'"),
        ({"model": "ffn:0"}, ValueError, "ffn"),
        ({"init": "ones"}, ValueError, "init must be one of"),
        ({"validation": 1.0}, ValueError, "empty"),
        ({"validation": "all"}, TypeError, "validation"),
        ({"validation": (1, 2, 3)}, ValueError, "validation"),
        ({"prune": 1}, ValueError, "prune"),
        ({"n_threads": 0}, ValueError, "n_threads"),
        ({"memory": 10}, ValueError, "memory"),
        ({"name": ""}, TypeError, "name"),
        ({"store": 3}, TypeError, "int"),
    ],
)
def test_bad_arguments(arguments, error, message):
    X, y = data()
    with pytest.raises(error, match=message):
        lab.compare(X, y, **{"optimizers": ["adam"], **arguments})


def test_bad_data(tmp_path):
    X, y = data()

    def refuse(message, X, y, error=ValueError, **more):
        with pytest.raises(error, match=message):
            lab.compare(X, y, ["adam"], **more)

    refuse("Expected 2D array, got 1D array", X[:, 0], y)
    refuse("inconsistent numbers of samples: .150, 149.", X, y[1:])
    refuse("0 sample", X[:0], y[:0])
    refuse("0 feature", X[:, :0], y)
    refuse("Input X contains NaN", np.where(X > 2, np.nan, X), y)
    refuse("infinity or a value too large", np.where(X > 2, np.inf, X), y)
    refuse("infinity or a value too large", X * 1e300, y)
    refuse("Complex data not supported", X + 1j, y)
    refuse("could not convert string", np.full(X.shape, "a", dtype=object), y)
    refuse("cannot be converted", np.full(X.shape, "a"), y)
    refuse("only one class", X, np.zeros(len(y)))
    refuse("Unknown label type: 'continuous'", X, X[:, 0])
    refuse("NaN", X, np.where(y == 1, np.nan, 0.0))
    refuse("1d array", X, np.column_stack([y, y]))
    refuse("Unknown label type", X, np.array([None] * len(y)))
    refuse("features", X, y, validation=(X[:, 1:], y))
    refuse("unseen labels: .7.", X, y, validation=(X, y + 7 * (y == 1) - (y == 1)))
    refuse("inconsistent", X, y, validation=(X, y[1:]))
    refuse("", X, y, error=(lab.StoreError, OSError), store=tmp_path / "no" / "folder" / "x.db")


def test_hostile_sparse_matrices_are_refused():
    sparse = pytest.importorskip("scipy.sparse")
    _, y = data()
    good = sparse.random(150, 6, 0.5, format="csr", random_state=1)

    def broken(change):
        X = good.copy()
        change(X)
        X.has_canonical_format = True  # as if scipy had looked
        with pytest.raises(ValueError, match="Invalid CSR matrix"):
            lab.compare(X, y, ["adam"])

    broken(lambda X: X.indices.__setitem__(0, 6))
    broken(lambda X: X.indices.__setitem__(0, -1))
    broken(lambda X: X.indptr.__setitem__(1, 10**6))
    broken(lambda X: X.indptr.__setitem__(-1, 10**6))
    broken(lambda X: X.indptr.__setitem__(-1, -5))
    broken(lambda X: X.indptr.__setitem__(5, 0))
    wide = sparse.csr_matrix((150, 2**33))
    with pytest.raises(ValueError, match="at most 4294967294 rows and columns"):
        lab.compare(wide, y, ["adam"])
    twice = sparse.csr_matrix((np.ones(4), [1, 0, 1, 1], [0, 4]), shape=(1, 3))
    same = lab._arrays.features(twice)
    assert same.indices.tolist() == [0, 1] and same.data.tolist() == [1.0, 3.0]
    assert twice.nnz == 4  # the user's matrix is as it was
