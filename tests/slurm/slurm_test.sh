#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# scripts/slurm-study on a real Slurm, in namespaces of its own: an address that is no loopback, and processes
# that all end with the test.
#
#   tests/slurm/slurm_test.sh PYTHON PROGRAM [ARGUMENT OF slurm_study_test.py...]
#
# Exit code 77, which ctest takes for "skipped", where that cannot be had.
set -euo pipefail

skip() {
  echo "skipped: $1"
  exit 77
}

PATH=$PATH:/usr/sbin:/sbin
for program in slurmctld slurmd sbatch munged ip unshare; do
  command -v "$program" >/dev/null ||
    skip "$program was not found (Debian: slurm-wlm, munge, iproute2, util-linux)"
done
if [[ $(id -u) != 0 ]]; then skip "Slurm's daemons need root"; fi
unshare --net --mount --pid --fork --mount-proc true 2>/dev/null ||
  skip "this system gives no namespaces for networks, mounts and processes"

# The first process of its namespace reaps what is left over, so bash stays below it.
exec unshare --net --mount --pid --fork --mount-proc bash -c '
  ip link set lo up && ip address add 10.99.0.1/24 dev lo || exit 1
  "$@"
  exit $?' slurm_test "$1" "${BASH_SOURCE[0]%/*}/slurm_study_test.py" "${@:2}"
