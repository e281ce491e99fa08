#!/bin/sh
# Usage: tools/bench-langgraph.sh BINARY
#
# Times puts and reads of LangGraph threads, ours and those of LangGraph's SqliteSaver by turns: each line of JSON is one
# program. SHAPES, STEPS and ROUNDS say what and how often, BENCH_DIR where: a folder in memory by default. The native part of
# the SqliteSaver is built from source, once.
set -eu
cd "$(dirname "$0")/.."
. tools/cache.sh
binary=$(realpath "$1")
dir=$(mktemp -d "${BENCH_DIR:-/dev/shm}/bench.XXXXXX")
trap 'rm -rf "$dir"' EXIT

sqlite=$cache/langgraph-sqlite-1.0.4
if [ ! -e "$sqlite" ]; then
	new=$sqlite.$$
	mkdir -p "$new"
	echo '{"private":true,"overrides":{"@langchain/langgraph-sdk":"1.12.0","@langchain/protocol":"0.0.19"}}' >"$new/package.json"
	(cd "$new" && npm install --legacy-peer-deps --ignore-scripts --no-audit --no-fund --loglevel=error \
		@langchain/langgraph@1.4.18 @langchain/langgraph-checkpoint@1.1.5 @langchain/core@1.2.13 @langchain/langgraph-checkpoint-sqlite@1.0.4)
	(cd "$new/node_modules/better-sqlite3" && npx --yes node-gyp rebuild --release "--nodedir=${NODEDIR:-/usr}" >"$new/build.log" 2>&1) ||
		{ tail -20 "$new/build.log"; exit 1; }
	mv "$new" "$sqlite"
fi

# Each saver has its own copy of LangGraph beside it.
for saver in git sqlite; do mkdir -p "$dir/$saver"; cp clients/langgraph/bench/bench.mjs "$dir/$saver"; done
ln -s "$sqlite/node_modules" "$dir/sqlite/node_modules"
cp -r clients/langgraph/src clients/langgraph/package.json clients/langgraph/tsconfig.json "$dir/git"
ln -s "$(realpath .tools/langgraph)/node_modules" "$dir/git/node_modules"
(cd "$dir/git" && node_modules/.bin/tsc -p tsconfig.json)

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
