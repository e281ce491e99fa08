# Makes a table of what `go test -bench` prints: a row for each benchmark and
# metric, with the figures of its /durable and /relaxed cases side by side.
# A benchmark without these cases has one figure. What else is printed, such as a
# failure, is passed on; a failure makes the exit status 1.

function figure(value, unit) {
	if (unit == "ns/op") { value /= 1e6; unit = "ms" }
	sub(/^(p[0-9]+|with|without|more|hook(-[0-9A-Z]+)?|status|said|open|ended)-/, "", unit)
	if (unit == "B" || unit == "bytes" || unit ~ /^B\//) {
		if (value >= 1e6) return sprintf("%.1f MB", value / 1e6)
		if (value >= 1e3) return sprintf("%.1f KB", value / 1e3)
		return sprintf("%d B", value)
	}
	if (value >= 100) return sprintf("%.0f %s", value, unit)
	return sprintf("%.3g %s", value, unit)
}

function metric(unit) {
	if (unit == "ns/op") return "mean"
	if (match(unit, /^(p[0-9]+|with|without|more|hook(-[0-9A-Z]+)?|status|said|open|ended)-/)) return substr(unit, 1, RLENGTH - 1)
	return unit
}

/^cpu: / && !cpu++ { print }
/^(PASS|ok |\?|goos: |goarch: |pkg: |cpu: )/ { next }
/^(--- FAIL|FAIL|panic:)/ { failed = 1 }
!/^Benchmark/ { print }

/^Benchmark/ && NF >= 4 {
	name = substr($1, 10)
	sub(/-[0-9]+$/, "", name)
	mode = "one"
	if (sub(/\/durable$|\/durable\//, "/", name)) mode = "durable"
	else if (sub(/\/relaxed$|\/relaxed\//, "/", name)) mode = "relaxed"
	sub(/\/$/, "", name)
	measured = 0 # by the benchmark itself; its time an iteration then says nothing
	for (i = 3; i < NF; i += 2) measured += $(i + 1) !~ /^(ns|B|allocs)\/op$/
	for (i = 3; i < NF; i += 2) {
		unit = $(i + 1)
		if (unit == "B/op" || unit == "allocs/op" || (measured && unit == "ns/op")) continue
		key = name SUBSEP metric(unit)
		if (!(key in seen)) { seen[key] = 1; order[++rows] = key }
		cell[key, mode] = figure($i, unit)
	}
}

END {
	printf "\n%-44s %-12s %14s %14s\n", "what", "metric", "durable", "without fsync"
	for (i = 1; i <= rows; i++) {
		split(order[i], part, SUBSEP)
		if ((order[i], "one") in cell) { cell[order[i], "durable"] = cell[order[i], "one"]; cell[order[i], "relaxed"] = "-" }
		printf "%-44s %-12s %14s %14s\n", part[1], part[2], cell[order[i], "durable"], cell[order[i], "relaxed"]
	}
	exit failed
}
