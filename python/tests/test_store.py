# SPDX-License-Identifier: MIT
"""Run stores: what compare() and the program wrote, read back."""

from __future__ import annotations

import dataclasses
import json
import shutil
import subprocess

import numpy as np
import pytest

from tandem import lab


def data(rows=120):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(rows, 4))
    return X, (X @ [1, -2, 0.5, 0] + 0.3 * rng.normal(size=rows) > 0).astype(int)


GRIDS = [("adam", {"lr": [0.01, 0.1]}), ("diag-to", {"lr": [0.1, 1.0], "alpha": [0, 0.01]})]


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    path = tmp_path_factory.mktemp("store") / "runs.db"
    study = lab.compare(
        *data(), GRIDS, epochs=3, seeds=2, lambda_=0.01, batch=8, store=path, name="first"
    )
    return path, study


def test_a_store_has_what_compare_gave(written):
    path, study = written
    store = lab.open_store(path)
    assert store.names == ("first",) and len(store) == 1 and "first" in store
    (info,) = store.studies
    assert (info.tasks, info.units) == (1, info.units_done)
    # The grids, and on both seeds what is best with and without lambda's part.
    chosen = [
        {
            min(range(len(each.tuned)), key=lambda i, y=y: each.tuned[i].points[y][1:].min())
            for y in ("train_loss", "data_loss")
        }
        for each in study.tasks[0].optimizers
    ]
    assert info.members == 6 + 2 * sum(len(settings) for settings in chosen)
    read = store["first"]
    assert str(read) == str(study) and read.complete
    for ours, theirs in zip(study.rows, read.rows):
        assert ours == theirs
    adam = read.tasks[0].optimizers[0]
    assert adam.baseline and adam.grid == {"lr": ["0.01", "0.1"]}
    assert [run.seed for run in adam.tuned] == [0, 0]
    assert [run.seed for run in adam.measured] == [1, 2]
    points = adam.measured[0].points
    assert list(points["epoch"]) == [0, 1, 2, 3]
    assert points["gradient_evaluations"][-1] == 3 * (120 // 8) * 8
    assert np.isnan(points["validation_loss"]).all()
    assert min(points["train_loss"][1:]) == study.rows[0].min_loss[0] == adam.measured[0].min_loss
    with pytest.raises(KeyError):
        store["second"]
    with pytest.raises(ValueError, match="Unknown study 'frist'.*'first'"):
        store.study("frist")
    assert store.study().name == "first"


def test_rows_follow_from_the_runs(written):
    """rho, its mark and its interval, computed here from the points."""
    stats = pytest.importorskip("scipy.stats")
    _, study = written
    base, other = study.tasks[0].optimizers
    rho = [
        (a.min_loss - b.min_loss) / a.min_loss for a, b in zip(base.measured, other.measured)
    ]
    row = study.rows[1]
    assert row.rho == pytest.approx(np.mean(rho)) and row.rho_seeds == pytest.approx(rho)
    assert row.p == pytest.approx(stats.ttest_1samp(rho, 0).pvalue)
    error = stats.sem(rho)
    assert row.interval == pytest.approx(stats.t.interval(0.95, 1, np.mean(rho), error))
    s = stats.norm.sf(np.mean(rho) / error)
    assert row.mark == ("+" if s < 0.05 else "-" if s > 0.95 else "~")
    best = min(other.tuned, key=lambda run: run.min_loss)
    assert row.options == best.options == other.measured[0].options
    assert row.mean_gap == pytest.approx(np.mean(row.min_loss) - study.tasks[0].optimum)
    assert row.mean_gap > 0
    assert study.rows[0].rho is None and study.rows[0].baseline


def test_the_start_does_not_count():
    points = np.array([(0, 0.1), (1, 0.5), (2, 0.3)], dtype=[("epoch", int), ("train_loss", float)])
    run = lab.Run(options={}, seed=1, diverged=False, pruned=False, state_bytes=0, points=points)
    assert run.min_loss == 0.3
    assert dataclasses.replace(run, diverged=True).min_loss is None


def test_frames(written):
    pandas = pytest.importorskip("pandas")
    _, study = written
    rows = study.to_pandas()
    assert isinstance(rows, pandas.DataFrame) and list(rows.optimizer) == ["adam", "diag-to"]
    assert rows.mean_min_loss[0] == study.rows[0].mean_min_loss
    runs = study.to_pandas("runs")
    assert len(runs) == 10 and set(runs.phase) == {"tune", "measure"}
    points = study.to_pandas("points")
    assert len(points) == 10 * 4
    last = points[(points.optimizer == "adam") & (points.phase == "measure") & (points.epoch == 3)]
    assert list(last.train_loss) == [
        run.points["train_loss"][3] for run in study.tasks[0].optimizers[0].measured
    ]
    with pytest.raises(ValueError, match="'rows', 'runs' or 'points'"):
        study.to_pandas("all")


def test_objects_are_frozen_and_say_what_they_are(written):
    path, study = written
    for record in (study, study.rows[0], study.tasks[0], study.tasks[0].optimizers[0]):
        with pytest.raises(dataclasses.FrozenInstanceError):
            record.name = "other"
    assert repr(study) == "Study('first', 1 tasks, 2 rows)"
    assert "adam" in repr(study.rows[0]) and "seed=1" in repr(
        study.tasks[0].optimizers[0].measured[0]
    )
    assert repr(lab.open_store(path)).endswith(": first)")


def test_a_store_of_no_use(tmp_path):
    with pytest.raises(FileNotFoundError, match="run store"):
        lab.open_store(tmp_path / "none.db")
    text = tmp_path / "text.db"
    text.write_text("not a store at all, but long enough to be read as one" * 100)
    with pytest.raises(lab.StoreError, match="text.db"):
        lab.open_store(text)
    assert issubclass(lab.StoreError, OSError)


def test_another_study_of_the_same_name_is_refused(written, tmp_path):
    path = tmp_path / "copy.db"
    shutil.copy(written[0], path)
    X, y = data()
    same = {"epochs": 3, "seeds": 2, "lambda_": 0.01, "batch": 8, "store": path, "name": "first"}
    with pytest.raises(lab.StoreError, match="first"):
        lab.compare(X, y, GRIDS, **{**same, "epochs": 4})
    with pytest.raises(lab.StoreError, match="data"):
        lab.compare(X + 1, y, GRIDS, **same)
    assert lab.compare(X, y, GRIDS, **same).rows == written[1].rows  # nothing was done again


def test_a_store_of_the_program(program, tmp_path):
    file = tmp_path / "small.toml"
    file.write_text(
        """
name = "small"
epochs = 2
seeds = [1, 2]
[[task]]
data = "synthetic:rows=200,features=5,seed=1"
lambda = 0.1
[[optimizer]]
name = "adam"
baseline = true
lr = [0.01, 0.1]
[[optimizer]]
name = "saga"
lr = 0.1
"""
    )
    run = [program, "study", str(file), "--store", str(tmp_path / "p.db"), "--json", "-q"]
    told = subprocess.run(run, capture_output=True, text=True, check=True).stdout.splitlines()
    rows = [row for row in map(json.loads, told) if "rho" in row]
    study = lab.open_store(tmp_path / "p.db").study()
    assert len(rows) == len(study.rows) == 2
    for theirs, ours in zip(rows, study.rows):
        for key, value in theirs.items():
            own = getattr(ours, "lambda_" if key == "lambda" else key)
            assert (list(own) if isinstance(own, tuple) else own) == value, key

    # The same study by compare() on the same data: the same losses, to the bit.
    arrays = lab.load_data("synthetic:rows=200,features=5,seed=1")
    grids = [("adam", {"lr": [0.01, 0.1]}), ("saga", {"lr": 0.1})]
    again = lab.compare(
        arrays.X, arrays.y, grids, epochs=2, seeds=2, lambda_=0.1, fit_intercept=False
    )
    assert [row.min_loss for row in again.rows] == [row.min_loss for row in study.rows]
