#!/bin/sh
# Usage: tools/soak.sh TESTFLAG...
#
# Runs every test there is: all but those with the real Smithers and LangGraph under the race detector with their files on disk, the
# scripts and working copies once more with the newer git and without the detector, kills and
# power cuts at every point, maintenance beside writers for ten minutes, every fuzzer for a
# minute, the search for secrets by the samples of another scanner, real coding agents, and reports in a browser. The arguments are for
# every go test. Afterwards testdata/soak.txt has the date, the commit, the result and how long
# each part took.
set -u
cd "$(dirname "$0")/.."
export SOAK=1
git diff --quiet HEAD || echo '*** there are uncommitted changes: the record will name a commit without them'
began=$(date +%s)
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
rm -rf .tests
race="-race -gcflags=modernc.org/...=-race=false"
engines='^TestSmithers|^TestLangGraph' # what they wait for is node and bun, and commands that other tests run with the detector
newer="$PWD/.tools/newer-git/bin:$PATH"

# part NAME COMMAND... notes how the command ended and how long it took; its output is shown if it fails.
part() {
	name=$1 start=$(date +%s) result=passed
	shift
	"$@" >"$logs/$name" 2>&1 || result=FAILED
	echo "$name: $result in $(($(date +%s) - start)) s" | tee -a "$logs/results"
	[ $result = passed ] || cat "$logs/$name"
}

fuzzers() { CGO_ENABLED=0 part fuzz tools/fuzz.sh 1m "$@"; }

tests() {
	part langgraph-sqlite tools/langgraph-sqlite.sh
	CGO_ENABLED=1 part race tools/gotest.sh race "$@" $race -timeout 60m -skip "$engines" ./...
	CGO_ENABLED=0 part engines tools/gotest.sh engines "$@" -count=1 -timeout 60m -run "$engines" . ./app
	PATH=$newer CGO_ENABLED=0 part newer-git tools/gotest.sh newer-git "$@" -timeout 60m -run '^TestScript' .
	PATH=$newer CGO_ENABLED=0 part newer-git-jj tools/gotest.sh newer-git-jj "$@" -timeout 60m ./internal/gitexec ./jjbridge
	EVERY_CUT=1 CGO_ENABLED=0 part crash tools/gotest.sh crash "$@" -count=1 -timeout 60m \
		-run 'Crash|Killed|DeadProcess|CutOfPower' ./objstore ./refs ./engine ./timeline ./peer/agent ./serve .
	MAINTENANCE_TEST_FOR=10m CGO_ENABLED=0 part maintenance tools/gotest.sh maintenance "$@" -count=1 -timeout 60m \
		-run 'Maintenance' .
	part agents make --no-print-directory test-agents
	part look make --no-print-directory look
	CGO_ENABLED=0 part secrets tools/yardstick.sh "$@"
}

fuzzers "$@" &
tests "$@"
wait
part names tools/names.sh

result=passed
! grep -q FAILED "$logs/results" || result=FAILED
{
	echo "soak: $result"
	echo "date: $(date -u +%Y-%m-%d)"
	echo "commit: $(git rev-parse HEAD)"
	echo "took: $((($(date +%s) - began) / 60)) min"
	cat "$logs/results"
} >testdata/soak.txt
cat testdata/soak.txt
[ $result = passed ]
