#!/bin/sh
# Fetches what the tests of the MCP server run, unless it is in the cache: the inspector and the conformance tests of the Model Context Protocol
# (MIT), and the node that they need, as npm's package node (MIT; 200 MB in all). If one cannot be had, the script says so, and fails too if CI=true.
set -eu
cd "$(dirname "$0")/.."
. tools/cache.sh

tool=mcp-2.12.0-0.1.16
if [ ! -e "$cache/$tool" ]; then
	work=$cache/$tool.$$
	trap 'rm -rf "$work"' EXIT
	if ! npm install --prefix "$work" --no-save --foreground-scripts --no-audit --no-fund --fetch-retries=5 --loglevel=error \
		node@22.23.3 @modelcontextprotocol/inspector@2.12.0 @modelcontextprotocol/conformance@0.1.16; then
		echo '*** no inspector for MCP: it cannot be fetched: the tests that need it are skipped'
		[ "${CI:-}" != true ]
		exit
	fi
	keep "$work" "$tool"
fi
use "$tool" mcp
