#!/bin/sh
# Usage: tools/gotest.sh NAME [-memory] ARG...
#
# Runs go test -v with the arguments. It prints a line a package, of a failed package what its
# failed tests logged and what no test logged, and at the end the names of the tests that failed, the ten
# tests that took longest, the packages whose tests took a quarter longer than testdata/seconds.txt says, and how many tests
# passed and were skipped. Every ten seconds it says how far it is.
# The names of the tests that passed go to the file NAME in $TESTS, which is .tests by default, as
# "package test seconds", for tools/names.sh; the names of skipped tests go to NAME.skipped. KEEP_SECONDS=1 writes the lines of NAME in
# testdata/seconds.txt anew: on a machine that does nothing else. With -memory, temporary files of tests are in memory, if the machine has 4 GB
# of it to spare.
set -eu
cd "$(dirname "$0")/.."
name=$1
shift
tests=${TESTS:-.tests}
mkdir -p "$tests"
status=$tests/$name.status
rm -f "$tests/$name" "$status" "$tests/$name.skipped"

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

began=$(date +%s)
echo 0 >"$tests/$name.now"
group=$(ps -o pgid= -p $$ | tr -d ' ')
at_work() { # the test programs of this process group, or building
	ps -eo pgid=,args= | awk -v group="$group" '$1 == group && $2 ~ /\.test$/ { sub(/.*\//, "", $2); sub(/\.test$/, "", $2); if (!($2 in seen)) printf "%s %s", seen[$2] = n++ ? "," : "", $2 } END { if (!n) printf " building" }'
}
(while sleep 10; do echo "$name: $(($(date +%s) - began)) s, $(cat "$tests/$name.now") packages done, at work:$(at_work)" >&2; done) &
ticker=$!

{
	code=0
	go test -v "$@" || code=$?
	echo $code >"$status"
} | awk -v names="$tests/$name" -v lane="$name" -v keep="${KEEP_SECONDS:-}" '
	BEGIN { passes = lines = 0 }
	# What a test logs is indented by four or eight spaces. Anything else, as a panic or a race, may be of anybody.
	function show(i) { return failures == 0 || line[i] !~ /^    ([^ ]|    )/ || owner[i] in failed }
	/^(ok|FAIL|---|\?) *\t/ || /^FAIL$/ || /^ok / {
		if ($1 == "ok") for (i = 0; i < passes; i++) print $2, passed[i], took[i] >names
		if ($1 == "ok") for (i = 0; i < passes; i++) if (passed[i] !~ /\//) { sum[$2] += took[i]; slow[slows++] = took[i] " " $2 " " passed[i] }
		if ($1 ~ /^(ok|FAIL|---)$/ && $2 != "") {
			print ++packages >(names ".now")
			close(names ".now")
		}
		if ($1 == "FAIL") for (i = 0; i < lines; i++) if (show(i)) print line[i]
		if ($1 != "?") print
		lines = passes = failures = 0
		split("", failed)
		next
	}
	/^=== (RUN|PAUSE|CONT|NAME)/ { test = $3; next }
	/^ *--- PASS: / { passed[passes] = $3; took[passes++] = substr($4, 2) + 0; ran++; next }
	/^PASS$/ { next }
	/^ *--- SKIP: / { print; print $3 >(names ".skipped"); skipped++; next }
	/^ *--- FAIL: / { failed[$3]; failures++; ended[all++] = $3; owner[lines] = $3; line[lines++] = $0; next }
	{ owner[lines] = test; line[lines++] = $0 }
	END {
		for (i = 0; i < lines; i++) print line[i]
		for (i = 0; i < all; i++) print "failed: " ended[i]
		dearest = "sort -rn | head -10 | sed \"s/^/took longest: /\""
		for (i = 0; i < slows; i++) print slow[i] | dearest
		close(dearest)
		while ((getline <"testdata/seconds.txt") > 0) {
			if ($1 == lane && sum[$2] > 1.25 * $3 && sum[$2] > $3 + 2) printf "grew: the tests of %s took %.1f s, not %.1f\n", $2, sum[$2], $3
			if ($1 != lane) others[kept++] = $0
		}
		if (keep) {
			sorted = "LC_ALL=C sort >testdata/seconds.txt"
			for (i = 0; i < kept; i++) print others[i] | sorted
			for (one in sum) if (sum[one] >= 1) printf "%s %s %.0f\n", lane, one, sum[one] | sorted
			close(sorted)
		}
		printf "%s: %d passed, %d failed, %d skipped\n", lane, ran, all, skipped
	}'
kill $ticker 2>/dev/null || :
exit "$(cat "$status")"
