package fsx

import "strings"

// GlobQuote returns a glob pattern that matches only path. It escapes \, *, ? and [ with a backslash.
func GlobQuote(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}
