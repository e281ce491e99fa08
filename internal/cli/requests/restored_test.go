package requests

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/timeline"
)

func TestARestoreIsSummedUpInOneLine(t *testing.T) {
	t.Parallel()
	from := timeline.Address{Run: "r", Frame: 2}
	changes := []jjbridge.PathChange{
		{Path: "a", Op: jjbridge.OpRemove}, {Path: "b", Op: jjbridge.OpAdd}, {Path: "c", Op: jjbridge.OpRemove},
	}
	assert.Equal(t, "1 added, 2 removed: the working copy has the files of r:2",
		restoredSummary(&files.RestoreResult{From: from, Changes: changes}, false))
	assert.Equal(t, "restoring the files of r:2 would change 3 files (1 added, 2 removed); nothing was changed",
		restoredSummary(&files.RestoreResult{From: from, Changes: changes}, true))
	assert.Equal(t, "the working copy has the files of r:2: nothing to change",
		restoredSummary(&files.RestoreResult{From: from}, false))
}
