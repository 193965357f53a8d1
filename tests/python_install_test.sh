#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Builds the wheels, installs them into clean virtual environments and uses them there.
#
#   python_install_test.sh PYTHON WORK_DIR BUILD_DIR   wheels from a build tree: what they need and export;
#                                                      use with the system's torch, without torch, without
#                                                      tandem.lab; removing one leaves the other whole
#   python_install_test.sh PYTHON WORK_DIR             `pip install .`: everything is compiled anew
set -euo pipefail
source_dir=$(cd "$(dirname "$0")/.." && pwd)
python=$1
work=$2
build=${3:-}
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INDEX=1 PYTHONDONTWRITEBYTECODE=1
unset PYTHONPATH PYTHONHOME

rm -rf "$work"
mkdir -p "$work"
cd "$work"

fail() {
  echo "python_install_test: $*" >&2
  exit 1
}

# use ENVIRONMENT PART...
use() {
  local environment=$1
  shift
  "$work/$environment/bin/python" "$source_dir/tests/python_install_use.py" "$@"
}

# The files of a distribution are as they were installed.
check_files() {
  "$work/$1/bin/python" - "$2" <<'PYTHON'
import base64, hashlib, importlib.metadata, sys
for file in importlib.metadata.files(sys.argv[1]):
    if file.hash is not None:
        digest = hashlib.new(file.hash.mode, file.locate().read_bytes()).digest()
        assert base64.urlsafe_b64encode(digest).rstrip(b"=").decode() == file.hash.value, file
PYTHON
}

"$python" -m venv --system-site-packages with_torch
if [[ -z $build ]]; then
  with_torch/bin/pip install --quiet --no-build-isolation "$source_dir" "$source_dir/python/lab"
  use with_torch torch lab
  exit
fi

# ---- The wheels ----------------------------------------------------------------------------------

"$source_dir/scripts/build-wheels" "$build" dist "$python"
optim=$(echo dist/tandem_optim-*-py3-none-manylinux_*.whl)
lab=$(echo dist/tandem_lab-*-manylinux_*.whl)
[[ -f $optim && -f $lab ]] || fail "unexpected names in dist: $(ls dist)"

floor=$("$source_dir/scripts/glibc-floor" "$optim" "$lab")
[[ $(printf '%s\n' 2.28 "$floor" | sort -V | tail -n 1) == 2.28 ]] ||
  fail "the wheels need glibc $floor, expected 2.28 or older: scripts/glibc-floor --why"

"$python" -m zipfile -e "$optim" optim
"$python" -m zipfile -e "$lab" lab
exported=$(nm --dynamic --defined-only optim/tandem/_native.so | awk '$3 !~ /^tandem_v1_/')
[[ -z $exported ]] || fail "_native.so exports more than the C interface: $exported"
exported=$(nm --dynamic --defined-only lab/tandem/lab/_lab.*.so | awk '$3 != "PyInit__lab"')
[[ -z $exported ]] || fail "_lab.so exports more than PyInit__lab: $exported"
# No file is in both, and all of the laboratory is below tandem/lab.
[[ ! -e optim/tandem/lab ]] || fail "the wheel of tandem-optim has tandem/lab"
[[ $(ls lab/tandem) == lab ]] || fail "the wheel of tandem-lab has more than tandem/lab: $(ls lab/tandem)"
size=$(stat -c %s "$optim")
((size < 4 << 20)) || fail "the wheel of tandem-optim has $size bytes, expected less than 4 MB"

# ---- With the system's torch ---------------------------------------------------------------------

with_torch/bin/pip install --quiet --find-links dist tandem-optim tandem-lab
use with_torch torch lab

# ---- Without torch -------------------------------------------------------------------------------

"$python" -m venv without_torch
without_torch/bin/pip install --quiet --find-links dist tandem-optim
without_torch/bin/pip check
use without_torch no-torch no-lab
# Of the system's packages numpy alone.
packages=$(without_torch/bin/python -c 'import sysconfig; print(sysconfig.get_path("platlib"))')
numpy=$("$python" -c 'import numpy, pathlib; print(pathlib.Path(numpy.__file__).parents[1])')
ln -s "$numpy"/numpy "$numpy"/numpy-* "$packages"
without_torch/bin/pip install --quiet --find-links dist tandem-lab
without_torch/bin/pip check
use without_torch no-torch lab

# ---- Removed -------------------------------------------------------------------------------------

without_torch/bin/pip uninstall --quiet --yes tandem-optim
check_files without_torch tandem-lab
without_torch/bin/pip install --quiet --find-links dist tandem-optim
use without_torch no-torch lab
without_torch/bin/pip uninstall --quiet --yes tandem-lab
check_files without_torch tandem-optim
[[ ! -e $packages/tandem/lab ]] || fail "tandem-lab left files behind: $(ls "$packages/tandem/lab")"
use without_torch no-torch no-lab
