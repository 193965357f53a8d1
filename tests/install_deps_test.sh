#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# scripts/install-deps on machines that are made up: a PATH of stubs, each of which logs its call.
set -euo pipefail

repository=$(cd "$(dirname "$0")/.." && pwd)
bash=$(command -v bash)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

# machine UID COMMAND...: a new machine with these commands and nothing installed.
machine() {
  rm -rf "${work:?}"/*
  mkdir -p "$work/bin" "$work/repo/scripts"
  cp "$repository/scripts/install-deps" "$work/repo/scripts/"
  cat >"$work/repo/packages.txt" <<'LIST'
# a comment
[core]   # another
one
two | other
[lab]
three
tool | command:tool
[empty]
LIST
  : >"$work/log"
  : >"$work/installed"
  local uid=$1 name
  shift
  for name in id "$@"; do
    {
      echo "#!$bash"
      # shellcheck disable=SC2016 # the stub expands these
      case $name in
        id) echo "echo $uid" ;;
        dpkg-query)
          echo "while read -r package; do echo \"installed \$package\"; done <'$work/installed'"
          echo "echo 'config-files one'"
          ;;
        apt-get)
          echo "echo \"apt-get \$*\" >>'$work/log'"
          echo '[[ -z ${FAIL:-} || $* != *$FAIL* ]]'
          ;;
        sudo) echo "echo \"sudo \$*\" >>'$work/log'; \"\$@\"" ;;
        env) echo 'shift; "$@"' ;;
      esac
    } >"$work/bin/$name"
    chmod +x "$work/bin/$name"
  done
}

install_deps() {
  status=0
  PATH=$work/bin "$bash" "$work/repo/scripts/install-deps" "$@" >"$work/out" 2>&1 || status=$?
}

# check WHAT CONDITION...
check() {
  local what=$1
  shift
  if ! "$@"; then
    echo "FAILED: $what (exit code $status)"
    sed 's/^/  output: /' "$work/out"
    sed 's/^/  log:    /' "$work/log"
    failures=$((failures + 1))
  fi
}
exits() { [[ $status == "$1" ]]; }
quiet() { [[ ! -s $work/out && ! -s $work/log ]]; }
says() { grep -qF -- "$1" "$work/out"; }
ran() { grep -qxF -- "$1" "$work/log"; }
did_not_run() { ! grep -qF -- "$1" "$work/log"; }

install_line='apt-get -q install -y --no-install-recommends'

machine 1000 dpkg-query apt-get sudo env
printf '%s\n' one two three tool >"$work/installed"
install_deps core lab
check "all there: exit 0" exits 0
check "all there: no word, no apt" quiet

printf '%s\n' one other three >"$work/installed"
echo "#!$bash" >"$work/bin/tool"
chmod +x "$work/bin/tool"
install_deps core lab
check "alternatives: exit 0" exits 0
check "alternatives: no word, no apt" quiet
install_deps empty
check "an empty group: exit 0" exits 0
check "an empty group: no word, no apt" quiet

machine 0 dpkg-query apt-get env
echo three >"$work/installed"
install_deps core lab
check "root: exit 0" exits 0
check "root: installs what is missing, the first of alternatives" ran "$install_line one two tool"
check "root: no update when the lists know the packages" did_not_run "update"

FAIL=--simulate install_deps core
check "root, no lists: exit 0" exits 0
check "root, no lists: update" ran "apt-get -q update"

: >"$work/log"
FAIL=no-install-recommends install_deps core
check "root, apt-get fails: exit 1" exits 1
check "root, apt-get fails: update before the second try" ran "apt-get -q update"
check "root, apt-get fails: says so" says "could not install: one two"

machine 1000 dpkg-query apt-get sudo env
install_deps core
check "sudo: exit 0" exits 0
check "sudo: shows the command" says "sudo env DEBIAN_FRONTEND=noninteractive $install_line one two"
check "sudo: runs it" ran "$install_line one two"

machine 1000 dpkg-query apt-get env
install_deps core lab
check "neither root nor sudo: exit 2" exits 2
check "neither root nor sudo: names" says "one two three tool"
check "neither root nor sudo: how to build by hand" says "cmake -S . -B build"
check "neither root nor sudo: does not try" did_not_run "no-install-recommends"

machine 0
install_deps core
check "not Debian: exit 2" exits 2
check "not Debian: names" says "one two"
check "not Debian: how to build by hand" says "cmake -S . -B build"

machine 0 dpkg-query apt-get env
install_deps core nonsense
check "unknown group: exit 2" exits 2
check "unknown group: names it" says "no group 'nonsense'"
check "unknown group: names the known" says "core lab empty"
check "unknown group: installs nothing" did_not_run "apt-get"
install_deps
check "no group: exit 2" exits 2

if ((failures)); then exit 1; fi
echo "all passed"
