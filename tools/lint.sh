#!/bin/sh
# Builds the linter of tools/go.mod, unless it is in the cache, and links it as .tools/golangci-lint.
set -eu
cd "$(dirname "$0")/.."
. tools/cache.sh

tool=golangci-lint-$(sed -n 's|.*/golangci-lint/v2 \(v[^ ]*\).*|\1|p' tools/go.mod)-$(go env GOVERSION)
if [ ! -e "$cache/$tool" ]; then
	work=$cache/$tool.$$
	trap 'rm -rf "$work"' EXIT
	go build -C tools -trimpath -o "$work" github.com/golangci/golangci-lint/v2/cmd/golangci-lint
	keep "$work" "$tool"
fi
use "$tool" golangci-lint
