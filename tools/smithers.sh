#!/bin/sh
# Fetches Smithers and the bun that runs it into .tools/smithers, from npm, unless they are
# there: 630 MB. Where that cannot be done it says so, and fails if CI=true.
set -eu
cd "$(dirname "$0")/.."

wanted=testdata/smithers/package.json
before=2026-11-21 # what the packages named there depend on is as it was on that day
dest=.tools/smithers

give_up() {
	echo "*** no Smithers: $1: the tests that need it are skipped"
	[ "${CI:-}" != true ]
	exit
}

! cmp -s "$wanted" "$dest/package.json" || exit 0

command -v npm >/dev/null || give_up 'there is no npm'
new=$dest.tmp
rm -rf "$new"
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

rm -rf "$dest"
mv "$new" "$dest"
