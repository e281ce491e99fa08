package snapshot_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/objstore/objstoretest"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// files is a tree of files with these contents, and what adds it to a store.
func files(contents ...string) (objstore.ID, func(objstore.Writer) error) {
	add := func(w objstore.Writer) objstore.ID {
		var entries []objstore.TreeEntry
		for i, text := range contents {
			entries = append(entries, objstore.TreeEntry{
				Name: fmt.Sprintf("file-%d", i), Mode: objstore.ModeFile, ID: w.Add(objstore.Blob, []byte(text)),
			})
		}
		return w.Add(objstore.Tree, objstore.EncodeTree(entries))
	}
	return add(new(objstoretest.Memory)), func(w objstore.Writer) error { add(w); return nil }
}

func capturedVCS(tree objstore.ID) *snapshot.VCS {
	return &snapshot.VCS{Type: snapshot.VCSGit, CommitID: "0123", Tree: tree, Scope: snapshot.ScopeAll}
}

// frameOf is a frame whose working copy is these files.
func frameOf(contents ...string) snapshot.Draft {
	tree, objects := files(contents...)
	return snapshot.Draft{Frame: &snapshot.FrameDraft{Silent: true}, VCS: capturedVCS(tree), Objects: objects}
}

func partOf(t *testing.T, c *chain, e *snapshot.Entry, name string) objstore.ID {
	t.Helper()
	entries, err := objstore.ReadTree(c.store, e.Tree)
	require.NoError(t, err)
	part, _ := objstore.FindEntry(entries, name)
	return part.ID
}

func vcsOf(t *testing.T, e *snapshot.Entry) *snapshot.VCS {
	t.Helper()
	vcs, err := e.VCSRevision()
	require.NoError(t, err)
	return vcs
}

func TestTheCapturedTreeHangsInTheEntry(t *testing.T) {
	t.Parallel()
	c := start(t, snapshot.Draft{})
	e := c.append(t, frameOf("a", "b"))
	tree, _ := files("a", "b")
	assert.Equal(t, tree, partOf(t, c, e, "worktree"))
	assert.Equal(t, tree, vcsOf(t, e).Tree)
	_, _, err := c.store.Get(objstore.SHA1.ID(objstore.Blob, []byte("b")))
	assert.NoError(t, err)

	t.Run("and stays while nobody says otherwise", func(t *testing.T) {
		t.Parallel()
		c := &chain{store: c.store, frames: c.frames, tip: e}
		e := c.append(t, snapshot.Draft{Frame: &snapshot.FrameDraft{Silent: true}})
		assert.Equal(t, tree, partOf(t, c, e, "worktree"))
		assert.Equal(t, tree, vcsOf(t, e).Tree)
	})
	t.Run("goes when only the revision is known", func(t *testing.T) {
		t.Parallel()
		c := &chain{store: c.store, frames: c.frames, tip: e}
		e := c.append(t, snapshot.Draft{Frame: &snapshot.FrameDraft{Silent: true}, VCS: &snapshot.VCS{Type: "git", CommitID: "0123"}})
		assert.True(t, partOf(t, c, e, "worktree").IsZero())
		assert.True(t, vcsOf(t, e).Tree.IsZero())
	})
	t.Run("is carried by a fork", func(t *testing.T) {
		t.Parallel()
		c := &chain{store: c.store, frames: c.frames, tip: e}
		e := c.append(t, snapshot.Draft{Run: func(r *snapshot.Run) { r.ID = "child" }})
		assert.Equal(t, tree, partOf(t, c, e, "worktree"))
		assert.EqualValues(t, 1, vcsOf(t, e).Frame)
	})
}

func TestAnEmptyWorkingCopyIsCaptured(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Bare)
	store, err := objstore.Open(objstore.Options{Hash: objstore.AlgorithmOf(repotest.ObjectFormat()), ObjectsDir: repo.GitDir + "/objects", TempDir: repo.GitDir + "/smithers/tmp"})
	require.NoError(t, err)
	defer func() { assert.NoError(t, store.Close()) }()
	batch := store.Begin()
	e, err := snapshot.Append(batch, nil, nil, snapshot.Draft{
		Frame: &snapshot.FrameDraft{Silent: true}, VCS: capturedVCS(store.Hash().EmptyTree()), Subject: "started",
		Run: func(r *snapshot.Run) { r.ID, r.Status = "run", snapshot.RunRunning },
	})
	require.NoError(t, err)
	require.NoError(t, batch.Commit(t.Context(), nil))
	repo.Git("update-ref", "refs/smithers/_tip/run", e.ID.String())
	repo.Git("fsck", "--strict")
	assert.Contains(t, repo.Git("ls-tree", e.ID.String()), store.Hash().EmptyTree().String()+"\tworktree")
	read, err := snapshot.ReadEntry(store, e.ID)
	require.NoError(t, err)
	assert.Equal(t, store.Hash().EmptyTree(), vcsOf(t, read).Tree)
}

