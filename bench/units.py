#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a unit of work costs in studies of many units: the same in small and in large ones.

    bench/units.py [--program build-release/tandem] [--tasks 200 800 3200]

Each task is a tiny data set with a lambda of its own: two optimizers with one setting, two seeds, and F*, which makes five
units. Prints a line of JSON for each number of tasks.
"""
import argparse
import json
import pathlib
import subprocess
import tempfile
import time

STUDY = """
name = "units"
epochs = 1
seeds = [1, 2]
[[task]]
data = "synthetic:rows=128,features=4,classes=2"
lambda = [{lambdas}]
[[optimizer]]
name = "adam"
baseline = true
lr = 0.01
[[optimizer]]
name = "sgd"
lr = 0.1
"""


def run(program: str, tasks: int) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        study = pathlib.Path(folder) / "units.toml"
        study.write_text(STUDY.format(lambdas=", ".join(str((i + 1) / tasks) for i in range(tasks))))
        store = str(pathlib.Path(folder) / "units.db")
        began = time.monotonic()
        subprocess.run([program, "study", str(study), "--store", store, "-q"], check=True, stdout=subprocess.DEVNULL)
        seconds = time.monotonic() - began
        listed = subprocess.run([program, "runs", "list", "--store", store, "--json"], check=True, capture_output=True)
        units = json.loads(listed.stdout)["done"]
    return {"tasks": tasks, "units": units, "seconds": round(seconds, 2), "ms_per_unit": round(1000 * seconds / units, 3)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build-release/tandem")
    parser.add_argument("--tasks", type=int, nargs="+", default=[200, 800, 3200])
    options = parser.parse_args()
    for tasks in options.tasks:
        print(json.dumps(run(options.program, tasks)), flush=True)


if __name__ == "__main__":
    main()
