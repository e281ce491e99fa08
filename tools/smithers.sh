#!/bin/sh
# Fetches Smithers and the bun that runs it from npm, unless they are in the cache: 630 MB.
# If that fails, the script says so, and fails too if CI=true.
set -eu
cd "$(dirname "$0")/.."
. tools/cache.sh

wanted=testdata/smithers/package.json
before=2026-11-21 # the dependencies of the packages named there are those of that day
tool=smithers-$(cksum <"$wanted" | tr ' ' -)-$before

give_up() {
	echo "*** no Smithers: $1: the tests that need it are skipped"
	[ "${CI:-}" != true ]
	exit
}

if [ -e "$cache/$tool" ]; then
	use "$tool" smithers
	exit
fi

command -v npm >/dev/null || give_up 'there is no npm'
new=$cache/$tool.$$
mkdir -p "$new"
trap 'rm -rf "$new"' EXIT
cp "$wanted" "$new"
npm install --prefix "$new" --before "$before" --ignore-scripts --legacy-peer-deps --no-package-lock \
	--no-audit --no-fund --fetch-retries=5 --loglevel=error || give_up 'it cannot be fetched'

# The package bun has a file that says to run its script, which would put a copy of this there.
for bun in "$new"/node_modules/@oven/bun-*/bin/bun; do
	chmod +x "$bun"
	! "$bun" --version >/dev/null 2>&1 || break
done
"$bun" --version >/dev/null || give_up 'its bun does not run here'
ln -f "$bun" "$new/node_modules/bun/bin/bun.exe"

keep "$new" "$tool"
use "$tool" smithers
