package workflow

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// FuzzTemplate shows that what compiles is filled in without harm, and that every text can
// be written as a template.
func FuzzTemplate(f *testing.F) {
	for _, seed := range []string{"plain", "a {input.x} b", "{{}}", "{'}'}", "{`}`}{\"\\\"\"}", "{outputs.t}", "{{{run}}}", "{ {1: 2} }"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if tpl, err := compileTemplate(text); err == nil {
			filled, trouble := tpl.Fill(nil, nil, "r", NodeKey{ID: "t", Iteration: 1})
			if trouble != "" {
				assert.Empty(t, filled)
			}
			assert.LessOrEqual(t, len(filled), maxFilledBytes)
		}
		if !utf8.ValidString(text) {
			return // no file has any
		}
		tpl, err := compileTemplate(strings.NewReplacer("{", "{{", "}", "}}").Replace(text))
		if len(text) > maxTemplateBytes/2 {
			return
		}
		require.NoError(t, err)
		filled, trouble := tpl.Fill(nil, nil, "r", NodeKey{})
		assert.Empty(t, trouble)
		assert.Equal(t, text, filled)
	})
}
