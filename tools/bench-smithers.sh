#!/bin/sh
# Usage: tools/bench-smithers.sh ROUNDS COUNT TESTFLAG...
#
# Compares git-smithers with the library of the real Smithers, and prints a table of medians. A turn
# makes a repository or a database, and measures COUNT captures or loads. Each round has a turn of both
# for every row of the table. Every second round reverses the order, because a turn leaves work to the
# file system that slows the next turn. The remaining arguments are for go test.
#
# All files are in one new folder, in BENCH_DIR if it is set. They stay until the end, because ext4 is
# slow after deletions. Smithers runs in the bun of tools/smithers.sh, which must not install anything
# here, with a HOME of its own.
set -eu
cd "$(dirname "$0")/.."
rounds=$1 count=$2
shift 2
CI=true tools/smithers.sh
modules=$PWD/.tools/smithers/node_modules

base=${BENCH_DIR:-${TMPDIR:-/tmp}}
mkdir -p "$base"
work=$(cd "$base" && mktemp -d "$PWD/bench-smithers-XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
mkdir "$work/home"
cp testdata/bench/smithers.ts "$work"
ln -s "$modules" "$work/node_modules"
go test "$@" -c -o "$work/ours" ./timeline

# ours BENCHMARK is a turn of git-smithers.
ours() {
	BENCH_DIR=$work "$work/ours" -test.run '^$' -test.bench "$1" -test.benchtime "${count}x" >"$work/out" || {
		cat "$work/out"
		exit 1
	}
	cat "$work/out" >>"$work/figures"
}

# theirs capture|load NODES is a turn of Smithers.
databases=0
theirs() {
	databases=$((databases + 1))
	(cd "$work" && env -i HOME="$work/home" PATH="$PATH" TMPDIR="$work" DO_NOT_TRACK=1 \
		"$modules/.bin/bun" --no-install smithers.ts "$databases.db" "$1" "$2" "$count") >>"$work/figures"
}

capture() { ours "^BenchmarkCapture\$/^nodes=$1\$/^$2\$"; }
load() { ours '^BenchmarkLoad$/^everything$'; }

uptime
round=0
while [ $((round += 1)) -le "$rounds" ]; do
	echo "round $round of $rounds" >&2
	for nodes in 10 100 1000; do
		if [ $((round % 2)) = 1 ]; then
			capture "$nodes" relaxed
			theirs capture "$nodes"
			capture "$nodes" durable
		else
			capture "$nodes" durable
			theirs capture "$nodes"
			capture "$nodes" relaxed
		fi
	done
	if [ $((round % 2)) = 1 ]; then
		load
		theirs load 1000
	else
		theirs load 1000
		load
	fi
done
uptime

awk '
function median(key, n,    i, j, v, sorted) {
	for (i = 1; i <= n; i++) {
		v = value[key, i]
		for (j = i - 1; j > 0 && sorted[j] > v; j--) sorted[j + 1] = sorted[j]
		sorted[j + 1] = v
	}
	return n % 2 ? sorted[(n + 1) / 2] : (sorted[n / 2] + sorted[n / 2 + 1]) / 2
}
function cells(row, mode,    key, n, i) {
	key = row SUBSEP mode
	n = seen[key]
	if (!n) return sprintf(" %12s %6s", "-", "-")
	for (i = 1; i <= n; i++) value[key, "ratio", i] = value[key, i] / value[row, "smithers", i]
	return sprintf(" %9.3g ms %6.2g", median(key, n), median(key SUBSEP "ratio", n))
}
/^Benchmark/ {
	name = substr($1, 10)
	sub(/-[0-9]+$/, "", name)
	mode = "relaxed"
	if (match(name, /\/(smithers|relaxed|durable)$/)) {
		mode = substr(name, RSTART + 1)
		name = substr(name, 1, RSTART - 1)
	}
	if (!named[name]++) order[++rows] = name
	for (i = 3; i < NF; i++) if ($(i + 1) == "p50-ms") value[name, mode, ++seen[name, mode]] = $i
}
END {
	print "\nratio: git-smithers to Smithers in the same round"
	printf "%-18s %12s %12s %6s %12s %6s\n", "p50", "Smithers", "relaxed", "ratio", "durable", "ratio"
	for (i = 1; i <= rows; i++) {
		name = order[i]
		printf "%-18s %9.3g ms%s%s\n", name, median(name SUBSEP "smithers", seen[name, "smithers"]), cells(name, "relaxed"), cells(name, "durable")
	}
}' "$work/figures"
