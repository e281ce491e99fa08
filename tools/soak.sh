#!/bin/sh
# Usage: tools/soak.sh TESTFLAG...
#
# Runs every test there is: all but those with the real Smithers and LangGraph under the race detector with their files on disk, the
# scripts and working copies once more with the newer git and without the detector, also in sha256 and reftable repositories, those of jj with the newer jj, kills and
# power cuts at every point, maintenance beside writers for ten minutes, every fuzzer for a
# minute, the search for secrets by the samples of another scanner, real coding agents, reports in a browser, and the limits of CPU. The
# arguments are for every go test.
#
# The result of each part is kept by commit, in .soak: a soak that was cut off, or in which a part
# failed, goes on with the parts that have not passed at this commit. A part that failed before it
# passed says so. PARTS="crash look" runs these parts alone. When every part has ended, testdata/soak.txt has the date, the commit, the
# result and how long each part took.
set -u
cd "$(dirname "$0")/.."
export SOAK=1
git diff --quiet HEAD -- . ':!testdata/soak.txt' || {
	echo '*** there are uncommitted changes, and results are kept by commit: commit first' >&2
	exit 1
}
commit=$(git rev-parse HEAD)
kept=.soak/$commit
mkdir -p "$kept"
began=$(date +%s)
export TESTS="$kept/tests"
race="-race -gcflags=modernc.org/...=-race=false"
engines='^TestSmithers|^TestLangGraph' # what they wait for is node and bun, and commands that other tests run with the detector
newer="$PWD/.tools/newer-git/bin:$PATH"
parts='langgraph-sqlite fuzz race engines newer-git sha1-reftable sha1-reftable-scripts sha256-files sha256-files-scripts sha256-reftable sha256-reftable-scripts newer-git-jj newer-jj newer-jj-sha256 newer-jj-scripts crash maintenance agents agents-older mcp look secrets gates names'

# part NAME COMMAND... keeps how the command ended and how long it took, unless it has passed at this commit; its output is shown if it
# fails.
part() {
	name=$1 start=$(date +%s) result=passed
	shift
	case " ${PARTS:-$parts} " in *" $name "*) ;; *) return ;; esac
	if grep -q ": passed" "$kept/$name" 2>/dev/null; then
		cat "$kept/$name"
		return
	fi
	"$@" >"$kept/$name.log" 2>&1 || result=FAILED
	again=
	[ ! -e "$kept/$name" ] || again=', after a failure'
	echo "$name: $result in $(($(date +%s) - start)) s$again" >"$kept/$name.new"
	mv "$kept/$name.new" "$kept/$name"
	echo $(($(date +%s) - began)) >"$kept/took.$began"
	cat "$kept/$name"
	[ $result = passed ] || cat "$kept/$name.log"
}

fuzzers() { CGO_ENABLED=0 part fuzz tools/fuzz.sh 1m "$@"; }

tests() {
	part langgraph-sqlite tools/langgraph-sqlite.sh
	CGO_ENABLED=1 part race tools/gotest.sh race "$@" $race -timeout 60m -skip "$engines" ./...
	CGO_ENABLED=0 part engines tools/gotest.sh engines "$@" -count=1 -timeout 60m -run "$engines" . ./internal/app
	PATH=$newer CGO_ENABLED=0 part newer-git tools/gotest.sh newer-git "$@" -timeout 60m -run '^TestScript' .
	# Without -count=1, go test takes the results of another kind: it does not see what the environment of a git is.
	for kind in sha1-reftable sha256-files sha256-reftable; do
		export GIT_DEFAULT_HASH=${kind%-*} GIT_DEFAULT_REF_FORMAT=${kind#*-}
		PATH=$newer CGO_ENABLED=0 part $kind tools/gotest.sh $kind "$@" -count=1 -timeout 60m ./objstore ./refs ./internal/refs/... ./jjbridge/... ./sqliteindex ./timeline/... \
			./internal/peer/agent/... ./internal/peer/langgraph ./internal/serve ./internal/share/... ./internal/upkeep/...
		PATH=$newer CGO_ENABLED=0 part $kind-scripts tools/gotest.sh $kind-scripts "$@" -count=1 -timeout 60m -run '^TestScript' .
		unset GIT_DEFAULT_HASH GIT_DEFAULT_REF_FORMAT
	done
	PATH=$newer CGO_ENABLED=0 part newer-git-jj tools/gotest.sh newer-git-jj "$@" -timeout 60m ./internal/gitexec ./jjbridge
	JJ_TOOL=newer-jj PATH=$newer CGO_ENABLED=0 part newer-jj tools/gotest.sh newer-jj "$@" -timeout 60m ./jjbridge/...
	JJ_TOOL=newer-jj GIT_DEFAULT_HASH=sha256 PATH=$newer CGO_ENABLED=0 part newer-jj-sha256 tools/gotest.sh newer-jj-sha256 "$@" -timeout 60m ./jjbridge/...
	JJ_TOOL=newer-jj PATH=$newer CGO_ENABLED=0 part newer-jj-scripts tools/gotest.sh newer-jj-scripts "$@" -timeout 60m \
		-run "^TestScript\$/^($(grep -l '\[!*jj\]' testdata/script/*.txtar | sed 's|.*/||; s|\.txtar||' | paste -sd'|'))\$" .
	EVERY_CUT=1 CGO_ENABLED=0 part crash tools/gotest.sh crash "$@" -count=1 -timeout 60m \
		-run 'Crash|Killed|DeadProcess|CutOfPower' ./objstore ./refs ./internal/engine ./timeline ./internal/peer/agent ./internal/serve .
	MAINTENANCE_TEST_FOR=10m CGO_ENABLED=0 part maintenance tools/gotest.sh maintenance "$@" -count=1 -timeout 60m \
		-run 'Maintenance' .
	part agents make --no-print-directory test-agents
	part agents-older make --no-print-directory agents-older
	part mcp make --no-print-directory test-mcp
	part look make --no-print-directory look
	CGO_ENABLED=0 part secrets tools/yardstick.sh "$@"
}

fuzzers "$@" &
tests "$@"
wait
part gates make --no-print-directory bench-gates
part names tools/names.sh

missing=$(for name in $parts; do [ -e "$kept/$name" ] || echo "$name"; done)
if [ -n "$missing" ]; then
	echo "not run at this commit:" $missing
	exit 1
fi
results=$(cd "$kept" && cat $parts)
result=passed
! echo "$results" | grep -q FAILED || result=FAILED
{
	echo "soak: $result"
	echo "date: $(date -u +%Y-%m-%d)"
	echo "commit: $commit"
	echo "took: $((($(cat "$kept"/took.* | paste -sd+ -)) / 60)) min"
	echo "$results"
} >testdata/soak.txt
cat testdata/soak.txt
[ $result = passed ]
