package cli

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/code"
)

func TestARestoreIsSummedUpInOneLine(t *testing.T) {
	t.Parallel()
	from := timeline.Address{Run: "r", Frame: 2}
	changes := []jjbridge.PathChange{
		{Path: "a", Op: jjbridge.OpRemove}, {Path: "b", Op: jjbridge.OpAdd}, {Path: "c", Op: jjbridge.OpRemove},
	}
	assert.Equal(t, "1 added, 2 removed: the working copy is what it was at r:2",
		restoredSummary(&code.Restored{From: from, Changes: changes}, false))
	assert.Equal(t, "1 added, 2 removed would make the working copy what it was at r:2; nothing was changed",
		restoredSummary(&code.Restored{From: from, Changes: changes}, true))
	assert.Equal(t, "the working copy is what it was at r:2: nothing to change",
		restoredSummary(&code.Restored{From: from}, false))
}

func TestALongListOfNamesIsCut(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "a, b", listNames([]string{"a", "b"}))
	assert.Equal(t, `a\x1b, b, c, d, e and 2 more`, listNames([]string{"a\x1b", "b", "c", "d", "e", "f", "g"}))
}

func TestWhatIsLeftOutIsNamedWithItsReason(t *testing.T) {
	t.Parallel()
	assert.Equal(t, []string{"big (too-large, 9 bytes)", "sub/ (embedded-repository)", "untracked files (too many)"},
		leftOutNames([]snapshot.LeftOut{
			{Path: "big", Reason: snapshot.LeftTooLarge, Bytes: 9},
			{Path: "sub/", Reason: snapshot.LeftEmbedded},
			{Reason: snapshot.LeftUntracked},
		}))
}

func TestGitsListOfChangesIsRead(t *testing.T) {
	t.Parallel()
	assert.Empty(t, readNameStatus(""))
	assert.Equal(t, []jjbridge.PathChange{
		{Path: "new\nline", Op: jjbridge.OpAdd},
		{Path: "b", Op: jjbridge.OpModify},
		{Path: "c", Op: jjbridge.OpModify},
		{Path: "d", Op: jjbridge.OpRemove},
	}, readNameStatus("A\x00new\nline\x00M\x00b\x00T\x00c\x00D\x00d\x00"))
}

func TestARevisionIsShownAsJJAndGitShowIt(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "qpvuntsm", shortRevision("jj", "0123456789", "qpvuntsmwlqt"))
	assert.Equal(t, "01234567", shortRevision("git", "0123456789", ""))
	assert.Empty(t, shortRevision("git", "", ""))
}

func TestAnAttemptIsNamedInWords(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "fix, attempt 2", describeAttemptKey("fix::0::2"))
	assert.Equal(t, "fix, iteration 3, attempt 1", describeAttemptKey("fix::3::1"))
	assert.Equal(t, "nonsense", describeAttemptKey("nonsense"))
}
