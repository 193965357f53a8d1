# SPDX-License-Identifier: MIT
"""The native library, `tandem/_native.so`, through its C interface (include/tandem/c.h): ctypes alone, so
one binary serves every version of Python and torch."""

from __future__ import annotations

import ctypes
import functools
import pathlib
from array import array
from typing import Any, NamedTuple, NoReturn, Optional, Sequence

FLOAT32, FLOAT64, BFLOAT16, UINT64 = range(4)
_OK, _INVALID, _NONFINITE, _STATE, _MEMORY, _INTERNAL = range(6)
SUMS = 8


class NonFiniteGradient(RuntimeError):
    """A gradient holds a NaN or an infinity. Weights and state are as they were before the step."""


class StateError(ValueError):
    """A state that cannot be loaded or used. The optimizer is as it was before."""


class _Option(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("value", ctypes.c_char_p)]


class _Array(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("type", ctypes.c_int32),
        ("reserved", ctypes.c_int32),
        ("parts", ctypes.c_size_t),
        ("data", ctypes.c_void_p),
        ("counts", ctypes.c_void_p),
    ]


class _Need(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("type", ctypes.c_int32),
        ("like_weights", ctypes.c_int32),
        ("parts", ctypes.c_size_t),
        ("counts", ctypes.POINTER(ctypes.c_size_t)),
        ("elements", ctypes.c_char_p),
    ]


class _Rounding(ctypes.Structure):
    _fields_ = [
        ("stochastic", ctypes.c_int32),
        ("reserved", ctypes.c_int32),
        ("seed", ctypes.c_uint64),
    ]


class Need(NamedTuple):
    """An array that the next step needs."""

    name: str
    type: int
    like_weights: bool
    counts: tuple[int, ...]  #: elements of each part
    elements: tuple[tuple[str, bool], ...]  #: of "scalars": names, and whether each is a double


_MEMORY_ARGUMENTS = [
    ctypes.c_void_p,  # rule
    ctypes.c_int32,  # type of the weights
    ctypes.c_void_p,  # segments
    ctypes.c_size_t,
    ctypes.c_void_p,  # arrays
    ctypes.c_size_t,
]


@functools.cache
def library() -> ctypes.CDLL:
    """The library, loaded when it is first needed. Raises ImportError where it is not there."""
    path = pathlib.Path(__file__).with_name("_native.so")
    try:
        loaded = ctypes.CDLL(str(path))
    except OSError as error:
        raise ImportError(
            f"tandem's native library cannot be loaded ({error}); backend='foreach' works without it"
        ) from error
    rule = ctypes.c_void_p
    signatures: dict[str, list[Any]] = {
        "create": [
            ctypes.c_char_p,
            ctypes.c_void_p,
            ctypes.c_size_t,
            ctypes.c_void_p,
            ctypes.c_size_t,
            ctypes.c_void_p,
        ],
        "set_options": [rule, ctypes.c_void_p, ctypes.c_size_t],
        "set_rate": [rule, ctypes.c_char_p, ctypes.c_double],
        "set_schedule": [rule, ctypes.c_char_p, ctypes.c_char_p],
        "set_segment": [rule, ctypes.c_size_t, ctypes.c_double, ctypes.c_double],
        "set_first_element": [rule, ctypes.c_size_t, ctypes.c_uint64],
        "set_threads": [rule, ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p],
        "needs": [
            rule,
            ctypes.c_int32,
            ctypes.c_void_p,
            ctypes.c_size_t,
            ctypes.c_void_p,
            ctypes.c_void_p,
        ],
        "start": [rule, ctypes.c_int32, ctypes.c_void_p, ctypes.c_size_t],
        "step": [*_MEMORY_ARGUMENTS, ctypes.c_void_p],
        "gather": [*_MEMORY_ARGUMENTS, ctypes.c_void_p],
        "apply": [*_MEMORY_ARGUMENTS, ctypes.c_void_p, ctypes.c_void_p],
        "last": [rule, ctypes.c_void_p],
        "schedule": [ctypes.c_char_p, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_void_p],
    }
    for name, arguments in signatures.items():
        function = getattr(loaded, f"tandem_v1_{name}")
        function.argtypes, function.restype = arguments, ctypes.c_int32
    loaded.tandem_v1_error.argtypes, loaded.tandem_v1_error.restype = [], ctypes.c_char_p
    loaded.tandem_v1_destroy.argtypes, loaded.tandem_v1_destroy.restype = [rule], None
    return loaded


