#!/bin/sh
# Compares the tests that have passed, as tools/gotest.sh noted them in $TESTS, with the names in
# testdata/tests.txt, and fails if one of these did not run. Who renames or removes a test
# changes that file, in the same commit.
set -eu
cd "$(dirname "$0")/.."
lost=$(cat "${TESTS:-.tests}"/* 2>/dev/null | cut -d' ' -f1,2 | sort -u | awk 'NR == FNR { passed[$0] = 1; next } !($0 in passed)' - testdata/tests.txt)
[ -z "$lost" ] || {
	printf 'these tests did not run:\n%s\n' "$lost"
	exit 1
}
echo "$(wc -l <testdata/tests.txt) tests ran"
