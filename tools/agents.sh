#!/bin/sh
# Fetches the coding agents that `make test-agents` runs from npm, unless they are in the cache: Claude Code, 364 MB. It is
# proprietary (all rights reserved), and nothing of it is in this repository. If that fails, the script says so, and fails
# too if CI=true.
set -eu
cd "$(dirname "$0")/.."
. tools/cache.sh

package=@anthropic-ai/claude-code version=2.1.330
tool=claude-$version

give_up() {
	echo "*** no Claude Code: $1: the tests that need it are skipped"
	[ "${CI:-}" != true ]
	exit
}

if [ ! -e "$cache/$tool" ]; then
	command -v npm >/dev/null || give_up 'there is no npm'
	work=$cache/$tool.$$
	trap 'rm -rf "$work"' EXIT
	npm install --prefix "$work" --no-save --ignore-scripts --no-audit --no-fund --loglevel=error "$package@$version" ||
		give_up 'it cannot be fetched'
	(cd "$work/node_modules/$package" && node install.cjs >/dev/null) || give_up 'it cannot be installed'
	keep "$work" "$tool"
fi
use "$tool" claude
