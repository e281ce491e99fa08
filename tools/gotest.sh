#!/bin/sh
# Usage: tools/gotest.sh NAME [-memory] ARG...
#
# Runs go test -v with the arguments. It prints a line a package, of a failed package what its
# failed tests logged and what no test logged, and at the end the names of the tests that failed.
# The names of the tests that passed go to the file NAME in $TESTS, which is .tests by default, as
# "package test", for tools/names.sh. With -memory, temporary files of tests are in memory, if the machine has 4 GB
# of it to spare.
set -eu
cd "$(dirname "$0")/.."
name=$1
shift
tests=${TESTS:-.tests}
mkdir -p "$tests"
status=$tests/$name.status
rm -f "$tests/$name" "$status"

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
} | awk -v names="$tests/$name" '
	# What a test logs is indented by four or eight spaces. Anything else, as a panic or a race, may be of anybody.
	function show(i) { return failures == 0 || line[i] !~ /^    ([^ ]|    )/ || owner[i] in failed }
	/^(ok|FAIL|---|\?) *\t/ || /^FAIL$/ || /^ok / {
		if ($1 == "ok") for (i = 0; i < passes; i++) print $2, passed[i] >names
		if ($1 == "FAIL") for (i = 0; i < lines; i++) if (show(i)) print line[i]
		if ($1 != "?") print
		lines = passes = failures = 0
		split("", failed)
		next
	}
	/^=== (RUN|PAUSE|CONT|NAME)/ { test = $3; next }
	/^ *--- PASS: / { passed[passes++] = $3; next }
	/^PASS$/ { next }
	/^ *--- SKIP: / { print; next }
	/^ *--- FAIL: / { failed[$3]; failures++; ended[all++] = $3; owner[lines] = $3; line[lines++] = $0; next }
	{ owner[lines] = test; line[lines++] = $0 }
	END {
		for (i = 0; i < lines; i++) print line[i]
		for (i = 0; i < all; i++) print "failed: " ended[i]
	}'
exit "$(cat "$status")"
