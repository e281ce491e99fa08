package refs

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/objstore"
)

// Such as git 2.30: its answers are in a buffer until its input ends.
func TestAGitThatDoesNotAnswerIsTooOld(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "git"), []byte("#!/bin/sh\ncat >/dev/null\necho start: ok\n"), 0o777))
	c, err := startChild(t.Context(), gitexec.New(gitexec.Repo{GitDir: dir, CommonDir: dir}, []string{"PATH=" + dir + ":/usr/bin:/bin"}), []string{"update-ref", "--stdin"})
	require.NoError(t, err)
	c.wait = 50 * time.Millisecond
	id, err := objstore.ParseID("1111111111111111111111111111111111111111")
	require.NoError(t, err)
	err = c.transact(t.Context(), []Update{{Name: "refs/smithers/_tip/a", New: id}}, func() error { return nil })
	assert.ErrorIs(t, err, gitexec.ErrGitTooOld)
	var failure *childError
	require.ErrorAs(t, err, &failure)
	assert.False(t, failure.ended(), "the transaction is not repeated")
}
