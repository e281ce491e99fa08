# slug TITLE prints TITLE as it stands in a URL.
slug() {
	printf '%s\n' "$1" | tr 'A-Z' 'a-z' | tr -c 'a-z0-9\n' '-'
}
