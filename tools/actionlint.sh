#!/bin/sh
# Lints action.yml, and the jobs of docs/ci.md that use it, with actionlint. It looks at the inputs and the form of an action; setupaction_test.go runs its steps.
set -eu
cd "$(dirname "$0")/.."
. tools/cache.sh

version=v1.7.12
tool=actionlint-$version-$(go env GOVERSION)
if [ ! -e "$cache/$tool" ]; then
	work=$cache/$tool.$$
	trap 'rm -rf "$work"' EXIT
	GOBIN=$work GOFLAGS=-trimpath go install "github.com/rhysd/actionlint/cmd/actionlint@$version"
	keep "$work" "$tool"
fi

# actionlint reads an action where a job of the same repository uses it.
jobs=$(mktemp -d)
trap 'rm -rf "${work-}" "$jobs"' EXIT
git init -q "$jobs"
mkdir -p "$jobs/.github/workflows"
cp action.yml "$jobs"
awk -v dir="$jobs/.github/workflows" '
	/^    / || /^$/ { block = block substr($0, 5) "\n"; next }
	{ if (index(block, "\njobs:\n")) printf "%s", block >(dir "/" ++jobs ".yml"); block = "" }
' docs/ci.md
sed -i.bak 's|git-smithers/git-smithers@[^ ]*|./|' "$jobs"/.github/workflows/*.yml
rm "$jobs"/.github/workflows/*.bak
cd "$jobs" && "$cache/$tool/actionlint" -no-color