func TestTheWorktreesOfTasksHangUnderTheirEscapedNames(t *testing.T) {
	t.Parallel()
	c := start(t, snapshot.Draft{})
	tree, objects := files("x")
	draft := frameOf("a")
	main := draft.Objects
	draft.Objects = func(w objstore.Writer) error { return errors.Join(main(w), objects(w)) }
	draft.VCS.Worktrees = []snapshot.Worktree{
		{Name: "a task", VCS: *capturedVCS(tree)},
		{Name: "none", VCS: snapshot.VCS{Type: "git"}},
	}
	e := c.append(t, draft)
	entries, err := objstore.ReadTree(c.store, partOf(t, c, e, "worktrees"))
	require.NoError(t, err)
	assert.Equal(t, []objstore.TreeEntry{{Name: "a%20task", Mode: objstore.ModeTree, ID: tree}}, entries)
	e = c.append(t, frameOf("a"))
	assert.True(t, partOf(t, c, e, "worktrees").IsZero())
}

func TestEachWorkingCopyNamesTheFrameThatItWasCapturedAt(t *testing.T) {
	t.Parallel()
	c := start(t, snapshot.Draft{}) // frame 0
	with := func(content, of string) snapshot.Draft {
		draft := frameOf(content)
		tree, objects := files(of)
		main := draft.Objects
		draft.Objects = func(w objstore.Writer) error { return errors.Join(main(w), objects(w)) }
		draft.VCS.Worktrees = []snapshot.Worktree{{Name: "t", VCS: *capturedVCS(tree)}}
		return draft
	}
	for i, step := range []struct {
		draft          snapshot.Draft
		main, worktree int64
	}{
		{with("a", "x"), 1, 1},
		{with("a", "x"), 1, 1},
		{with("a", "y"), 1, 3},
		{with("b", "y"), 4, 3},
		{snapshot.Draft{Frame: &snapshot.FrameDraft{Silent: true}}, 4, 3},
		{with("a", "y"), 6, 3},
	} {
		vcs := vcsOf(t, c.append(t, step.draft))
		assert.Equal(t, []int64{step.main, step.worktree}, []int64{vcs.Frame, vcs.Worktrees[0].Frame}, "frame %d", i+1)
	}
}

func TestWhatIsAsItWasKeepsItsObject(t *testing.T) {
	t.Parallel()
	c := start(t, snapshot.Draft{})
	first := partOf(t, c, c.append(t, frameOf("a")), "vcs.json")
	asked := false
	draft := frameOf("a")
	draft.VCS.Attempts, draft.VCS.LeftOut = []string{}, []snapshot.LeftOut{}
	draft.Objects = func(objstore.Writer) error { asked = true; return nil }
	assert.Equal(t, first, partOf(t, c, c.append(t, draft), "vcs.json"))
	assert.False(t, asked, "the files are in the entry before")
	draft.VCS.Attempts = []string{"a::0::1"}
	assert.NotEqual(t, first, partOf(t, c, c.append(t, draft), "vcs.json"))
	assert.True(t, asked)
}

func TestATreeThatIsNotThereIsRefused(t *testing.T) {
	t.Parallel()
	c := start(t, snapshot.Draft{})
	missing := frameOf("missing")
	missing.Objects = nil
	blob := snapshot.Draft{Frame: &snapshot.FrameDraft{Silent: true}, VCS: capturedVCS(c.store.Add(objstore.Blob, []byte("x")))}
	worktree := frameOf("a")
	worktree.VCS.Worktrees = []snapshot.Worktree{{Name: "t", VCS: *capturedVCS(objstore.SHA1.ID(objstore.Blob, nil))}}
	for name, draft := range map[string]snapshot.Draft{"missing": missing, "a blob": blob, "of a worktree": worktree} {
		_, err := snapshot.Append(c.store, c.frames, c.tip, draft)
		assert.ErrorIs(t, err, snapshot.ErrInvalid, name)
	}
	broken := errors.New("no space")
	draft := frameOf("a")
	draft.Objects = func(objstore.Writer) error { return broken }
	_, err := snapshot.Append(c.store, c.frames, c.tip, draft)
	assert.ErrorIs(t, err, broken)
}

func TestAnEntryWhoseTreesAreOthersIsCorrupt(t *testing.T) {
	t.Parallel()
	other, add := files("other")
	for name, edit := range map[string]func([]objstore.TreeEntry) []objstore.TreeEntry{
		"another tree":     replace("worktree", objstore.ModeTree, other),
		"no tree":          without("worktree"),
		"a file":           replace("worktree", objstore.ModeFile, other),
		"worktrees":        replace("worktrees", objstore.ModeTree, other),
		"without vcs.json": without("vcs.json"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := start(t, snapshot.Draft{})
			c.append(t, frameOf("a"))
			require.NoError(t, add(c.store))
			_, err := c.forge(t, edit).VCSRevision()
			assert.ErrorIs(t, err, objstore.ErrCorrupt)
		})
	}
}

