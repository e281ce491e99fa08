#!/bin/sh
# Fetches LangGraph in two versions, its tests for savers, TypeScript and vitest from npm, unless they are in the cache: 123 MB for each
# version. They need node 20; where there is an older one, as in Debian 12, node 20 is fetched, too: 150 MB more. If that fails, the
# script says so, and fails too if CI=true.
set -eu
cd "$(dirname "$0")/.."
. tools/cache.sh

give_up() {
	echo "*** no LangGraph: $1: the tests that need it are skipped"
	[ "${CI:-}" != true ]
	exit
}

# modules FOLDER NAME makes .tools/NAME the folder with the modules that the lock file in FOLDER names.
modules() {
	tool=langgraph-$(cksum <"$1/package-lock.json" | tr ' ' -)
	if [ ! -e "$cache/$tool" ]; then
		command -v npm >/dev/null || give_up 'there is no npm'
		new=$cache/$tool.$$
		mkdir -p "$new"
		trap 'rm -rf "$new"' EXIT
		cp "$1/package.json" "$1/package-lock.json" "$new"
		(cd "$new" && npm ci --ignore-scripts --legacy-peer-deps --no-audit --no-fund --fetch-retries=5 --loglevel=error) ||
			give_up 'it cannot be fetched'
		keep "$new" "$tool"
	fi
	use "$tool" "$2"
}
modules clients/langgraph langgraph
modules clients/langgraph/newest langgraph-newest

if ! node -e 'process.exit(Number(parseInt(process.versions.node) < 20))'; then
	node=node-20.20.2
	if [ ! -e "$cache/$node" ]; then
		new=$cache/$node.$$
		trap 'rm -rf "$new"' EXIT
		npm install --prefix "$new" --no-save --ignore-scripts --no-audit --no-fund --fetch-retries=5 --loglevel=error \
			"node-linux-$(uname -m | sed 's/x86_64/x64/; s/aarch64/arm64/')@20.20.2" || give_up 'node 20 cannot be fetched'
		mkdir "$new/bin"
		(cd "$new/bin" && ln -s ../node_modules/node-linux-*/bin/node node && ./node --version) || give_up 'there is no node 20 for this machine'
		keep "$new" "$node"
	fi
	use "$node" node
fi
