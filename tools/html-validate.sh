#!/bin/sh
# Fetches html-validate from npm, unless it is in the cache (MIT, 16 MB). Version 9 is the last that node 18 runs. If it cannot be had, the script says so, and fails too if
# CI=true.
set -eu
cd "$(dirname "$0")/.."
. tools/cache.sh

tool=html-validate-9.7.1
if [ ! -e "$cache/$tool" ]; then
	work=$cache/$tool.$$
	trap 'rm -rf "$work"' EXIT
	if ! npm install --prefix "$work" --no-save --ignore-scripts --no-audit --no-fund --fetch-retries=5 --loglevel=error html-validate@9.7.1; then
		echo '*** no html-validate: it cannot be fetched: the tests that need it are skipped'
		[ "${CI:-}" != true ]
		exit
	fi
	keep "$work" "$tool"
fi
use "$tool" html-validate
