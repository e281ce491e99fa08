package term

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestLinesAreAlignedAndMeasured(t *testing.T) {
	t.Parallel()
	text, width := AlignedLines([][]Cell{
		{{Text: "a"}, {Text: "größer"}, {Text: "x"}},
		nil,
		{{Text: "long name"}, {Text: ""}},
		{{Text: ""}, {Text: "b\u200b"}, {Text: "last"}},
	})
	assert.Equal(t, "a          größer   x\n\nlong name\n           b\\u200b  last\n", text)
	assert.Equal(t, 24, width)
	text, _ = AlignedLines([][]Cell{{{Text: "名前"}, {Text: "x"}}, {{Text: "ab"}, {Text: "y"}}})
	assert.Equal(t, "名前  x\nab    y\n", text)
	text, width = AlignedLines(nil)
	assert.Empty(t, text)
	assert.Zero(t, width)
}

func TestATitleOfATableHasNoControlCharacters(t *testing.T) {
	t.Parallel()
	table := Table{Header: []string{"RUN", "\x1b[2Jx\ny"}, KeepsHeader: true}
	table.Add(Cell{Text: "a"}, Cell{Text: "b"})
	text, _ := table.Lines()
	var piped strings.Builder
	table.separate(&piped)
	for _, text := range []string{text, piped.String()} {
		assert.NotContains(t, text, "\x1b")
		assert.Equal(t, 2, strings.Count(text, "\n"), text)
		assert.Contains(t, text, "x")
	}
}
