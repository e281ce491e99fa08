package display

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/git-smithers/git-smithers/snapshot"
)

func TestALongListOfNamesIsCut(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "a, b", List([]string{"a", "b"}))
	assert.Equal(t, `a\x1b, b, c, d, e and 2 more`, List([]string{"a\x1b", "b", "c", "d", "e", "f", "g"}))
}

func TestWhatIsLeftOutIsNamedWithItsReason(t *testing.T) {
	t.Parallel()
	assert.Equal(t, []string{"big (too large, 9 bytes)", "sub/ (a repository of its own)", "untracked files (too many)"},
		LeftOutNames([]snapshot.LeftOut{
			{Path: "big", Reason: snapshot.LeftTooLarge, Bytes: 9},
			{Path: "sub/", Reason: snapshot.LeftEmbedded},
			{Reason: snapshot.LeftUntracked},
		}))
}
