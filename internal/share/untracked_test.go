package share_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/share"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// answering is a Confirm that gives an answer, and notes what it was asked.
func answering(yes bool, asked *[]string) func(share.Question) (bool, error) {
	return func(q share.Question) (bool, error) {
		for _, file := range q.Files {
			*asked = append(*asked, fmt.Sprintf("%s %s %s %d", q.Remote, file.RunID, file.Path, file.Bytes))
		}
		return yes, nil
	}
}

func TestTheFirstPushAsksAboutUntrackedFiles(t *testing.T) {
	t.Parallel()
	origin := newOrigin(t)
	c := newClone(t, origin)
	run := c.play("run", 0)
	c.Write("src/main.go", "package main // changed\n")
	c.append(run, c.capture())
	c.Write("secret.txt", "hush\n")
	c.Write("new/notes.txt", "n\n")
	c.append(run, c.capture())
	require.NoError(t, os.Remove(filepath.Join(c.Dir, "secret.txt")))
	c.append(run, c.capture())
	var asked []string

	_, err := c.sharer.Push(t.Context(), share.PushRequest{Confirm: answering(false, &asked)})

	require.Equal(t, fault.Unconfirmed, fault.CodeOf(err))
	assert.Equal(t, []string{"origin run new/notes.txt 2", "origin run secret.txt 5"}, asked,
		"also what only an earlier frame has, and not what is tracked and changed")
	assert.Empty(t, refsOf(origin, "refs/smithers"))
	_, err = c.sharer.Push(t.Context(), share.PushRequest{})
	require.Equal(t, fault.Unconfirmed, fault.CodeOf(err), "nobody there to ask is no")
	assert.Empty(t, refsOf(origin, "refs/smithers"))

	asked = nil
	_, err = c.sharer.Push(t.Context(), share.PushRequest{Confirm: answering(true, &asked)})
	require.NoError(t, err)
	assert.Len(t, asked, 2)

	// The answer holds for the place and these files, also for another process.
	asked = nil
	c.Write("new/notes.txt", "longer\n")
	c.append(run, c.capture())
	c.reopen()
	_, err = c.sharer.Push(t.Context(), share.PushRequest{Confirm: answering(false, &asked)})
	require.NoError(t, err)
	assert.Empty(t, asked)
	c.Write("more.txt", "m\n")
	run, err = c.store.Head(t.Context(), "run")
	require.NoError(t, err)
	c.append(run, c.capture())
	_, err = c.sharer.Push(t.Context(), share.PushRequest{Confirm: answering(false, &asked)})
	require.Equal(t, fault.Unconfirmed, fault.CodeOf(err))
	assert.Equal(t, []string{"origin run more.txt 2"}, asked, "a file that nobody was asked about")
	var again bool
	_, err = c.sharer.Push(t.Context(), share.PushRequest{Confirm: func(q share.Question) (bool, error) {
		again = !q.First
		return true, nil
	}})
	require.NoError(t, err)
	assert.True(t, again, "the remote got files before")
	assert.Equal(t, tipOf(run), origin.Git("rev-parse", "refs/smithers/_tip/run"))

	// It does not hold for another one, whatever that is called.
	asked = nil
	other := newOrigin(t)
	c.Git("remote", "set-url", "origin", other.Dir)
	c.reopen()
	_, err = c.sharer.Push(t.Context(), share.PushRequest{Confirm: answering(false, &asked)})
	require.Equal(t, fault.Unconfirmed, fault.CodeOf(err))
	assert.Equal(t, []string{"origin run more.txt 2", "origin run new/notes.txt 7", "origin run secret.txt 5"}, asked)
}

func TestADryRunNeitherAsksNorKeepsAnAnswer(t *testing.T) {
	t.Parallel()
	origin := newOrigin(t)
	c := newClone(t, origin)
	run := c.play("run", 0)
	c.Write("notes.txt", "n\n")
	c.append(run, c.capture())
	var asked []string

	pushed, err := c.sharer.Push(t.Context(), share.PushRequest{DryRun: true, Confirm: answering(true, &asked)})

	require.NoError(t, err)
	assert.Empty(t, asked)
	require.Len(t, pushed.Runs, 1)
	assert.Equal(t, "the run has untracked files, such as notes.txt, which need confirmation", pushed.Runs[0].Reason)
	_, err = c.sharer.Push(t.Context(), share.PushRequest{})
	assert.Equal(t, fault.Unconfirmed, fault.CodeOf(err))
}

