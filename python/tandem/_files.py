# SPDX-License-Identifier: MIT
"""State files: the state by parameter name as safetensors, the same in Python and in C++.

Metadata: `format`, `rule`, `parameters` (a JSON list of all names), `scalars` (JSON: what a parameter has in
single numbers), `skipped`, `epoch`. Tensors: `NAME.KEY` as in optimizer.state, `NAME.unit.A` for what
belongs to a unit (Full-TO, Block-TO), `NAME.unit.history.0`, ... for what grows.
"""

from __future__ import annotations

import ctypes
import json
import os
import struct
import tempfile
from typing import Any, NamedTuple, Union

import torch
from torch import Tensor

from . import _sharding
from ._core import StateError

FORMAT = "tandem-optimizer-state-2"
_TYPES = {torch.float32: "F32", torch.float64: "F64", torch.bfloat16: "BF16"}
_DTYPES = {name: dtype for dtype, name in _TYPES.items()}
_MOST_HEADER = 100 << 20
#: Sums that RO-TO carries in C++ to save a pass.
_FOUND_AGAIN = ("sums_known", "cw", "ww", "aa", "ab", "weights_hash")

Path = Union[str, "os.PathLike[str]"]


class Found(NamedTuple):
    """What is in a file."""

    states: dict[str, dict[str, Any]]  #: by parameter name, as in optimizer.state
    skipped: int
    epoch: int


def _take_apart(
    prefix: str, state: dict[str, Any], tensors: dict[str, Tensor], scalars: dict[str, Any]
) -> None:
    for key, value in state.items():
        if isinstance(value, dict):
            inner: dict[str, Any] = {}
            _take_apart(f"{prefix}.{key}", value, tensors, inner)
            if inner or key == "unit":
                scalars[key] = inner
        elif isinstance(value, Tensor) and value.dim() > 0:
            if _sharding.is_sharded(value):
                raise ValueError(
                    f"'{prefix}' is sharded: save it with torch.distributed.checkpoint, which knows the "
                    "other parts"
                )
            tensors[f"{prefix}.{key}"] = value.detach().cpu().contiguous()
        else:
            number = float(value)
            scalars[key] = int(number) if isinstance(value, int) or key == "step" else number
            if isinstance(value, int):
                scalars[key] = value  # a float cannot hold them all


