#!/bin/sh
# Usage: tools/agents-newest.sh TESTFLAG... tries each coding agent in the newest version that npm has, and prints a table: the version, the pinned one, and
# whether the agent's tests passed. .tests/agents-newest has the output of each agent. NAMES="claude codex" tries these alone.
set -u
cd "$(dirname "$0")/.."
logs=.tests/agents-newest
mkdir -p "$logs"
status=0
printf '%-10s %-12s %-12s %s\n' agent newest pinned tests
for name in ${NAMES:-claude codex gemini opencode pi qwen}; do
	rm -f ".tools/$name-newest"
	tools/agents.sh --newest "$name" >"$logs/$name" 2>&1
	result=failed
	[ ! -e ".tools/$name-newest" ] && result=skipped
	if [ $result != skipped ]; then
		test=TestAgent$(printf %s "$name" | cut -c1 | tr a-z A-Z)$(printf %s "$name" | cut -c2-)
		AGENTS=newest CGO_ENABLED=0 go test "$@" -count=1 -v -run "^$test" . >>"$logs/$name" 2>&1 && result=passed
		grep -q '^--- SKIP' "$logs/$name" && ! grep -q '^--- [PF]' "$logs/$name" && result=skipped
	fi
	[ $result = passed ] || status=1
	of() { basename "$(readlink ".tools/$1")" | sed "s/^$name-//"; }
	printf '%-10s %-12s %-12s %s\n' "$name" "$(of "$name-newest")" "$(of "$name")" "$result"
	grep -h '^--- FAIL\|Error:  ' "$logs/$name" | cut -c1-150 | sed 's/^ */           /' | head -5
done
exit $status
