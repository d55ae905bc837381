#!/usr/bin/env bash
# Runs the two commands of the README, each in a fresh clone of the committed state, in a temporary
# folder.
set -euo pipefail
source=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for command in 'npm ci && npm run demo' 'npm ci && npm test'; do
  printf '\n== %s\n' "$command"
  rm -rf "$work/capstan"
  git clone --quiet "$source" "$work/capstan"
  (cd "$work/capstan" && bash -euc "$command" </dev/null)
done
echo 'both commands work in a fresh clone'