def write(
    path: Path, rule: str, named: list[tuple[str, dict[str, Any]]], skipped: int, epoch: int
) -> None:
    """Writes to a temporary name beside the file and renames it."""
    tensors: dict[str, Tensor] = {}
    scalars: dict[str, Any] = {}
    for name, state in named:
        if state:
            scalars[name] = {}
            _take_apart(name, state, tensors, scalars[name])
    header: dict[str, Any] = {
        "__metadata__": {
            "format": FORMAT,
            "rule": rule,
            "parameters": json.dumps([name for name, _ in named]),
            "scalars": json.dumps(scalars, allow_nan=False),
            "skipped": str(skipped),
            "epoch": str(epoch),
        }
    }
    end = 0
    for name, tensor in tensors.items():
        size = tensor.numel() * tensor.element_size()
        header[name] = {
            "dtype": _TYPES[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [end, end + size],
        }
        end += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    target = os.path.realpath(os.fspath(path))
    folder = os.path.dirname(target)
    handle, temporary = tempfile.mkstemp(prefix=os.path.basename(target) + ".", dir=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(struct.pack("<Q", len(text)))
            file.write(text)
            for tensor in tensors.values():
                size = tensor.numel() * tensor.element_size()
                if size > 0:
                    file.write((ctypes.c_char * size).from_address(tensor.data_ptr()))
            file.flush()
            os.fsync(file.fileno())
        mode = os.stat(target).st_mode & 0o777 if os.path.exists(target) else 0o666 & ~_umask()
        os.chmod(temporary, mode)
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _put(state: dict[str, Any], keys: list[str], value: Any) -> None:
    for key in keys[:-1]:
        state = state.setdefault(key, {})
    state[keys[-1]] = value


class _Reader:
    """One file. Nothing in it is believed."""

    def __init__(self, path: Path) -> None:
        self.path = os.fspath(path)
        with open(path, "rb") as file:
            self.content = file.read()
        if len(self.content) < 8:
            raise self.bad(f"has {len(self.content)} bytes, expected a safetensors file")
        (size,) = struct.unpack("<Q", self.content[:8])
        if size > min(_MOST_HEADER, len(self.content) - 8):
            raise self.bad(f"claims a header of {size} bytes, which it does not have")
        try:
            self.header = json.loads(self.content[8 : 8 + size])
        except ValueError as error:
            raise self.bad(f"has a header that is not JSON: {error}") from None
        self.data = memoryview(self.content)[8 + size :]
        if not isinstance(self.header, dict):
            raise self.bad("has a header that is no JSON object")
        self.metadata = self.header.pop("__metadata__", {})
        if not isinstance(self.metadata, dict):
            raise self.bad("has metadata that are no JSON object")

    def bad(self, what: str) -> StateError:
        return StateError(f"{self.path}: the file {what}")

    def json(self, key: str, kind: type) -> Any:
        try:
            value = json.loads(self.metadata[key])
        except (KeyError, TypeError, ValueError):
            value = None
        if not isinstance(value, kind):
            raise self.bad(f"has metadata without a usable '{key}'")
        return value

    def count(self, key: str) -> int:
        text = self.metadata.get(key, "0")
        if not isinstance(text, str) or not text.isdigit():
            raise self.bad(f"says {text!r} for '{key}', expected a count")
        return int(text)

    def tensor(self, name: str) -> Tensor:
        entry = self.header[name]
        try:
            dtype = _DTYPES[entry["dtype"]]
            shape = [int(size) for size in entry["shape"]]
            begin, end = (int(offset) for offset in entry["data_offsets"])
            elements = 1
            for size in shape:
                elements *= size
            fits = (
                min([0, *shape]) == 0
                and 0 <= begin <= end <= len(self.data)
                and end - begin == elements * torch.empty((), dtype=dtype).element_size()
            )
        except (KeyError, TypeError, ValueError):
            fits = False
        if not fits:
            raise self.bad(f"is damaged at tensor '{name}': {str(entry)[:200]}")
        if elements == 0:
            return torch.empty(shape, dtype=dtype)
        return torch.frombuffer(bytearray(self.data[begin:end]), dtype=dtype).reshape(shape)


def read(path: Path, rule: str, names: list[str]) -> Found:
    """Raises StateError for a file that is damaged, of another rule or of other parameters."""
    reader = _Reader(path)
    format_ = reader.metadata.get("format")
    if format_ != FORMAT:
        old = format_ == "tandem-optimizer-state-1"
        hint = "; tandem::optim in C++ reads it and writes the new one" if old else ""
        raise reader.bad(f"has format {format_!r}, expected '{FORMAT}'{hint}")
    if reader.metadata.get("rule") != rule:
        raise reader.bad(f"is of rule '{reader.metadata.get('rule')}', expected '{rule}'")
    found = reader.json("parameters", list)
    missing = [name for name in names if name not in found]
    unknown = [str(name) for name in found if name not in names]
    if missing or unknown:
        message = "is of other parameters"
        message += f"; missing in it: {', '.join(map(repr, missing))}" if missing else ""
        message += f"; not here: {', '.join(map(repr, unknown))}" if unknown else ""
        raise reader.bad(message)
    states: dict[str, dict[str, Any]] = {}
    for name, numbers in reader.json("scalars", dict).items():
        if name not in names or not isinstance(numbers, dict):
            raise reader.bad(f"has numbers of '{name}', which is no parameter of it")
        states[name] = {key: value for key, value in numbers.items() if key not in _FOUND_AGAIN}
    # Names have dots too: the longest that fits owns a tensor.
    owners = sorted(names, key=len, reverse=True)
    for full in reader.header:
        owner = next((name for name in owners if full.startswith(name + ".")), None)
        if owner is None or owner not in states:
            raise reader.bad(f"has a tensor '{full}' of no parameter of it")
        _put(states[owner], full[len(owner) + 1 :].split("."), reader.tensor(full))
    return Found(states, reader.count("skipped"), reader.count("epoch"))