def _fail(status: int) -> NoReturn:
    message = library().tandem_v1_error().decode()
    kinds: dict[int, type[Exception]] = {
        _INVALID: ValueError,
        _NONFINITE: NonFiniteGradient,
        _STATE: StateError,
        _MEMORY: MemoryError,
    }
    raise kinds.get(status, RuntimeError)(message)


def schedule_value(text: str, step: int, epoch: int) -> float:
    """The value of a schedule such as "0.1*0.95^epoch"; raises ValueError for what is none."""
    value = ctypes.c_double()
    status = library().tandem_v1_schedule(text.encode(), step, epoch, ctypes.byref(value))
    if status != _OK:
        _fail(status)
    return value.value


def _address(values: array[int]) -> int:
    return values.buffer_info()[0]


def _options(options: dict[str, str]) -> Any:
    pairs = [_Option(name.encode(), value.encode()) for name, value in options.items()]
    return (_Option * len(pairs))(*pairs)


class Memory:
    """Where weights, gradients and arrays of state are, as the C interface takes it."""

    def __init__(self, sizes: Sequence[int], needs: Sequence[Need]) -> None:
        self.count = len(sizes)
        self.segments = array("Q", bytes(24 * len(sizes)))
        self.segments[2::3] = array("Q", sizes)
        self.arrays = (_Array * len(needs))()
        self._names = [need.name.encode() for need in needs]  # what the arrays point to
        self._data = {need.name: array("Q", bytes(8 * len(need.counts))) for need in needs}
        self._counts = [array("Q", need.counts) for need in needs]
        for number, need in enumerate(needs):
            self.arrays[number] = _Array(
                self._names[number],
                need.type,
                0,
                len(need.counts),
                _address(self._data[need.name]),
                _address(self._counts[number]),
            )

    def set_weights(self, pointers: Sequence[int]) -> None:
        self.segments[0::3] = array("Q", pointers)

    def set_gradients(self, pointers: Sequence[int]) -> None:
        """0 leaves a segment out."""
        self.segments[1::3] = array("Q", pointers)

    def set_array(self, name: str, pointers: Sequence[int]) -> None:
        data = self._data[name]
        if len(pointers) != len(data):  # it would move, and the arrays point to it
            raise StateError(f"'{name}' has {len(pointers)} parts, expected {len(data)}")
        data[:] = array("Q", pointers)


class Scalars:
    """The array "scalars": what a rule remembers in single numbers, by name."""

    def __init__(self, need: Need) -> None:
        self._values = array("Q", bytes(8 * need.counts[0]))
        self._doubles: Any = memoryview(self._values).cast("B").cast("d")
        self._places = {name: (i, double) for i, (name, double) in enumerate(need.elements)}
        self.names = tuple(self._places)

    def __getitem__(self, name: str) -> Any:
        place, double = self._places[name]
        return self._doubles[place] if double else self._values[place]

    def __setitem__(self, name: str, value: Any) -> None:
        place, double = self._places[name]
        if double:
            self._doubles[place] = float(value)
        else:
            self._values[place] = int(value)

    def __contains__(self, name: str) -> bool:
        return name in self._places

    @property
    def pointer(self) -> int:
        return _address(self._values)


