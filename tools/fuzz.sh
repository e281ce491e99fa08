#!/bin/sh
# Usage: tools/fuzz.sh TIME ARG...
#
# Fuzzes every target for TIME, two targets side by side with a worker each. The arguments are
# for go test. go keeps an input that fails in the package's testdata/fuzz.
set -eu
cd "$(dirname "$0")/.."
time=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for package in $(go list ./...); do
	go test "$@" -list '^Fuzz' "$package" | awk -v package="$package" '/^Fuzz/ { print package, $1 }'
done >"$work/targets"

# lane LANE ARG... fuzzes every second target.
lane() {
	lane=$1
	shift
	awk -v lane="$lane" 'NR % 2 == lane' "$work/targets" | while read -r package target; do
		if go test "$@" -run '^$' -fuzz "^$target\$" -fuzztime "$time" -parallel 1 "$package" </dev/null >"$work/log$lane" 2>&1; then
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
