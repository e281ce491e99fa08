package timeline_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/claim"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// left makes a run that was executed here and left with a status, by a process that
// gave it back.
func left(t *testing.T, s *timeline.Store, id string, status snapshot.RunStatus) *timeline.Head {
	t.Helper()
	head := running(t, s, id)
	c := takeClaim(t, head, claim.Request{})
	require.NoError(t, head.Append(t.Context(), snapshot.Draft{Frame: &snapshot.FrameDraft{}, Run: func(row *snapshot.Run) {
		row.Status, row.Owner = status, ""
	}}))
	require.NoError(t, c.Release(t.Context()))
	return head
}

func unattended(t *testing.T, s *timeline.Store, runs ...string) []claim.UnattendedRun {
	t.Helper()
	found, err := claim.FindUnattended(t.Context(), s, runs...)
	require.NoError(t, err)
	return found
}

func TestRunsThatNobodyExecutesAreFound(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	w := newWatch()
	s := openWith(t, repo, w.now)
	assert.Empty(t, unattended(t, s), "no run at all")

	long := "run " + strings.Repeat("x", 300)
	running(t, s, "captured by another engine, never executed here")
	takeClaim(t, running(t, s, "being executed"), claim.Request{})
	left(t, s, "interrupted", snapshot.RunRunning)
	left(t, s, long, snapshot.RunWaitingTimer)
	left(t, s, "approval", snapshot.RunWaitingApproval)
	for _, ended := range []snapshot.RunStatus{snapshot.RunFinished, snapshot.RunFailed, snapshot.RunCancelled, snapshot.RunPending} {
		left(t, s, string(ended), ended)
	}
	want := []claim.UnattendedRun{
		{Run: "approval", Status: snapshot.RunWaitingApproval},
		{Run: "interrupted", Status: snapshot.RunRunning},
		{Run: long, Status: snapshot.RunWaitingTimer},
	}
	assert.Equal(t, want, unattended(t, s))

	w.pass(31 * time.Second)
	want = append([]claim.UnattendedRun{want[0], {Run: "being executed", Status: snapshot.RunRunning}}, want[1:]...)
	assert.Equal(t, want, unattended(t, s), "no sign of life for too long")
}

func TestNamedRunsAreFoundWhereverTheyWereExecuted(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := openWith(t, repo, newWatch().now)
	running(t, s, "fetched")
	left(t, s, "finished", snapshot.RunFinished)
	left(t, s, "interrupted", snapshot.RunRunning)
	takeClaim(t, running(t, s, "owned"), claim.Request{})
	assert.Equal(t, []claim.UnattendedRun{{Run: "fetched", Status: snapshot.RunRunning}},
		unattended(t, s, "owned", "fetched", "finished"))
	_, err := claim.FindUnattended(t.Context(), s, "nobody's")
	assert.Equal(t, fault.RunNotFound, fault.CodeOf(err))
}

func TestARunThatGoesOnElsewhereIsNotUnattended(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := openWith(t, repo, newWatch().now)
	head := left(t, s, "run", snapshot.RunWaitingEvent)
	require.NoError(t, head.Append(t.Context(), snapshot.Draft{Run: func(row *snapshot.Run) {
		row.Status, row.Owner, row.Epoch = snapshot.RunRunning, "0123456789abcdef", row.Epoch+1
	}}))
	assert.Empty(t, unattended(t, s), "its owner is on another machine")
	assert.Len(t, unattended(t, s, "run"), 1, "but whoever names it says that it is not")
}

func TestARunThatWasCancelledWhileNobodyExecutedItIsForgotten(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := openWith(t, repo, newWatch().now)
	head := left(t, s, "run", snapshot.RunWaitingEvent)
	require.NoError(t, head.Append(t.Context(), snapshot.Draft{Run: func(row *snapshot.Run) { row.Status = snapshot.RunCancelled }}))
	require.NotNil(t, claimFiles(t, repo, "run"))
	assert.Empty(t, unattended(t, s))
	assert.Nil(t, claimFiles(t, repo, "run"))
}

func TestWhatIsNoRunsFolderIsNoRun(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := openWith(t, repo, newWatch().now)
	left(t, s, "run", snapshot.RunRunning)
	claims := filepath.Join(repo.GitDir, "smithers", "claims")
	for _, folder := range []string{"UPPER", "gone", "_h-" + strings.Repeat("0", 64)} {
		require.NoError(t, os.Mkdir(filepath.Join(claims, folder), 0o777))
	}
	require.NoError(t, os.WriteFile(filepath.Join(claims, "file"), nil, 0o666))
	assert.Len(t, unattended(t, s), 1)
}

func TestARunThatCouldNotBeGivenBackIsFound(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := openWith(t, repo, newWatch().now)
	head := running(t, s, "kept")
	c := takeClaim(t, head, claim.Request{})
	hook := filepath.Join(repo.GitDir, "hooks", "reference-transaction")
	require.NoError(t, os.MkdirAll(filepath.Dir(hook), 0o755))
	require.NoError(t, os.WriteFile(hook, []byte("#!/bin/sh\ntest $1 != prepared\n"), 0o755))
	require.Error(t, c.Release(t.Context()))
	require.NoError(t, os.Remove(hook))

	row := headOf(t, s, "kept").Row()
	assert.NotEmpty(t, row.Owner)
	assert.False(t, s.Owner(row).Live)
	assert.Equal(t, []claim.UnattendedRun{{Run: "kept", Status: snapshot.RunRunning}}, unattended(t, s))
	takeClaim(t, headOf(t, s, "kept"), claim.Request{})
}
