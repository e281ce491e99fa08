package display

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestARevisionIsShownAsJJAndGitShowIt(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "qpvuntsm", ShortRevision("jj", "0123456789", "qpvuntsmwlqt"))
	assert.Equal(t, "01234567", ShortRevision("git", "0123456789", ""))
	assert.Empty(t, ShortRevision("git", "", ""))
}
