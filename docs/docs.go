// Package docs has the pages of documentation that the program shows.
package docs

import _ "embed"

// Back is the page about the ways to go back, in Markdown.
//
//go:embed back.md
var Back string
