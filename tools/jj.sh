#!/bin/sh
# Fetches the jj that the tests run from npm, unless it is in the cache. If that fails, the
# script says so, and fails too if CI=true.
set -eu
cd "$(dirname "$0")/.."
. tools/cache.sh

version=0.32.0 # of the package; the jj in it is 0.42.0
tool=jj-$version

give_up() {
	echo "*** no jj: $1: the tests that need it are skipped"
	[ "${CI:-}" != true ]
	exit
}

case $(uname -s)-$(uname -m) in
Linux-x86_64) platform=linux-x64 ;;
Linux-aarch64) platform=linux-arm64 ;;
Darwin-x86_64) platform=darwin-x64 ;;
Darwin-arm64) platform=darwin-arm64 ;;
*) give_up "there is no package for $(uname -s) on $(uname -m)" ;;
esac
package=@smithers-orchestrator/jj-$platform

if [ ! -e "$cache/$tool" ]; then
	command -v npm >/dev/null || give_up 'there is no npm'
	work=$cache/$tool.$$
	trap 'rm -rf "$work"' EXIT
	npm install --prefix "$work" --no-save --ignore-scripts --no-audit --no-fund --loglevel=error "$package@$version" ||
		give_up "$package cannot be fetched"
	chmod +x "$work/node_modules/$package/bin/jj"
	keep "$work/node_modules/$package" "$tool"
fi
use "$tool" jj
