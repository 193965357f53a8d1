# SPDX-License-Identifier: MIT
"""Builds the native modules of the Python package with CMake. What is not found (LibTorch, packages
of the laboratory) is left out, and CMake says so; `tandem` then says it when it is asked for.

CMAKE_ARGS in the environment are passed on; TANDEM_BUILD_DIR names a build tree that is there already.
"""

import os
import pathlib
import re
import shlex
import subprocess
import sys

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

HERE = pathlib.Path(__file__).resolve().parent


def version() -> str:
    text = (HERE / "include/tandem/version.h").read_text()
    parts = dict(re.findall(r"#define TANDEM_VERSION_(MAJOR|MINOR|PATCH) (\d+)", text))
    return "{MAJOR}.{MINOR}.{PATCH}".format(**parts)


def torch_prefix() -> "list[str]":
    """Where the torch of this Python keeps its CMake files, if it has any."""
    try:
        import torch
    except ImportError:
        return []
    prefix = pathlib.Path(torch.utils.cmake_prefix_path)
    return [f"-DCMAKE_PREFIX_PATH={prefix}"] if (prefix / "Torch").is_dir() else []


def configure(build: str) -> None:
    subprocess.run(
        [
            "cmake",
            *("-S", str(HERE), "-B", build),
            "-DCMAKE_BUILD_TYPE=Release",
            # One file a module, without libraries of ours beside it.
            "-DBUILD_SHARED_LIBS=OFF",
            "-DTANDEM_BUILD_TESTS=OFF",
            "-DTANDEM_BUILD_PROGRAM=OFF",
            "-DTANDEM_BUILD_PYTHON=ON",
            f"-DPython3_EXECUTABLE={sys.executable}",
            *torch_prefix(),
            *shlex.split(os.environ.get("CMAKE_ARGS", "")),
        ],
        check=True,
    )


class CMakeBuild(build_ext):
    def run(self) -> None:
        build = os.environ.get("TANDEM_BUILD_DIR")
        if build is None:
            build = str(pathlib.Path(self.build_temp).resolve())
            configure(build)
        package = HERE / "python" if self.inplace else pathlib.Path(self.build_lib).resolve()
        jobs = str(self.parallel or os.cpu_count() or 2)
        for arguments in (
            ["--build", build, "--parallel", jobs, "--target", "tandem_python"],
            ["--install", build, "--component", "python", "--prefix", str(package)],
        ):
            subprocess.run(["cmake", *arguments], check=True)

    def get_outputs(self) -> "list[str]":
        package = pathlib.Path(self.build_lib) / "tandem"
        return [str(path) for path in (*package.glob("*.so*"), package / "_version.py")]


setup(
    version=version(),
    ext_modules=[Extension("tandem._native", [])],  # so that setuptools builds for this machine
    cmdclass={"build_ext": CMakeBuild},
)
