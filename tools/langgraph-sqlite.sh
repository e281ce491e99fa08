#!/bin/sh
# Fetches LangGraph's SqliteSaver from npm and builds its native part from source, unless it is in the cache: 60 MB. The build needs
# a C++ compiler, Python and the headers of node, which are in NODEDIR (/usr by default). If that fails, the script says so, and
# fails too.
set -eu
cd "$(dirname "$0")/.."
. tools/cache.sh

tool=langgraph-sqlite-1.0.4
if [ ! -e "$cache/$tool" ]; then
	new=$cache/$tool.$$
	trap 'rm -rf "$new"' EXIT
	mkdir -p "$new"
	echo '{"private":true,"overrides":{"@langchain/langgraph-sdk":"1.12.0","@langchain/protocol":"0.0.19"}}' >"$new/package.json"
	(cd "$new" && npm install --legacy-peer-deps --ignore-scripts --no-audit --no-fund --loglevel=error \
		@langchain/langgraph@1.4.18 @langchain/langgraph-checkpoint@1.1.5 @langchain/core@1.2.13 @langchain/langgraph-checkpoint-sqlite@1.0.4)
	(cd "$new/node_modules/better-sqlite3" && npx --yes node-gyp rebuild --release "--nodedir=${NODEDIR:-/usr}" >"$new/build.log" 2>&1) || {
		tail -20 "$new/build.log"
		echo '*** no SqliteSaver: it cannot be built: the test that needs it is skipped'
		exit 1
	}
	keep "$new" "$tool"
fi
use "$tool" langgraph-sqlite
