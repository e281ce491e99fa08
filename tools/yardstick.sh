#!/bin/sh
# Usage: tools/yardstick.sh TESTFLAG...
#
# Measures our search for secrets by the samples of another scanner, gitleaks: the texts with and without secrets that each of
# its rules is tested with. They are made by its own code, in a copy of its module, whose test function prints the samples.
# Nothing of it is in the product.
set -eu
cd "$(dirname "$0")/.."
module=github.com/zricethezav/gitleaks/v8@v8.30.1
sum=h1:PmEvCfVI7ti9dV3s5aMZUY7sS2GxRvG3yzih7E+cS3w=

work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
found=$(cd "$work" && GOFLAGS= go mod download -json "$module")
got=$(printf '%s' "$found" | sed -n 's/^.*"Sum": "\(.*\)".*$/\1/p')
[ "$got" = "$sum" ] || { echo "$module has the sum $got instead of $sum"; exit 1; }
cp -r "$(printf '%s' "$found" | sed -n 's/^.*"Dir": "\(.*\)".*$/\1/p')" "$work/scanner"
chmod -R u+w "$work/scanner"
cp tools/yardstick/validate.go.txt "$work/scanner/cmd/generate/config/utils/validate.go"
# Its samples have random values. A fixed seed makes them the same each time.
sed -i 's/return g.Generate(1)/seed++; g.SetSeed(seed); return g.Generate(1)/; $a var seed int64' "$work/scanner/cmd/generate/secrets/regen.go"
(cd "$work/scanner/cmd/generate/config" && GOFLAGS=-mod=mod CGO_ENABLED=0 go run . "$work/config.toml" >"$work/samples")
YARDSTICK="$work/samples" go test "$@" -count=1 -v -run '^TestYardstick$' ./internal/redact
