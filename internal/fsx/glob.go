package fsx

import "strings"

// GlobQuote returns a glob pattern that matches only path.
func GlobQuote(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}