func TestARunThatIsPrunedWhileSomebodyIsAskedStaysHere(t *testing.T) {
	t.Parallel()
	origin := newOrigin(t)
	c := newClone(t, origin)
	for _, name := range []string{"here", "there", "run"} {
		run := c.play(name, 0)
		c.Write(name+".txt", "n\n")
		c.append(run, c.capture())
	}
	stone := c.Git("commit-tree", "-m", "run pruned", c.Git("mktree"))
	ask := func(share.Question) (bool, error) {
		c.Git("update-ref", "refs/smithers/_gone/here", stone)
		c.Git("update-ref", "-d", "refs/smithers/_tip/here")
		c.Git("push", "--quiet", "origin", stone+":refs/smithers/_gone/there")
		return true, nil
	}

	pushed, err := c.sharer.Push(t.Context(), share.PushRequest{Confirm: ask})

	require.NoError(t, err)
	assert.Equal(t, map[string]string{"here": share.StatePruned, "there": share.StatePruned, "run": share.StatePushed}, states(pushed))
	assert.Len(t, refsOf(origin, "refs/smithers/_tip/"), 1)
}

func TestWhatIsThereAlreadyIsNotAskedAbout(t *testing.T) {
	t.Parallel()
	origin := newOrigin(t)
	mine, theirs := newClone(t, origin), newClone(t, origin)
	run := mine.play("run", 0)
	mine.Write("notes.txt", "n\n")
	mine.append(run, mine.capture())
	_, err := mine.sharer.Push(t.Context(), share.PushRequest{Confirm: answering(true, new([]string))})
	require.NoError(t, err)
	theirs.take("run")
	head, err := theirs.store.Head(t.Context(), "run")
	require.NoError(t, err)
	theirs.Write("notes.txt", "longer\n")
	theirs.Write("theirs.txt", "t\n")
	theirs.append(head, theirs.capture())
	var asked []string

	_, err = theirs.sharer.Push(t.Context(), share.PushRequest{Confirm: answering(true, &asked)})

	require.NoError(t, err)
	assert.Equal(t, []string{"origin run theirs.txt 2"}, asked)
}

func TestTheSettingSettlesUntrackedFiles(t *testing.T) {
	t.Parallel()
	origin := newOrigin(t)
	c := newClone(t, origin)
	c.play("clean", 1)
	run := c.play("files", 0)
	c.Write("notes.txt", "n\n")
	c.append(run, c.capture())
	ask := share.PushRequest{Confirm: func(share.Question) (bool, error) {
		t.Error("there is nothing to ask")
		return true, nil
	}}

	c.reopen("GIT_SMITHERS_PUSH_FILES=no")
	pushed, err := c.sharer.Push(t.Context(), ask)
	require.Equal(t, fault.Unconfirmed, fault.CodeOf(err))
	assert.Equal(t, map[string]string{"clean": share.StatePushed, "files": share.StateRefused}, states(pushed))
	assert.NotContains(t, refsOf(origin, "refs/smithers"), "refs/smithers/_tip/files")

	c.reopen("GIT_SMITHERS_PUSH_FILES=yes")
	pushed, err = c.sharer.Push(context.Background(), ask)
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"files": share.StatePushed}, states(pushed))
}

func TestAForkTakesTheFilesOfWhatItWasForkedFromAlong(t *testing.T) {
	t.Parallel()
	origin := newOrigin(t)
	c := newClone(t, origin)
	run := c.play("run", 0)
	c.Write("notes.txt", "n\n")
	c.append(run, c.capture())
	c.fork("run:1", "fork")
	var asked []string

	_, err := c.sharer.Push(t.Context(), share.PushRequest{Runs: []string{"fork"}, Confirm: answering(true, &asked)})

	require.NoError(t, err)
	assert.Equal(t, []string{"origin fork notes.txt 2"}, asked)
}

func TestJJsOwnCommitOfTheFilesTracksNothing(t *testing.T) {
	t.Parallel()
	origin := newOrigin(t)
	c := newClone(t, origin)
	run := c.play("run", 0)
	c.Write("notes.txt", "n\n")
	captured := c.capture()
	captured.VCS.Type, captured.VCS.ChangeID = snapshot.VCSJJ, "qpvuntsmwlqtqpvuntsmwlqtqpvuntsm"
	captured.VCS.CommitID = c.Git("commit-tree", "-p", "main", "-m", "", captured.VCS.Tree.String())
	c.append(run, captured)
	var asked []string

	_, err := c.sharer.Push(t.Context(), share.PushRequest{Confirm: answering(true, &asked)})

	require.NoError(t, err)
	assert.Equal(t, []string{"origin run notes.txt 2"}, asked)
}
