# SPDX-License-Identifier: MIT
"""The optimizers on numpy arrays through <tandem/c.h>: ctypes, numpy and libtandem.so, nothing else.

    tandem_ctypes.py LIBRARY [RULE]     trains a small model and shows it

State is a dict of lists of numpy arrays, which the caller owns: save it, map it from files, hand it to
another process.
"""

import ctypes
import json
import sys

try:
    import numpy as np
except ImportError:
    print("skipped: Python has no numpy (Debian: python3-numpy)")
    sys.exit(77)

FLOAT32, FLOAT64, BFLOAT16, UINT64 = range(4)
# bfloat16 is the upper half of a float; numpy has no such type.
TYPE_OF = {"float32": FLOAT32, "float64": FLOAT64, "uint16": BFLOAT16}
DTYPE_OF = {FLOAT32: np.float32, FLOAT64: np.float64, BFLOAT16: np.uint16, UINT64: np.uint64}
SUMS = 8


class Option(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("value", ctypes.c_char_p)]


class Segment(ctypes.Structure):
    _fields_ = [("weights", ctypes.c_void_p), ("gradient", ctypes.c_void_p), ("size", ctypes.c_size_t)]


class Array(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("type", ctypes.c_int32),
        ("reserved", ctypes.c_int32),
        ("parts", ctypes.c_size_t),
        ("data", ctypes.POINTER(ctypes.c_void_p)),
        ("counts", ctypes.POINTER(ctypes.c_size_t)),
    ]


class Need(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("type", ctypes.c_int32),
        ("like_weights", ctypes.c_int32),
        ("parts", ctypes.c_size_t),
        ("counts", ctypes.POINTER(ctypes.c_size_t)),
        ("elements", ctypes.c_char_p),
    ]


class Tandem:
    """The library."""

    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        self.library.tandem_v1_error.restype = ctypes.c_char_p
        self.library.tandem_v1_destroy.argtypes = [ctypes.c_void_p]
        self.library.tandem_v1_destroy.restype = None
        self.library.tandem_v1_set_rate.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_double]

    def call(self, name, *arguments):
        """Calls tandem_v1_NAME; raises what went wrong."""
        if getattr(self.library, "tandem_v1_" + name)(*arguments) != 0:
            raise ValueError(self.library.tandem_v1_error().decode())

    def describe(self, rule=None):
        """All that is known of a rule, or of all rules."""
        name = None if rule is None else rule.encode()
        needed = ctypes.c_size_t()
        self.call("describe", name, None, ctypes.c_size_t(0), ctypes.byref(needed))
        text = ctypes.create_string_buffer(needed.value)
        self.call("describe", name, text, needed, None)
        return json.loads(text.value)


def arrays_of(state):
    """A state as the library takes it; the arrays must outlive the result."""
    arrays = (Array * len(state))()
    for array, (name, parts) in zip(arrays, state.items()):
        data = (ctypes.c_void_p * len(parts))(*[part.ctypes.data for part in parts])
        counts = (ctypes.c_size_t * len(parts))(*[part.size for part in parts])
        kind = UINT64 if parts[0].dtype == np.uint64 else TYPE_OF[parts[0].dtype.name]
        array.name, array.type, array.parts = name.encode(), kind, len(parts)
        array.data, array.counts = data, counts
    return arrays


class Rule:
    """A rule for weights of one numpy dtype, in segments of these sizes."""

    def __init__(self, tandem, name, sizes, dtype, **options):
        self.tandem, self.type, self.handle = tandem, TYPE_OF[np.dtype(dtype).name], ctypes.c_void_p()
        pairs = (Option * len(options))(*[(k.encode(), str(v).encode()) for k, v in options.items()])
        lengths = (ctypes.c_size_t * len(sizes))(*sizes)
        tandem.call("create", name.encode(), pairs, ctypes.c_size_t(len(options)), lengths,
                    ctypes.c_size_t(len(sizes)), ctypes.byref(self.handle))

    def __del__(self):
        self.tandem.library.tandem_v1_destroy(self.handle)

    def make_room(self, state, new_array=np.zeros):
        """Adds what the next step needs to a state, or fills an empty one with starting values."""
        is_new, arrays = not state, arrays_of(state)
        needs, count = ctypes.POINTER(Need)(), ctypes.c_size_t()
        self.tandem.call("needs", self.handle, self.type, arrays, ctypes.c_size_t(len(state)),
                         ctypes.byref(needs), ctypes.byref(count))
        for need in needs[: count.value]:
            parts = state.setdefault(need.name.decode(), [])
            for part in range(len(parts), need.parts):
                parts.append(new_array(need.counts[part], DTYPE_OF[need.type]))
        if is_new:
            arrays = arrays_of(state)
            self.tandem.call("start", self.handle, self.type, arrays, ctypes.c_size_t(len(state)))
        return state

    def _memory(self, weights, gradients, state):
        for part in (*weights, *gradients):
            if not part.flags.c_contiguous or TYPE_OF.get(part.dtype.name) != self.type:
                raise ValueError("weights and gradients must be contiguous, of the type of the rule")
        segments = (Segment * len(weights))(
            *[(w.ctypes.data, g.ctypes.data, w.size) for w, g in zip(weights, gradients)])
        return (self.handle, self.type, segments, ctypes.c_size_t(len(weights)), arrays_of(state),
                ctypes.c_size_t(len(state)))

    def step(self, weights, gradients, state):
        """One step on lists of arrays, in place."""
        self.make_room(state)
        self.tandem.call("step", *self._memory(weights, gradients, state), None)

    def gather(self, weights, gradients, state):
        """The first phase: sums, to which those of other machines may be added."""
        self.make_room(state)
        sums = np.zeros(SUMS)
        self.tandem.call("gather", *self._memory(weights, gradients, state),
                         ctypes.c_void_p(sums.ctypes.data))
        return sums

    def apply(self, weights, gradients, state, sums):
        """The second phase."""
        self.tandem.call("apply", *self._memory(weights, gradients, state), None,
                         ctypes.c_void_p(sums.ctypes.data))

    def set_rate(self, option, value):
        self.tandem.call("set_rate", self.handle, option.encode(), value)


def main():
    tandem = Tandem(sys.argv[1])
    name = sys.argv[2] if len(sys.argv) > 2 else "diag-to"
    print(tandem.describe(name)["summary"])
    target = np.linspace(-1, 1, 12, dtype=np.float32)
    weights, state = [np.zeros(12, np.float32)], {}
    rule = Rule(tandem, name, [12], np.float32, lr=0.1)
    for step in range(1, 201):
        rule.step(weights, [weights[0] - target], state)
        if step % 50 == 0:
            print(f"step {step}: distance {np.linalg.norm(weights[0] - target):.2e}")
    print("state:", {name: [part.shape for part in parts] for name, parts in state.items()})


if __name__ == "__main__":
    main()
