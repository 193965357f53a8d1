# SPDX-License-Identifier: MIT
"""Run stores in a PostgreSQL database: the same studies as in a file."""

from __future__ import annotations

import glob
import os
import shutil
import signal
import socket
import subprocess
import time

import numpy as np
import pytest

from tandem import lab


def server_program(name):
    """A program of the server: Debian keeps them apart."""
    for folder in [*os.environ["PATH"].split(":"), *glob.glob("/usr/lib/postgresql/*/bin")]:
        if os.access(os.path.join(folder, name), os.X_OK):
            return os.path.join(folder, name)
    pytest.skip(f"PostgreSQL's {name} was not found (Debian's postgresql)")
    return None


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    """An empty database of a server of our own; the server refuses root."""
    initdb, postgres = server_program("initdb"), server_program("postgres")
    folder = tmp_path_factory.mktemp("postgres")
    data = folder / "data"
    user = {}
    if os.geteuid() == 0:
        user = {"user": "nobody", "group": "nogroup"}
        shutil.chown(folder, "nobody", "nogroup")
        for parent in list(folder.parents)[:3]:  # pytest's own
            if "pytest" in parent.name:
                parent.chmod(0o755)
    environment = {**os.environ, "LC_ALL": "C"}
    options = {"env": environment, "cwd": folder, "stdout": subprocess.DEVNULL, **user}
    subprocess.run(
        [initdb, "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "-N"],
        check=True,
        **options,
    )
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    listen = ["-c", "listen_addresses=127.0.0.1", "-c", "fsync=off"]
    server = subprocess.Popen(
        [postgres, "-D", data, "-p", str(port), "-k", folder, *listen],
        stderr=subprocess.DEVNULL,
        **options,
    )
    state = data / "postmaster.pid"
    while not (state.exists() and "ready" in state.read_text()):
        assert server.poll() is None
        time.sleep(0.05)
    yield f"postgresql://postgres@127.0.0.1:{port}/postgres"
    server.send_signal(signal.SIGQUIT)
    server.wait()


def test_compare_and_open_store_take_a_url(url, tmp_path):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(120, 4))
    y = (X[:, 0] > 0).astype(int)
    grids = [("adam", {"lr": [0.01, 0.1]}), ("diag-to", {"lr": 0.1, "alpha": 0.01})]
    kept = {
        place: lab.compare(X, y, grids, epochs=2, seeds=2, lambda_=0.01, store=place, name="mine")
        for place in (url, tmp_path / "runs.db")
    }
    there, here = kept.values()
    assert there.complete
    for ours, theirs in zip(here.tasks[0].optimizers, there.tasks[0].optimizers):
        for one, other in zip(ours.tuned + ours.measured, theirs.tuned + theirs.measured):
            assert one.options == other.options
            for name in one.points.dtype.names:
                if name != "seconds":
                    np.testing.assert_array_equal(one.points[name], other.points[name])
    store = lab.open_store(url)
    assert store.names == ("mine",)
    assert store["mine"].rows == there.rows
    assert "mine" in repr(store)


def test_what_is_wrong_is_said(url):
    with pytest.raises(lab.StoreError, match="cannot connect"):
        lab.open_store("postgresql://127.0.0.1:1/runs")
    with pytest.raises(lab.StoreError, match="pgpass") as error:
        lab.open_store("postgresql://me:s3cret@127.0.0.1/runs")
    assert "s3cret" not in str(error.value)
    with pytest.raises(lab.StoreError, match="does not exist"):
        lab.open_store(url + "-none")
