#!/bin/sh
# Fetches LangGraph, its tests for savers, TypeScript and vitest from npm, unless they are in the cache: 180 MB. If that
# fails, the script says so, and fails too if CI=true.
set -eu
cd "$(dirname "$0")/.."
. tools/cache.sh

client=clients/langgraph
tool=langgraph-$(cksum <"$client/package-lock.json" | tr ' ' -)

give_up() {
	echo "*** no LangGraph: $1: the tests that need it are skipped"
	[ "${CI:-}" != true ]
	exit
}

if [ ! -e "$cache/$tool" ]; then
	command -v npm >/dev/null || give_up 'there is no npm'
	new=$cache/$tool.$$
	mkdir -p "$new"
	trap 'rm -rf "$new"' EXIT
	cp "$client/package.json" "$client/package-lock.json" "$new"
	(cd "$new" && npm ci --ignore-scripts --legacy-peer-deps --no-audit --no-fund --fetch-retries=5 --loglevel=error) ||
		give_up 'it cannot be fetched'
	keep "$new" "$tool"
fi
use "$tool" langgraph
