#!/bin/sh
# Fetches the jj that the tests run into .tools, from npm, unless it is there. Where that
# cannot be done it says so, and fails if CI=true.
set -eu
cd "$(dirname "$0")/.."

version=0.32.0 # of the package; the jj in it is 0.42.0

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
folder=.tools/node_modules/$package

if ! grep -qs "\"version\": \"$version\"" "$folder/package.json"; then
	command -v npm >/dev/null || give_up 'there is no npm'
	npm install --prefix .tools --no-save --ignore-scripts --no-audit --no-fund --loglevel=error "$package@$version" ||
		give_up "$package cannot be fetched"
fi
[ -x "$folder/bin/jj" ] || chmod +x "$folder/bin/jj"
