# SPDX-License-Identifier: MIT
"""What setup.py (tandem-optim) and python/lab/setup.py (tandem-lab) share: CMake builds the native
module, and the wheel's tag says what that module needs.

Environment: CMAKE_ARGS are passed on to CMake; TANDEM_BUILD_DIR names a build tree that is there
already.
"""

from __future__ import annotations

import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
from typing import Any

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:  # before setuptools 70.1
    from wheel.bdist_wheel import bdist_wheel

ROOT = pathlib.Path(__file__).resolve().parents[1]


def version() -> str:
    text = (ROOT / "include/tandem/version.h").read_text()
    parts = dict(re.findall(r"#define TANDEM_VERSION_(MAJOR|MINOR|PATCH) (\d+)", text))
    return "{MAJOR}.{MINOR}.{PATCH}".format(**parts)


def configure(build: str) -> None:
    subprocess.run(
        [
            "cmake",
            *("-S", str(ROOT), "-B", build),
            "-DCMAKE_BUILD_TYPE=Release",
            "-DTANDEM_BUILD_TESTS=OFF",
            "-DTANDEM_BUILD_PROGRAM=OFF",
            "-DTANDEM_BUILD_TORCH=OFF",
            "-DTANDEM_BUILD_PYTHON=ON",
            f"-DPython3_EXECUTABLE={sys.executable}",
            *shlex.split(os.environ.get("CMAKE_ARGS", "")),
        ],
        check=True,
    )


def platform_tag(modules: list[pathlib.Path], default: str) -> str:
    """manylinux_2_18_x86_64 for modules that need nothing but glibc 2.18; else what setuptools says,
    which promises nothing about other systems."""
    command = [sys.executable, str(ROOT / "scripts/glibc-floor"), *map(str, modules)]
    try:
        floor = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return default
    return default.replace("linux_", f"manylinux_{floor.strip().replace('.', '_')}_")


def run(package: str, component: str, target: str, any_python: bool, **arguments: Any) -> None:
    """setuptools.setup() for the files of `package` and what `target` builds and the install
    component puts beside them."""

    class BuildModule(build_ext):
        def run(self) -> None:
            build = os.environ.get("TANDEM_BUILD_DIR")
            if build is None:
                build = str(ROOT / "build-python/cmake")
                configure(build)
            folder = ROOT / "python" if self.inplace else pathlib.Path(self.build_lib).resolve()
            jobs = str(self.parallel or os.cpu_count() or 2)
            for step in (
                ["--build", build, "--parallel", jobs, "--target", target],
                ["--install", build, "--component", component, "--prefix", str(folder)],
            ):
                subprocess.run(["cmake", *step], check=True)

        def get_outputs(self) -> list[str]:
            folder = pathlib.Path(self.build_lib, *package.split("."))
            return [str(path) for path in sorted(folder.iterdir()) if path.suffix != ".py"]

    class Wheel(bdist_wheel):
        def get_tag(self) -> tuple[str, str, str]:
            python, abi, platform = super().get_tag()
            if any_python:
                python, abi = "py3", "none"
            folder = pathlib.Path(self.bdist_dir, *package.split("."))
            return python, abi, platform_tag(sorted(folder.glob("*.so")), platform)

    # Beside the other build trees, without the files of an earlier build.
    base = ROOT / "build-python" / component
    shutil.rmtree(base, ignore_errors=True)
    base.mkdir(parents=True)
    setup(
        version=version(),
        packages=[package],
        ext_modules=[Extension(f"{package}._native", [])],  # so that it is a wheel for one platform
        cmdclass={"build_ext": BuildModule, "bdist_wheel": Wheel},
        options={
            "build": {"build_base": str(base)},
            "egg_info": {"egg_base": str(base)},
            "bdist_wheel": {"bdist_dir": str(base / "wheel")},
        },
        **arguments,
    )
