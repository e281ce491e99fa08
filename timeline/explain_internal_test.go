package timeline

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/jjbridge/worktrees"
	"github.com/git-smithers/git-smithers/sqliteindex"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

func TestTroubleWithTheWorkingCopyHasItsCode(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		code fault.Code
	}{
		{jjbridge.ErrNoWorkingCopy, fault.NoWorkingCopy},
		{jjbridge.ErrNoJJ, fault.JJMissing},
		{jjbridge.ErrJJTooOld, fault.JJTooOld},
		{jjbridge.ErrBackend, fault.UnsupportedFormat},
		{jjbridge.ErrNoStore, fault.NoRepository},
		{sqliteindex.ErrBusy, fault.IndexBusy},
		{jjbridge.ErrStale, fault.JJFailed},
		{&worktrees.UnsavedError{Path: "p", Reason: "has uncommitted changes"}, fault.UnsavedWork},
		{&worktrees.Error{Path: "p", Reason: "is taken"}, fault.WorktreeFailed},
		{&jjbridge.RefusedError{Refused: []jjbridge.Refusal{{Path: "p", Reason: "is in the way"}}}, fault.RestoreRefused},
		{&gitexec.Error{Program: "jj", Args: []string{"log"}, Err: assert.AnError}, fault.JJFailed},
		{&gitexec.Error{Args: []string{"log"}, Err: assert.AnError}, fault.GitFailed},
	} {
		err := Explain(fmt.Errorf("somewhere: %w", c.err))
		assert.Equal(t, c.code, fault.CodeOf(err), "%v", c.err)
		assert.ErrorIs(t, err, c.err)
	}
}

func TestAGitThatWasAskedToEndIsInterrupted(t *testing.T) {
	t.Parallel()
	env := repotest.Env(t.TempDir())
	sh, err := gitexec.Find(env, "sh")
	require.NoError(t, err)
	for script, code := range map[string]fault.Code{
		"kill -INT $$": fault.Interrupted, "echo Permission denied >&2; kill -TERM $$": fault.Interrupted, "kill -KILL $$": fault.GitFailed,
	} {
		_, _, err := gitexec.Process{Program: sh, Env: env, Options: []string{"-c"}, Args: []string{script}}.Run(t.Context())
		assert.Equal(t, code, fault.CodeOf(Explain(err)), script)
	}
}

func TestARefusedRestoreNamesEveryPath(t *testing.T) {
	t.Parallel()
	refused := &jjbridge.RefusedError{}
	for i := range 9 {
		refused.Refused = append(refused.Refused, jjbridge.Refusal{Path: fmt.Sprint("file-", i), Reason: "is in the way"})
	}
	var f *fault.Error
	require.ErrorAs(t, Explain(refused), &f)
	assert.Equal(t, refused.Refused, f.Details["refused"])
	assert.Contains(t, f.Hints, "file-4: is in the way")
	assert.NotContains(t, f.Hints, "file-5: is in the way", "people see the first of them")
}

func TestWhatJJSaidIsTold(t *testing.T) {
	t.Parallel()
	var f *fault.Error
	require.ErrorAs(t, Explain(&gitexec.Error{
		Program: "jj", Args: []string{"new"}, Stderr: "Error: Revision `x` doesn't exist\nHint: Did you mean\n  `y`?", Err: assert.AnError,
	}), &f)
	assert.Equal(t, "jj: Revision `x` doesn't exist", f.Msg)
	assert.Equal(t, []string{"jj said: Hint: Did you mean `y`?"}, f.Hints)
	require.ErrorAs(t, Explain(&gitexec.Error{Program: "jj", Args: []string{"new"}, Stderr: "Error: no", Err: assert.AnError}), &f)
	assert.Equal(t, "jj: no", f.Msg)
	require.ErrorAs(t, Explain(&gitexec.Error{
		Program: "jj", Args: []string{"log"}, Stderr: "Internal error: Failed to snapshot\nCaused by: Bad name\nHint: y", Err: assert.AnError,
	}), &f)
	assert.Equal(t, "jj: Internal error: Failed to snapshot: Bad name", f.Msg)
	assert.Equal(t, []string{"jj said: Hint: y"}, f.Hints)
}
