#!/bin/sh
# Usage: tools/gotest.sh NAME [-memory] ARG...
#
# Runs go test -v with the arguments. It prints a line a package, and everything that a failed
# package printed. The names of the tests that passed go to the file .tests/NAME, as
# "package test", for tools/tests.sh. With -memory, temporary files of tests are in memory,
# if the machine has 4 GB of it to spare.
set -eu
cd "$(dirname "$0")/.."
name=$1
shift
mkdir -p .tests
status=.tests/$name.status
rm -f ".tests/$name" "$status"

if [ "${1:-}" = -memory ]; then
	shift
	if [ "$(df -Pk /dev/shm 2>/dev/null | awk 'NR == 2 { print int($4 / 4194304) }')" -gt 0 ] 2>/dev/null; then
		memory=$(mktemp -d /dev/shm/git-smithers-tests.XXXXXX)
		trap 'chmod -R u+w "$memory"; rm -rf "$memory"' EXIT
		trap 'exit 130' INT TERM
		chmod 755 "$memory" # some tests read as another user
		unset GOTMPDIR      # testing prefers it
		export TMPDIR="$memory"
	fi
fi

{
	code=0
	go test -v "$@" || code=$?
	echo $code >"$status"
} | awk -v names=".tests/$name" '
	/^(ok|FAIL|---|\?) *\t/ || /^FAIL$/ || /^ok / {
		package = $2
		if ($1 == "ok") for (i = 0; i < passed; i++) print package, test[i] >names
		if ($1 == "FAIL") for (i = 0; i < lines; i++) print line[i]
		if ($1 != "?") print
		lines = passed = 0
		next
	}
	/^ *--- PASS: / { test[passed++] = $3 }
	/^ *--- SKIP: / { print }
	/^=== (RUN|PAUSE|CONT|NAME)/ || /^ *--- PASS: / || /^PASS$/ { next }
	{ line[lines++] = $0 }
	END { for (i = 0; i < lines; i++) print line[i] }'
exit "$(cat "$status")"
