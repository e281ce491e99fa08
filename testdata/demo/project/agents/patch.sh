# Edits the code, then lets the tests decide.
cat >slug.sh <<'CODE'
# slug TITLE prints TITLE as it stands in a URL.
slug() {
	printf '%s\n' "$1" | tr 'A-Z' 'a-z' | tr -c 'a-z0-9\n' '-' | tr -s '-' | sed 's/^-//; s/-$//'
}
CODE
results=$(sh tests/run) || { echo "$results" >&2; exit 1; }
echo "$results" >&2
printf '{"file":"slug.sh","passed":%d}\n' "${results%% passed*}"
