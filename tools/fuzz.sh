#!/bin/sh
# Usage: tools/fuzz.sh TIME ARG...
#
# Fuzzes every target for TIME, two targets side by side with a worker each. The arguments are
# for go test. go keeps an input that fails in the package's testdata/fuzz.
#
# Before Go 1.27, go can report its own deadline as a failure (https://go.dev/issue/75804). Such
# a run says "context deadline exceeded", and go kept no input. Its target is fuzzed again.
set -eu
cd "$(dirname "$0")/.."
time=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for package in $(go list ./...); do
	go test "$@" -list '^Fuzz' "$package" | awk -v package="$package" '/^Fuzz/ { print package, $1 }'
done >"$work/targets"

# fuzz LOG PACKAGE TARGET ARG... fuzzes one target, three times at most.
fuzz() {
	log=$1 package=$2 target=$3
	shift 3
	for try in 1 2 3; do
		go test "$@" -run '^$' -fuzz "^$target\$" -fuzztime "$time" -parallel 1 "$package" </dev/null >"$log" 2>&1 && return
		grep -q '^ *context deadline exceeded$' "$log" && ! grep -q 'Failing input written' "$log" || break
		echo "$package $target: go's deadline failed, try $try"
	done
	return 1
}

# lane LANE ARG... fuzzes every second target.
lane() {
	lane=$1
	shift
	awk -v lane="$lane" 'NR % 2 == lane' "$work/targets" | while read -r package target; do
		if fuzz "$work/log$lane" "$package" "$target" "$@"; then
			echo "$package $target: clean"
		else
			echo "$package $target: FAILED"
			cat "$work/log$lane"
			: >"$work/failed"
		fi
	done
}
lane 0 "$@" &
lane 1 "$@"
wait
[ ! -e "$work/failed" ]
