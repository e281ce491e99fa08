package smithersnames_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/git-smithers/git-smithers/internal/smithersnames"
)

func TestTablesAndColumnsAreInSnakeCase(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"": "", "draftText": "draft_text", "draft_text": "draft_text", "A": "_a", "aBC": "a_b_c", "größeÄ": "größeÄ", "x1-Y": "x1-_y",
	} {
		assert.Equal(t, want, smithersnames.SnakeName(name))
	}
}
