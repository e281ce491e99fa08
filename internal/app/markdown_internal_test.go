package app

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestMarkdown(t *testing.T) {
	for text, want := range map[string]string{
		"bottom: finished": "bottom: finished",
		"add-tests (now!)": "add-tests (now!)",
		"- a list":         `\- a list`,
		"12. numbered":     `12\. numbered`,
		".gitignore":       ".gitignore",
		"<b> @me `x` #1":   "\\<b\\> &#64;me \\`x\\` \\#1",
		"![x](http://y)":   `!\[x\](http\://y)`,
		":tada:":           `\:tada:`,
	} {
		assert.Equal(t, want, markdown(text), text)
	}
}
