package timeline_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/internal/list"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// addressesOf are the frames that a query finds, in order.
func addressesOf(t *testing.T, s *timeline.Store, query list.FrameQuery) []string {
	t.Helper()
	found, err := list.FramesOf(t.Context(), s, query)
	require.NoError(t, err)
	require.NotNil(t, found)
	out := []string{}
	for _, f := range found {
		out = append(out, timeline.Address{Run: f.RunID, Frame: f.FrameNo}.String())
	}
	return out
}

func TestFramesAreFoundByTheCommitTheyWereAt(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	first := repo.Git("rev-parse", "HEAD")
	head := startRun(t, s, "run")
	require.NoError(t, head.Append(t.Context(), snapshot.Draft{Frame: &snapshot.FrameDraft{}, Subject: "nothing of the files"}))
	repo.Git("commit", "--quiet", "--allow-empty", "--message=second")
	second := repo.Git("rev-parse", "HEAD")
	shoot(t, s, head, "committed")
	later := startRun(t, s, "later")
	_, err := s.Fork(t.Context(), timeline.ForkRequest{From: "run:2", RunID: "child"})
	require.NoError(t, err)
	require.NoError(t, later.Append(t.Context(), snapshot.Draft{Subject: "no frame"}))

	assert.Equal(t, []string{"run:0", "run:1"}, addressesOf(t, s, list.FrameQuery{Commit: first}))
	assert.Equal(t, []string{"later:0", "run:2"}, addressesOf(t, s, list.FrameQuery{Commit: second[:7]}), "the newest run first")
	assert.Equal(t, []string{"run:2"}, addressesOf(t, s, list.FrameQuery{Commit: second, Run: "ru"}))
	assert.Equal(t, []string{}, addressesOf(t, s, list.FrameQuery{Commit: "0000"}))

	found, err := list.FramesOf(t.Context(), s, list.FrameQuery{Commit: second, Run: "run"})
	require.NoError(t, err)
	require.NotNil(t, found[0].VCS)
	assert.Equal(t, second, found[0].VCS.VCSPointer)
	assert.Equal(t, "git", found[0].VCS.VCSType)
	assert.Equal(t, "committed", found[0].Subject)
	assert.Equal(t, repo.Git("rev-parse", "refs/smithers/run/2"), found[0].Commit)
	assert.Nil(t, found[0].ChangeID)
	assert.Nil(t, found[0].Paths)
}

func TestFramesAreFoundByTheChangeTheyBelongTo(t *testing.T) {
	t.Parallel()
	repo := repotest.NewKind(t, repotest.JJColocated)
	s := open(t, repo)
	change := func() string { return repo.JJ("log", "-r", "@", "--no-graph", "--template=change_id") }
	first := change()
	head := startRun(t, s, "run")
	repo.Write("src/main.go", "package main // amends the change\n")
	shoot(t, s, head, "worked")
	repo.JJ("new", "--quiet")
	second := change()
	shoot(t, s, head, "next")

	assert.Equal(t, []string{"run:0", "run:1"}, addressesOf(t, s, list.FrameQuery{Change: first}))
	assert.Equal(t, []string{"run:2"}, addressesOf(t, s, list.FrameQuery{Change: second[:8]}))
	found, err := list.FramesOf(t.Context(), s, list.FrameQuery{Change: second})
	require.NoError(t, err)
	require.NotNil(t, found[0].ChangeID)
	assert.Equal(t, second, *found[0].ChangeID)
	assert.NotNil(t, found[0].VCS.JJOperationID)
}

func TestFramesAreFoundByTheFilesTheyChanged(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	head := startRun(t, s, "run")
	work(t, repo)
	shoot(t, s, head, "worked")
	require.NoError(t, head.Append(t.Context(), snapshot.Draft{Frame: &snapshot.FrameDraft{}, Subject: "of the state alone"}))
	repo.Write("README.md", "# Else\n")
	shoot(t, s, head, "else")
	require.NoError(t, os.Remove(filepath.Join(repo.Dir, "src", "main.go")))
	shoot(t, s, head, "removed")
	child, err := s.Fork(t.Context(), timeline.ForkRequest{From: "run:4", RunID: "child"})
	require.NoError(t, err)
	repo.Write("src/main.go", "package main // again\n")
	shoot(t, s, child, "again")

	for path, want := range map[string][]string{
		"src/main.go":        {"child:1", "run:1", "run:4"},
		"src":                {"child:1", "run:1", "run:4"},
		"src/":               {"child:1", "run:1", "run:4"},
		"README.md":          {"run:3"},
		"notes/todo.txt":     {"run:1"},
		"tool.sh":            {"run:1"},
		".":                  {"child:1", "run:1", "run:3", "run:4"},
		"src/main.go/nobody": {},
		"never":              {},
	} {
		assert.Equal(t, want, addressesOf(t, s, list.FrameQuery{Path: path}), path)
	}
	assert.Equal(t, []string{"run:1", "run:4"}, addressesOf(t, s, list.FrameQuery{Path: "src/main.go", Run: "run"}))
	found, err := list.FramesOf(t.Context(), s, list.FrameQuery{Path: "src", Run: "run"})
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"src/main.go": "modify", "src/deep/er/new.txt": "add"}, opsOf(found[0].Paths))
	assert.Equal(t, map[string]string{"src/main.go": "remove"}, opsOf(found[1].Paths))
}

func TestWhatATaskChangesInItsOwnWorktreeIsFoundToo(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	head := startRun(t, s, "run")
	own, err := files.OpenWorktree(t.Context(), s, "run", files.WorktreeSpec{Name: "a"}, false)
	require.NoError(t, err)
	capture := func() {
		main, mine := shot(t, files.WorkingCopyOf(s), "worked"), shot(t, own, "")
		main.VCS.Worktrees = []snapshot.Worktree{{Name: "a", VCS: *mine.VCS}}
		main.Objects = mine.Objects
		require.NoError(t, head.Append(t.Context(), main))
	}
	capture()
	require.NoError(t, os.WriteFile(filepath.Join(own.Root(), "README.md"), []byte("# Mine\n"), 0o666))
	capture()
	assert.Equal(t, []string{"run:2"}, addressesOf(t, s, list.FrameQuery{Path: "README.md"}))
}

func TestAQueryThatCannotBeAnsweredIsRefused(t *testing.T) {
	t.Parallel()
	s := open(t, repotest.New(t, repotest.Commit))
	for _, query := range []list.FrameQuery{
		{},
		{Commit: "abcd", Path: "a"},
		{Change: "k", Commit: "abcd"},
		{Change: "0123"},
		{Change: "main"},
		{Commit: "abc"},
		{Commit: "no-such-branch"},
		{Commit: "--all"},
		{Path: "/etc/passwd"},
		{Path: "../up"},
		{Path: "a//b"},
		{Path: "./a"},
		{Path: "a/../b"},
	} {
		_, err := list.FramesOf(t.Context(), s, query)
		assert.Equal(t, fault.Usage, fault.CodeOf(err), "%+v: %v", query, err)
	}
	_, err := list.FramesOf(t.Context(), s, list.FrameQuery{Path: "a", Run: "nobody"})
	assert.Equal(t, fault.RunNotFound, fault.CodeOf(err))
}
