#!/bin/sh
# Usage: tools/bench-langgraph.sh BINARY
#
# Times puts and reads of LangGraph threads, ours and those of LangGraph's SqliteSaver by turns: each line of JSON is one
# program. SHAPES, STEPS and ROUNDS say what and how often, BENCH_DIR where: a folder in memory by default. With BENCH_INTO, it only
# puts both savers into that folder, for tools/gates.
set -eu
cd "$(dirname "$0")/.."
binary=$(realpath "$1")
dir=${BENCH_INTO:-$(mktemp -d "${BENCH_DIR:-/dev/shm}/bench.XXXXXX")}
[ -n "${BENCH_INTO:-}" ] || trap 'rm -rf "$dir"' EXIT

tools/langgraph-sqlite.sh
sqlite=$(realpath .tools/langgraph-sqlite)

# Each saver has its own copy of LangGraph beside it.
for saver in git sqlite; do mkdir -p "$dir/$saver"; cp clients/langgraph/bench/bench.mjs "$dir/$saver"; done
ln -s "$sqlite/node_modules" "$dir/sqlite/node_modules"
cp -r clients/langgraph/src clients/langgraph/package.json clients/langgraph/tsconfig.json "$dir/git"
ln -s "$(realpath .tools/langgraph)/node_modules" "$dir/git/node_modules"
(cd "$dir/git" && node_modules/.bin/tsc -p tsconfig.json)
[ -z "${BENCH_INTO:-}" ] || exit 0

for round in $(seq "${ROUNDS:-3}"); do
	for shape in ${SHAPES:-1k 50k 1m append}; do
		for saver in sqlite git; do
			data=$dir/data
			rm -rf "$data"
			git init -q "$data"
			git -C "$data" -c user.name=bench -c user.email=bench@example.invalid commit -q --allow-empty -m begin
			[ $saver = git ] || { rm -rf "$data"; mkdir "$data"; }
			GIT_SMITHERS=$binary node "$dir/$saver/bench.mjs" $saver "$shape" "${STEPS:-1000}" "$data" "${DURABILITY:-process}"
		done
	done
done
