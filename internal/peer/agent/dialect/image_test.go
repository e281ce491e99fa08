package dialect

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAnImageBecomesAText(t *testing.T) {
	t.Parallel()
	data := strings.Repeat("iVBORw0KGgo+", 40)
	for what, c := range map[string]struct{ line, kept string }{
		"Claude Code":        {`{"n":12345678901234567890,"content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"DATA"}}]}`, `{"n":12345678901234567890,"content":[{"type":"text","text":"NOTE"}]}`},
		"a result of a tool": {`{"toolUseResult":{"type":"image","file":{"base64":"DATA","type":"image/png"}}}`, `{"toolUseResult":{"type":"text","text":"NOTE"}}`},
		"Codex CLI":          {`{"content":[{"type":"input_image","image_url":"data:image/png;base64,DATA"}]}`, `{"content":[{"type":"input_text","text":"NOTE"}]}`},
		"Gemini CLI":         {`{"content":[{"inlineData":{"mimeType":"image/png","data":"DATA"}}]}`, `{"content":[{"text":"NOTE"}]}`},
		"opencode":           {`{"part":{"id":"p","type":"file","mime":"image/png","url":"data:image/png;base64,DATA"}}`, `{"part":{"id":"p","type":"text","text":"NOTE"}}`},
		"pi":                 {`{"content":[{"type":"image","data":"DATA","mimeType":"image/png"}]}`, `{"content":[{"type":"text","text":"NOTE"}]}`},
	} {
		got := WithoutImages([]byte(strings.ReplaceAll(c.line, "DATA", data)))
		assert.NotContains(t, string(got), data, what)
		note := string(got[strings.Index(string(got), "[an image"):])
		note = note[:strings.Index(note, "]")+1]
		assert.JSONEq(t, strings.ReplaceAll(c.kept, "NOTE", note), string(got), what)
		assert.True(t, json.Valid(got), what)
	}
	for _, line := range []string{
		`{"image":"` + data + `"}`, `{"type":"image","url":"https://example.com/` + data + `"}`, `{"type":"text","text":"an image ` + data + `"}`, `image ` + data, `{"type":"image","data":"short"}`,
	} {
		assert.Nil(t, WithoutImages([]byte(line)), line[:20])
	}
}

func TestDataOfAnImageAreFoundWhereverTheyAre(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 1, leastImage - 1, leastImage, leastImage + 1, 2*leastImage - 1} {
		for before := range 3 * leastImage {
			text := strings.Repeat("a b", before/3) + " " + strings.Repeat("A", size) + "."
			assert.Equal(t, size >= leastImage, hasBase64(text), "%d behind %d", size, before)
		}
	}
	assert.False(t, hasBase64(strings.Repeat(strings.Repeat("/", leastImage-1)+".", 5)))
}
