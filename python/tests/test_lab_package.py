# SPDX-License-Identifier: MIT
"""What tandem.lab imports, the GIL while it trains, Ctrl-C in a fit, data sets by name."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from tandem import lab


def python(code, **environment):
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, **environment},
    )


def test_the_import_is_light():
    done = python(
        "import sys; from tandem import lab; print([m for m in "
        "('torch', 'pandas', 'sklearn', 'scipy', 'matplotlib') if m in sys.modules])"
    )
    assert done.stdout == "[]\n", done.stderr


@pytest.mark.parametrize(
    ("missing", "use", "message"),
    [
        ("sklearn", "lab.TandemClassifier", "TandemClassifier needs scikit-learn"),
        ("pandas", "study.to_pandas()", "to_pandas() needs pandas"),
        ("matplotlib", "study.plot()", "plot() needs matplotlib"),
        ("scipy", "lab.load_data('synthetic:rows=9,features=4,sparse=0.5')", "needs scipy"),
        ("torch", "print('no need')", ""),
    ],
)
def test_what_is_missing_is_named(missing, use, message):
    done = python(
        f"""
import sys
sys.modules[{missing!r}] = None
import numpy as np
from tandem import lab
study = lab.compare(np.eye(8), np.arange(8) % 2, [("adam", {{"lr": 0.1}})], epochs=1, seeds=1)
try:
    {use}
except ImportError as error:
    print(error)
"""
    )
    assert done.returncode == 0, done.stderr
    assert message in done.stdout and done.stdout


def test_names_and_unknown_names():
    assert set(lab.__all__) <= set(dir(lab))
    with pytest.raises(AttributeError, match="no attribute 'TandemClasifier'"):
        lab.TandemClasifier


def long_fit():
    pytest.importorskip("sklearn", reason="TandemClassifier needs scikit-learn")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 50))
    return lambda: lab.TandemClassifier("adam", batch_size=1, tol=0, max_iter=100_000).fit(
        X, X[:, 0] > 0
    )


def interrupt_soon(seconds):
    signal.setitimer(signal.ITIMER_REAL, seconds)


@pytest.fixture
def alarm_interrupts():
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def test_a_fit_lets_other_threads_run_and_stops_on_ctrl_c(alarm_interrupts):
    fit = long_fit()
    turns = 0
    stop = threading.Event()

    def count():
        nonlocal turns
        while not stop.is_set():
            turns += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    began = time.monotonic()
    try:
        interrupt_soon(0.5)
        with pytest.raises(KeyboardInterrupt):
            fit()
    finally:
        stop.set()
        thread.join()
    assert 0.4 < time.monotonic() - began < 5
    assert turns > 50  # about 500, where the machine has nothing else to do


def test_the_optimum_stops_on_ctrl_c_too(alarm_interrupts):
    """The search for F* is a C library's: it is the last thing that a comparison does."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20000, 60)) * np.logspace(-2, 2, 60)
    y = rng.integers(0, 10, len(X))
    seen = []

    def told(progress):
        if progress.doing.endswith("the optimum"):
            seen.append(progress)
            if len(seen) == 1:
                interrupt_soon(0.01)

    with pytest.raises(KeyboardInterrupt):
        lab.compare(
            X, y, [("sgd", {"lr": 1e-6})], epochs=1, seeds=1, lambda_=1e-9, batch=1000,
            progress=told,
        )  # fmt: skip
    assert seen


def test_verbose_writes_lines_where_there_is_no_terminal():
    from tandem.lab._progress import Reporter

    reporter = Reporter(True)
    assert not reporter._terminal
    done = python(
        "from tandem.lab._progress import Reporter; r = Reporter(True); r._last = -100;"
        "r.show(0.5, 'half'); r.show(0.6, 'too soon'); r.finish('end')"
    )
    assert done.stderr == "50 % half\nend\n" and done.stdout == ""


def test_data_sets_by_name(tmp_path):
    data = lab.load_data("synthetic:rows=50,features=3,classes=4,seed=2", validation=0.2)
    assert data.X.shape == (40, 3) and data.X_validation.shape == (10, 3)
    assert data.X.dtype == np.float32 and set(data.y) <= {0, 1, 2, 3}
    assert "40 x 3" in repr(data)
    sparse = pytest.importorskip("scipy.sparse")
    rows = lab.load_data("synthetic:rows=50,features=30,sparse=0.1,seed=2").X
    assert isinstance(rows, sparse.csr_matrix) and rows.nnz == 50 * 3
    file = tmp_path / "tiny.txt"
    file.write_text("+1 1:0.5 3:2\n-1 2:1\n+1 1:-1\n")
    read = lab.load_data(f"libsvm:{file}")
    assert read.X[0, :3].tolist() == [0.5, 0, 2] and len(set(read.y)) == 2
    with pytest.raises(ValueError, match="Unknown data set"):
        lab.load_data("mnits")
    with pytest.raises(lab.DataError, match="none.txt"):
        lab.load_data("libsvm:none.txt", data_dir=tmp_path)
    file.write_text("+1 3:2 1:0.5\n")
    with pytest.raises(lab.DataError, match="tiny.txt"):
        lab.load_data(f"libsvm:{file}")
    assert issubclass(lab.DataError, ValueError)


def test_mnist_where_it_is():
    if not os.environ.get("TANDEM_DATA"):
        pytest.skip("TANDEM_DATA does not name a folder of data sets")
    try:
        data = lab.load_data("mnist")
    except lab.DataError as error:
        pytest.skip(f"no MNIST: {error}")
    assert data.X.shape[0] == 60000 and data.X_validation.shape[0] == 10000
    assert len(set(data.y)) == 10 and np.abs(data.X).max() <= 1