func TestOnlyTheFirstFilesAreNamed(t *testing.T) {
	t.Parallel()
	c := start(t, snapshot.Draft{})
	draft := frameOf("a")
	for i := range snapshot.MaxListed + 7 {
		path := fmt.Sprintf("%05d", i)
		draft.VCS.LeftOut = append(draft.VCS.LeftOut, snapshot.LeftOut{Path: path, Reason: snapshot.LeftTooLarge})
		draft.VCS.Altered = append(draft.VCS.Altered, snapshot.AlteredFile{Path: path, By: "lfs"})
	}
	vcs := vcsOf(t, c.append(t, draft))
	assert.Equal(t, draft.VCS.LeftOut[:snapshot.MaxListed], vcs.LeftOut)
	assert.Equal(t, draft.VCS.Altered[:snapshot.MaxListed], vcs.Altered)
	assert.Equal(t, []int64{7, 7}, []int64{vcs.LeftOutMore, vcs.AlteredMore})
	assert.Len(t, draft.VCS.LeftOut, snapshot.MaxListed+7, "the caller's list is the caller's")
}

func TestTextsThatAreNotUTF8AreMadeSo(t *testing.T) {
	t.Parallel()
	c := start(t, snapshot.Draft{})
	draft := frameOf("a")
	draft.VCS.Branch, draft.VCS.Root = "b\xff", "../r\xff/"
	draft.VCS.Altered = []snapshot.AlteredFile{{Path: "a\xff%", By: "f\xff"}}
	vcs := vcsOf(t, c.append(t, draft))
	assert.Equal(t, []string{"b\ufffd", "../r\ufffd"}, []string{vcs.Branch, vcs.Root})
	assert.Equal(t, []snapshot.AlteredFile{{Path: "a\xff%", By: "f\ufffd"}}, vcs.Altered, "but paths are kept")
}

func TestAPathIsSpelledInJSONAsItIsStored(t *testing.T) {
	t.Parallel()
	left := snapshot.LeftOut{Path: "caf\xe9/100%", Reason: snapshot.LeftTooLarge, Bytes: 5}
	data, err := json.Marshal(left)
	require.NoError(t, err)
	assert.Equal(t, []string{`{"bytes":5,"path":"caf%e9/100%25","reason":"too-large"}`}, []string{string(data)})
	var back snapshot.LeftOut
	require.NoError(t, json.Unmarshal(data, &back))
	assert.Equal(t, left, back)
	for _, bad := range []string{`{"path":"100%"}`, `{"path":"%E9"}`, `{"path":"a","size":1}`, `{"path":1}`, `[]`} {
		assert.Error(t, json.Unmarshal([]byte(bad), new(snapshot.LeftOut)), bad)
		assert.Error(t, json.Unmarshal([]byte(bad), new(snapshot.AlteredFile)), bad)
	}
}

func TestWhoeverReadsARevisionMayChangeIt(t *testing.T) {
	t.Parallel()
	c := start(t, snapshot.Draft{})
	draft := frameOf("a")
	draft.VCS.Attempts = []string{"a::0::1"}
	e := c.append(t, draft)
	vcsOf(t, e).Attempts[0] = "b::0::1"
	assert.Equal(t, []string{"a::0::1"}, vcsOf(t, e).Attempts)
}

func TestAnAttemptKeepsItsPointer(t *testing.T) {
	t.Parallel()
	c := start(t, snapshot.Draft{})
	e := c.append(t, snapshot.Draft{Journal: []snapshot.Change{{
		Op: snapshot.OpSet, Collection: snapshot.CollectionAttempts, Key: "a::0::1",
		Value: rawJSON(`{"state":"finished","commitId":"0123","treeId":"4b825dc642cb6eb9a060e54bf8d69288fbee4904",
			"frame":1,"worktree":"w","beside":["b::0::1","c::0::1"]}`),
	}}})
	attempts, err := e.Attempts()
	require.NoError(t, err)
	value, ok, err := attempts.Get("a::0::1")
	require.NoError(t, err)
	require.True(t, ok)
	want := `{"beside":["b::0::1","c::0::1"],"commitId":"0123","exitStatus":null,"finishedAtMs":null,"frame":1,` +
		`"startedAtMs":0,"state":"finished","treeId":"4b825dc642cb6eb9a060e54bf8d69288fbee4904","worktree":"w"}`
	assert.Equal(t, []string{want}, []string{string(value)})
}