class NativeRule:
    """A rule over segments of these sizes. It has options and workspace; everything that is remembered
    from step to step is the caller's."""

    def __init__(
        self, name: str, options: dict[str, str], sizes: Sequence[int], weights: int
    ) -> None:
        self._library = library()
        self._weights = weights
        self._handle = ctypes.c_void_p()
        pairs, lengths = _options(options), array("Q", sizes)
        self._check(
            self._library.tandem_v1_create(
                name.encode(),
                pairs,
                len(pairs),
                _address(lengths),
                len(lengths),
                ctypes.byref(self._handle),
            )
        )
        self._rounding: Optional[_Rounding] = None
        self._sums = (ctypes.c_double * SUMS)()

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self._library.tandem_v1_destroy(self._handle)

    @staticmethod
    def _check(status: int) -> None:
        if status != _OK:
            _fail(status)

    def set_options(self, options: dict[str, str]) -> None:
        pairs = _options(options)
        self._check(self._library.tandem_v1_set_options(self._handle, pairs, len(pairs)))

    def set_rate(self, name: str, rate: float | str) -> None:
        if isinstance(rate, str):
            status = self._library.tandem_v1_set_schedule(
                self._handle, name.encode(), rate.encode()
            )
        else:
            status = self._library.tandem_v1_set_rate(self._handle, name.encode(), rate)
        self._check(status)

    def set_segment(self, segment: int, lr: float, weight_decay: float) -> None:
        self._check(
            self._library.tandem_v1_set_segment(self._handle, segment, lr, weight_decay)
        )

    def set_first_element(self, segment: int, number: int) -> None:
        self._check(self._library.tandem_v1_set_first_element(self._handle, segment, number))

    def set_threads(self, threads: int) -> None:
        self._check(self._library.tandem_v1_set_threads(self._handle, threads, None, None))

    def set_rounding(self, stochastic: bool, seed: int) -> None:
        self._rounding = _Rounding(1, 0, seed) if stochastic else None

    def needs(self, memory: Optional[Memory] = None) -> list[Need]:
        """The arrays of a new state, or of the next step on the one in `memory`."""
        found, count = ctypes.POINTER(_Need)(), ctypes.c_size_t()
        self._check(
            self._library.tandem_v1_needs(
                self._handle,
                self._weights,
                memory.arrays if memory else None,
                len(memory.arrays) if memory else 0,
                ctypes.byref(found),
                ctypes.byref(count),
            )
        )
        needs = []
        for need in found[: count.value]:
            elements = [one.split(":") for one in (need.elements or b"").decode().split(",") if one]
            needs.append(
                Need(
                    need.name.decode(),
                    need.type,
                    bool(need.like_weights),
                    tuple(need.counts[: need.parts]),
                    tuple((name, kind == "float64") for name, kind in elements),
                )
            )
        return needs

    def start(self, memory: Memory) -> None:
        """Fills arrays with starting values."""
        self._check(
            self._library.tandem_v1_start(
                self._handle, self._weights, memory.arrays, len(memory.arrays)
            )
        )

    def _arguments(self, memory: Memory) -> tuple[Any, ...]:
        return (
            self._handle,
            self._weights,
            _address(memory.segments),
            memory.count,
            memory.arrays,
            len(memory.arrays),
        )

    def _how(self) -> Any:
        return None if self._rounding is None else ctypes.byref(self._rounding)

    def step(self, memory: Memory) -> None:
        self._check(self._library.tandem_v1_step(*self._arguments(memory), self._how()))

    def gather(self, memory: Memory) -> list[float]:
        """The first phase of a step: sums over what is here. Whatever of the step can fail does here."""
        self._check(self._library.tandem_v1_gather(*self._arguments(memory), self._sums))
        return list(self._sums)

    def apply(self, memory: Memory, sums: Sequence[float]) -> None:
        """The second, with the sums of all."""
        self._sums[:] = list(sums)
        self._check(
            self._library.tandem_v1_apply(*self._arguments(memory), self._how(), self._sums)
        )

    def last(self) -> tuple[float, float, float]:
        """Norm of the residual, norm of the gradient, delta of the last step."""
        seen = (ctypes.c_double * 3)()
        self._check(self._library.tandem_v1_last(self._handle, seen))
        return seen[0], seen[1], seen[2]
