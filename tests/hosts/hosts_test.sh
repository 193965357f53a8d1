#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# docs/postgres.md on three hosts and a server: network namespaces of this machine, which all end with the test.
#
#   tests/hosts/hosts_test.sh PYTHON PROGRAM
#
# Exit code 77, which ctest takes for "skipped", where that cannot be had.
set -euo pipefail

skip() {
  echo "skipped: $1"
  exit 77
}

PATH=$PATH:/usr/sbin:/sbin
for folder in /usr/lib/postgresql/*/bin; do PATH=$PATH:$folder; done
export PATH
for program in initdb postgres createdb ip unshare setpriv; do
  command -v "$program" >/dev/null ||
    skip "$program was not found (Debian: postgresql, iproute2, util-linux)"
done
if [[ $(id -u) != 0 ]]; then skip "networks of one's own need root"; fi
unshare --net --mount --pid --fork --mount-proc true 2>/dev/null ||
  skip "this system gives no namespaces for networks, mounts and processes"

# The first process of its namespace reaps what is left over, so bash stays below it.
exec unshare --net --mount --pid --fork --mount-proc bash -c '
  mkdir -p /run/netns && mount -t tmpfs none /run/netns && ip link set lo up || exit 1
  "$@"
  exit $?' hosts_test "$1" "${BASH_SOURCE[0]%/*}/hosts_test.py" "${@:2}"
