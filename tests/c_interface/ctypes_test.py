# SPDX-License-Identifier: MIT
"""Trains with every rule from Python through the C interface, on numpy arrays, with
examples/tandem_ctypes.py, and holds the weights against those of the C++ class, bit for bit.

    ctypes_test.py LIBRARY TRAIN_WITH_CLASS

Ends with 77, which ctest takes for "skipped", where Python has no numpy.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

try:
    import numpy as np
except ImportError:
    print("skipped: Python has no numpy (Debian: python3-numpy)")
    sys.exit(77)

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "examples"))
from tandem_ctypes import Rule, Tandem  # noqa: E402

STEPS = 12
TYPES = {"float": np.float32, "double": np.float64, "bfloat16": np.uint16}


def cases(tandem):
    """Rule, options, sizes of segments: one of them is empty."""
    for rule in tandem.describe():
        yield rule["name"], {"lr": "0.3/(t+20)"}, [33, 1, 0, 20]
    # A history that grows by parts, and a matrix.
    yield "full-to", {"lr": "0.01", "alpha": "1e-5", "form": "span"}, [550, 50]
    yield "full-to", {"lr": "0.01", "alpha": "1e-5", "form": "dense"}, [550, 50]


def to_type(values, dtype):
    if dtype != np.uint16:
        return values.astype(dtype)
    return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)


def data_of(sizes, dtype):
    """Weights and the gradients of all steps."""
    random = np.random.default_rng(5)
    weights = to_type(random.normal(size=sum(sizes)) * 0.1, dtype)
    gradients = [to_type(random.normal(size=sum(sizes)), dtype) for _ in range(STEPS)]
    return weights, gradients


def split(values, sizes):
    """Segments in memory of their own."""
    return [part.copy() for part in np.split(values, np.cumsum(sizes)[:-1])]


def train(rule, weights, gradients, sizes, state):
    for gradient in gradients:
        rule.step(weights, split(gradient, sizes), state)


def save_path(folder, index, type_name):
    return pathlib.Path(folder) / f"{index}-{type_name}"


class CTypes(unittest.TestCase):
    def expected(self, name, options, sizes, type_name):
        """The C++ class's weights."""
        weights, gradients = data_of(sizes, TYPES[type_name])
        run = subprocess.run(
            [HELPER, name, type_name, str(STEPS), ",".join(map(str, sizes)),
             *[f"{key}={value}" for key, value in options.items()]],
            input=b"".join(a.tobytes() for a in [weights, *gradients]), stdout=subprocess.PIPE, check=True)
        self.assertNotEqual(run.stdout, weights.tobytes())
        return run.stdout

    def test_every_rule_gives_the_bits_of_the_class(self):
        for name, options, sizes in cases(TANDEM):
            for type_name, dtype in TYPES.items():
                with self.subTest(rule=name, type=type_name):
                    start, gradients = data_of(sizes, dtype)
                    expected = self.expected(name, options, sizes, type_name)
                    weights, state = split(start, sizes), {}
                    train(Rule(TANDEM, name, sizes, dtype, **options), weights, gradients, sizes, state)
                    self.assertEqual(np.concatenate(weights).tobytes(), expected)
                    # In two phases.
                    weights, state = split(start, sizes), {}
                    rule = Rule(TANDEM, name, sizes, dtype, **options)
                    for gradient in gradients:
                        parts = split(gradient, sizes)
                        sums = rule.gather(weights, parts, state)
                        rule.apply(weights, parts, state, sums)
                    self.assertEqual(np.concatenate(weights).tobytes(), expected)

    def test_another_process_resumes_from_mapped_files(self):
        half = STEPS // 2
        with tempfile.TemporaryDirectory() as folder:
            for index, (name, options, sizes) in enumerate(cases(TANDEM)):
                for type_name, dtype in TYPES.items():
                    start, gradients = data_of(sizes, dtype)
                    path = save_path(folder, index, type_name)
                    path.mkdir()
                    weights, state, files = split(start, sizes), {}, []

                    def mapped(count, kind, path=path, files=files):
                        """Memory of a .npy file; of plain memory where there is nothing to map."""
                        if count == 0:
                            return np.zeros(0, kind)
                        files.append(np.lib.format.open_memmap(
                            path / f"{len(files)}.npy", mode="w+", dtype=kind, shape=(count,)))
                        return files[-1]

                    rule = Rule(TANDEM, name, sizes, dtype, **options)
                    for gradient in gradients[:half]:
                        rule.make_room(state, mapped)
                        rule.step(weights, split(gradient, sizes), state)
                    names = {id(array): file for file, array in enumerate(files)}
                    with open(path / "index.txt", "w", encoding="utf-8") as out:
                        for array_name, parts in state.items():
                            print(array_name, *[names.get(id(part), -1) for part in parts], file=out)
                    for file in files:
                        file.flush()
                    np.save(path / "weights.npy", np.concatenate(weights))
            subprocess.run([sys.executable, __file__, LIBRARY, HELPER, "resume", folder], check=True)
            for index, (name, options, sizes) in enumerate(cases(TANDEM)):
                for type_name in TYPES:
                    with self.subTest(rule=name, type=type_name):
                        found = np.load(save_path(folder, index, type_name) / "done.npy")
                        expected = self.expected(name, options, sizes, type_name)
                        self.assertEqual(found.tobytes(), expected)

    def test_mistakes_raise_with_the_reason(self):
        with self.assertRaisesRegex(ValueError, "adan.*adam"):
            TANDEM.describe("adan")
        with self.assertRaisesRegex(ValueError, "lr"):
            Rule(TANDEM, "adam", [3], np.float32, lr=-1)
        rule, state = Rule(TANDEM, "adam", [3], np.float32), {}
        weights, gradient = [np.ones(3, np.float32)], [np.ones(3, np.float32)]
        rule.step(weights, gradient, state)
        before = [weights[0].copy(), state["m"][0].copy()]
        with self.assertRaisesRegex(ValueError, "lr"):
            rule.set_rate("lr", float("nan"))
        with self.assertRaisesRegex(ValueError, "overlap"):
            rule.step(weights, weights, state)
        with self.assertRaisesRegex(ValueError, "index 1"):
            rule.step(weights, [np.array([0, np.nan, 0], np.float32)], state)
        with self.assertRaisesRegex(ValueError, "'v' is of type double"):
            rule.step(weights, gradient, {**state, "v": [np.zeros(3)]})
        np.testing.assert_array_equal(weights[0], before[0])
        np.testing.assert_array_equal(state["m"][0], before[1])


def resume(folder):
    """The second process: half of the states stay in their files, half are read."""
    for index, (name, options, sizes) in enumerate(cases(TANDEM)):
        for type_name, dtype in TYPES.items():
            path, state = save_path(folder, index, type_name), {}
            mode = "r+" if index % 2 == 0 else None
            for line in (path / "index.txt").read_text(encoding="utf-8").splitlines():
                array_name, *files = line.split()
                parts = [np.load(path / f"{file}.npy", mmap_mode=mode) for file in files if file != "-1"]
                kind = parts[0].dtype
                present = iter(parts)
                state[array_name] = [
                    np.zeros(0, kind) if file == "-1" else next(present) for file in files]
            _, gradients = data_of(sizes, dtype)
            weights = split(np.load(path / "weights.npy"), sizes)
            train(Rule(TANDEM, name, sizes, dtype, **options), weights, gradients[STEPS // 2:], sizes, state)
            np.save(path / "done.npy", np.concatenate(weights))


LIBRARY, HELPER = os.path.abspath(sys.argv[1]), sys.argv[2]
TANDEM = Tandem(LIBRARY)
if __name__ == "__main__":
    if len(sys.argv) > 3:
        resume(sys.argv[4])
    else:
        unittest.main(argv=sys.argv[:1])
