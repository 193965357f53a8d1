#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Generated files are those that the declarations give, and one that is not is found.
#
#   tests/generated_test.sh DESCRIBE_PROGRAM
set -euo pipefail
describe=$1
root=$(cd "$(dirname "$0")/.." && pwd)

"$root/scripts/generate" --check --describe "$describe"

# A copy of the tree, in which one file after the other is changed.
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
files=(include/tandem/options.h include/tandem/optimizers.h src/optimizers/classes.cc
  src/optimizers/rules/all.h tests/all_records.cc torch/include/tandem/torch/rules.h torch/rules.cc
  python/tandem/optim.py python/tandem/_rules.py README.md docs/torch.md)
for file in scripts/generate "${files[@]}" "$root"/src/optimizers/rules/*.cc; do
  file=${file#"$root/"}
  mkdir -p "$copy/$(dirname "$file")"
  cp "$root/$file" "$copy/$file"
done
"$copy/scripts/generate" --check --describe "$describe"
for file in "${files[@]}"; do
  if [[ $file == *.md ]]; then
    sed -i '/generated: optimizers/{n;d}' "$copy/$file"
  else
    echo >>"$copy/$file"
  fi
  if said=$("$copy/scripts/generate" --check --describe "$describe" 2>&1); then
    echo "a stale $file was not found" >&2
    exit 1
  fi
  if [[ $said != *"$file"* ]]; then
    echo "the message does not name $file: $said" >&2
    exit 1
  fi
  cp "$root/$file" "$copy/$file"
done
# A new declaration without `make generate`.
touch "$copy/src/optimizers/rules/new_rule.cc"
if "$copy/scripts/generate" --check --describe "$describe" 2>/dev/null; then
  echo "a declaration that is not listed was not found" >&2
  exit 1
fi
echo "${#files[@]} generated files are fresh, and were found when stale"
