package display_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/git-smithers/git-smithers/internal/cli/display"
)

func TestValuesAreShownOnOneLine(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		``: "", `"text"`: "text", `""`: `""`, `"true"`: `"true"`, `"12"`: `"12"`, `null`: "null", `true`: "true", `12`: "12", `-3`: "-3",
		`0.9412345`: "0.94", `0.5`: "0.5", `0.001`: "0.001", `-0.001`: "-0.001", `1e-9`: "1e-9",
		`{"a":1}`: `{"a":1}`, `"a\nb"`: `a\nb`, `"\u001b[2J"`: `\x1b[2J`, `"a long text"`: "a long te…", `1e400`: "1e400",
	} {
		assert.Equal(t, want, display.Value(json.RawMessage(value), 10), value)
	}
}
