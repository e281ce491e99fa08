package doctor_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/internal/upkeep/doctor"
	"github.com/git-smithers/git-smithers/internal/upkeep/verify"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// A clinic is a repository with the runs one and two of 6 frames each, whose objects are
// loose, so that single ones can be taken away. origin has run one, and this clone knows.
type clinic struct {
	*repotest.Repo

	t      *testing.T
	origin string
	tip    string // of run one
}

func newClinic(t *testing.T) *clinic {
	t.Helper()
	c := &clinic{Repo: repotest.New(t, repotest.Commit), t: t}
	c.Env = append(c.Env, "GIT_SMITHERS_FSYNC=0")
	store := c.open()
	for _, run := range []string{"one", "two"} {
		head, err := store.Create(t.Context(), snapshot.Run{ID: run, Workflow: "w", Status: snapshot.RunRunning}, draft(run, 0))
		require.NoError(t, err)
		for i := range 5 {
			require.NoError(t, head.Append(t.Context(), draft(run, i+1)))
		}
	}
	require.NoError(t, store.Close())
	c.tip = c.Git("rev-parse", "refs/smithers/_tip/one")

	c.Git("repack", "-adq")
	pack, data := c.pack()
	require.NoError(t, os.RemoveAll(filepath.Dir(pack)))
	c.GitInput(string(data), "unpack-objects", "-q")
	c.origin = filepath.Join(filepath.Dir(c.Dir), "origin.git")
	c.Git("init", "--quiet", "--bare", c.origin)
	c.Git("remote", "add", "origin", "../origin.git")
	c.Git("push", "--quiet", "origin", "refs/smithers/_tip/one")
	c.Git("update-ref", "refs/smithers-remote/origin/one", c.tip)
	c.OnCleanup(func(t testing.TB) {
		t.Helper()
		s := c.open()
		report, err := verify.Runs(context.Background(), s)
		require.NoError(t, err)
		assert.Empty(t, report.Problems)
		require.NoError(t, s.Close())
	})
	return c
}

// pack is the one pack that there is.
func (c *clinic) pack() (path string, data []byte) {
	c.t.Helper()
	packs, err := filepath.Glob(filepath.Join(c.GitDir, "objects/pack/*.pack"))
	require.NoError(c.t, err)
	require.Len(c.t, packs, 1)
	data, err = os.ReadFile(packs[0])
	require.NoError(c.t, err)
	return packs[0], data
}

func draft(run string, i int) snapshot.Draft {
	row := snapshot.EncodeNode(snapshot.Node{NodeID: fmt.Sprint(run, i), State: snapshot.NodePending, OutputTable: "results"})
	return snapshot.Draft{Frame: &snapshot.FrameDraft{State: []snapshot.Change{
		{Op: snapshot.OpSet, Collection: snapshot.CollectionNodes, Key: row.Key, Value: row.Value},
		{Op: snapshot.OpSet, Collection: snapshot.CollectionInput, Value: json.RawMessage(fmt.Sprintf(`{"run":%q,"n":%d}`, run, i))},
	}}, Subject: fmt.Sprint("step ", i)}
}

func (c *clinic) open() *timeline.Store {
	c.t.Helper()
	s, err := timeline.Open(context.Background(), timeline.Options{Dir: c.Dir, Env: c.Env, Now: time.Now})
	require.NoError(c.t, err)
	return s
}

// examine is what a doctor finds who comes by anew.
func (c *clinic) examine() []doctor.Finding {
	c.t.Helper()
	s := c.open()
	found, err := doctor.New(s, nil).Examine(c.t.Context())
	require.NoError(c.t, err)
	require.NoError(c.t, s.Close())
	return found
}

// mend mends what is found, until nothing is left to be found, and returns the kinds and
// places of all that was.
func (c *clinic) mend() []string {
	c.t.Helper()
	s := c.open()
	k := doctor.New(s, nil)
	var all []string
	for range 5 {
		found, err := k.Examine(c.t.Context())
		require.NoError(c.t, err)
		if len(found) == 0 {
			break
		}
		for i := range found {
			all = append(all, found[i].Kind+" "+found[i].Where)
			require.NoError(c.t, k.Repair(c.t.Context(), &found[i]), "%+v", found[i])
			assert.True(c.t, found[i].Fixed)
		}
	}
	require.NoError(c.t, s.Close())
	assert.Empty(c.t, c.examine())
	return all
}

// remove takes away the loose object that git calls so.
func (c *clinic) remove(name string) {
	c.t.Helper()
	id := c.Git("rev-parse", "--verify", name)
	require.NoError(c.t, os.Remove(filepath.Join(c.GitDir, "objects", id[:2], id[2:])))
}

// refsNow is all refs of ours.
func (c *clinic) refsNow() string {
	return c.Git("for-each-ref", "refs/smithers", "refs/smithers-remote")
}

func TestNothingIsWrongWithASoundRepository(t *testing.T) {
	t.Parallel()
	assert.Empty(t, newClinic(t).examine())
}

func TestObjectsThatAreMissingAreFetchedAgain(t *testing.T) {
	t.Parallel()
	for name, objects := range map[string][]string{
		"a blob":         {"refs/smithers/one/3:run.json"},
		"a tree":         {"refs/smithers/one/2^{tree}"},
		"a commit":       {"refs/smithers/one/1"},
		"the tip":        {"refs/smithers/_tip/one"},
		"several at one": {"refs/smithers/one/4:run.json", "refs/smithers/one/4^{tree}", "refs/smithers/one/4"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newClinic(t)
			before := c.refsNow()
			for _, object := range objects {
				c.remove(object)
			}
			found := c.examine()
			require.NotEmpty(t, found)
			assert.Equal(t, doctor.MissingObject, found[0].Kind)
			assert.Contains(t, found[0].Repair, "origin")
			assert.Equal(t, []string{"missing-object one"}, c.mend())
			assert.Equal(t, before, c.refsNow(), "no ref has moved")
		})
	}
}

func TestADamagedObjectIsSetAsideAndFetchedAgain(t *testing.T) {
	t.Parallel()
	c := newClinic(t)
	id := c.Git("rev-parse", "refs/smithers/one/3:run.json")
	file := filepath.Join(c.GitDir, "objects", id[:2], id[2:])
	require.NoError(t, os.Chmod(file, 0o644))
	require.NoError(t, os.WriteFile(file, []byte("garbage"), 0o644))
	assert.Equal(t, []string{"damaged-object objects/" + id[:2] + "/" + id[2:], "missing-object one"}, c.mend())
	assert.FileExists(t, filepath.Join(c.GitDir, "smithers/damaged/objects", id[2:]))
}

func TestADamagedPackIsSalvagedAndWhatItLostFetchedAgain(t *testing.T) {
	t.Parallel()
	c := newClinic(t)
	c.Git("push", "--quiet", "origin", "refs/smithers/_tip/two")
	c.Git("update-ref", "refs/smithers-remote/origin/two", "refs/smithers/_tip/two")
	c.Git("repack", "-adfq", "--window=0") // without deltas, one object is one object
	before := c.refsNow()
	pack, data := c.pack()
	data[30] ^= 0xff // in the first object, the tip of one of the runs
	require.NoError(t, os.Chmod(pack, 0o644))
	require.NoError(t, os.WriteFile(pack, data, 0o644))

	found := c.mend()
	require.Len(t, found, 2)
	assert.Equal(t, "damaged-pack objects/pack/"+filepath.Base(pack), found[0])
	assert.Contains(t, found[1], "missing-object ")
	assert.Equal(t, before, c.refsNow())
	kept, err := os.ReadFile(filepath.Join(c.GitDir, "smithers/damaged/objects", filepath.Base(pack)))
	require.NoError(t, err)
	assert.Equal(t, data, kept)
}

func TestARemoteThatCannotBeReachedIsToldAndNothingChanges(t *testing.T) {
	t.Parallel()
	c := newClinic(t)
	c.Damaged()
	c.remove("refs/smithers/one/3:run.json")
	require.NoError(t, os.RemoveAll(c.origin))
	before := c.refsNow()
	found := c.examine()
	s := c.open()
	err := doctor.New(s, nil).Repair(t.Context(), &found[0])
	assert.Equal(t, fault.RemoteFailed, fault.CodeOf(err), "%v", err)
	assert.False(t, found[0].Fixed)
	require.NoError(t, s.Close())
	assert.Equal(t, before, c.refsNow())
	rest, err := filepath.Glob(filepath.Join(c.GitDir, "smithers/tmp/fetch-again-*"))
	require.NoError(t, err)
	assert.Empty(t, rest)
}

func TestWithoutKnowingWhichRemoteHasTheRunEachIsAsked(t *testing.T) {
	t.Parallel()
	c := newClinic(t)
	c.Git("update-ref", "-d", "refs/smithers-remote/origin/one")
	c.Git("init", "--quiet", "--bare", filepath.Join(c.Home, "empty.git"))
	c.Git("remote", "add", "empty", filepath.Join(c.Home, "empty.git"))
	c.remove("refs/smithers/one/3:run.json")
	assert.Equal(t, []string{"missing-object one"}, c.mend())
}

func TestWhatNoRemoteHasIsLeftToAPerson(t *testing.T) {
	t.Parallel()
	c := newClinic(t)
	c.Damaged()
	c.remove("refs/smithers/two/3:run.json")
	asked := c.examine()
	require.Len(t, asked, 1)
	store := c.open()
	err := doctor.New(store, nil).Repair(t.Context(), &asked[0])
	assert.Equal(t, fault.MissingObject, fault.CodeOf(err), "%v", err)
	require.NoError(t, store.Close())

	c.Git("remote", "remove", "origin")
	found := c.examine()
	require.Len(t, found, 1)
	assert.Equal(t, doctor.MissingObject, found[0].Kind)
	assert.Empty(t, found[0].Repair)
	s := c.open()
	err = doctor.New(s, nil).Repair(t.Context(), &found[0])
	assert.Equal(t, fault.Usage, fault.CodeOf(err))
	require.NoError(t, s.Close())
}

func TestATipThatIsLostForGoodGoesBackToTheNewestEntry(t *testing.T) {
	t.Parallel()
	c := newClinic(t)
	was, before := c.Git("rev-parse", "refs/smithers/_tip/two"), c.Git("rev-parse", "refs/smithers/two/4")
	c.remove("refs/smithers/_tip/two")
	c.Git("update-ref", "--no-deref", "-d", "refs/smithers/two/5")
	assert.Equal(t, []string{"lost-tip refs/smithers/_tip/two"}, c.mend())
	assert.Equal(t, before, c.Git("rev-parse", "refs/smithers/_tip/two"))
	moved, err := os.ReadFile(filepath.Join(c.GitDir, "smithers/damaged/moved-refs"))
	require.NoError(t, err)
	assert.Equal(t, was+" refs/smithers/_tip/two\n", string(moved))
}

func TestABrokenTipIsFoundAgainWithoutAnyOtherRef(t *testing.T) {
	t.Parallel()
	c := newClinic(t)
	for i := range 6 {
		c.Git("update-ref", "-d", fmt.Sprintf("refs/smithers/one/%d", i))
	}
	c.Git("update-ref", "-d", "refs/smithers-remote/origin/one")
	c.WriteRef("refs/smithers/_tip/one", "")
	assert.Equal(t, []string{"broken-ref refs/smithers/_tip/one"}, c.mend())
	assert.Equal(t, c.tip, c.Git("rev-parse", "refs/smithers/_tip/one"))
}

func TestABrokenTipThatIsPackedGoesOnFromThere(t *testing.T) {
	t.Parallel()
	repotest.NeedsFiles(t)
	c := newClinic(t)
	c.Git("update-ref", "refs/smithers/_tip/one", "refs/smithers/one/3")
	c.Git("pack-refs", "--all")
	require.NoError(t, os.MkdirAll(filepath.Join(c.GitDir, "refs/smithers/_tip"), 0o777))
	c.WriteRef("refs/smithers/_tip/one", "garbage\n")
	assert.Equal(t, []string{"broken-ref refs/smithers/_tip/one"}, c.mend())
	assert.Equal(t, c.tip, c.Git("rev-parse", "refs/smithers/_tip/one"))
}

func TestTipsAndFramesThatDisagree(t *testing.T) {
	t.Parallel()
	for _, k := range []struct {
		name   string
		damage []string // of git update-ref
		found  string
	}{
		{"a tip behind its frames", []string{"refs/smithers/_tip/one", "refs/smithers/one/2"}, "tip-behind-frames refs/smithers/_tip/one"},
		{"a frame ref at another frame", []string{"refs/smithers/one/2", "refs/smithers/one/3"}, "wrong-frame-ref refs/smithers/one/2"},
		{"a frame ref at another run", []string{"refs/smithers/one/2", "refs/smithers/two/2"}, "wrong-frame-ref refs/smithers/one/2"},
		{"a frame ref that is missing", []string{"-d", "refs/smithers/one/2"}, "missing-frame-ref one"},
	} {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			c := newClinic(t)
			before := c.refsNow()
			c.Git(append([]string{"update-ref"}, k.damage...)...)
			assert.Equal(t, []string{k.found}, c.mend())
			assert.Equal(t, before, c.refsNow())
		})
	}
}

func TestAFrameRefThatTheRunDoesNotHaveIsRemovedAndWhatItHoldsKept(t *testing.T) {
	t.Parallel()
	c := newClinic(t)
	stray := c.Git("commit-tree", "-m", "stray", "main^{tree}")
	c.Git("update-ref", "refs/smithers/one/77", stray)
	assert.Equal(t, []string{"wrong-frame-ref refs/smithers/one/77"}, c.mend())
	_, err := c.GitErr("rev-parse", "--verify", "--quiet", "refs/smithers/one/77")
	require.Error(t, err)
	packs, err := filepath.Glob(filepath.Join(c.GitDir, "smithers/damaged/objects/*.idx"))
	require.NoError(t, err)
	require.Len(t, packs, 1)
	assert.Contains(t, c.Git("verify-pack", "-v", packs[0]), stray)
}

func TestPackedRefsWithALineThatIsNoneKeepTheOthers(t *testing.T) {
	t.Parallel()
	repotest.NeedsFiles(t)
	c := newClinic(t)
	c.Git("pack-refs", "--all")
	before := c.refsNow()
	path := filepath.Join(c.GitDir, "packed-refs")
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	damaged := strings.Replace(string(data), "refs/smithers/_tip/one\n", "refs/smithers/_tip/one\nnot a line\n", 1)
	require.NoError(t, os.WriteFile(path, []byte(damaged), 0o666))
	found := c.mend()
	assert.Equal(t, "damaged-packed-refs packed-refs", found[0])
	assert.Equal(t, before, c.refsNow())
	kept, err := os.ReadFile(filepath.Join(c.GitDir, "smithers/damaged/packed-refs"))
	require.NoError(t, err)
	assert.Equal(t, damaged, string(kept))
}

func TestABrokenRefWithALongNameIsSavedUnderAShorterOne(t *testing.T) {
	t.Parallel()
	c := newClinic(t)
	c.Damaged()
	c.WriteRef("refs/smithers/_tip/"+strings.Repeat("a", 240), "no id\n")

	c.mend()

	kept, err := filepath.Glob(filepath.Join(c.GitDir, "smithers/damaged/refs%2fsmithers%2f_tip%2faaa*"))
	require.NoError(t, err)
	assert.Len(t, kept, 1)
}

func TestRefsAndObjectsInAWorktreesFolderComeBack(t *testing.T) {
	t.Parallel()
	repotest.NeedsFiles(t)
	c := newClinic(t)
	c.Git("worktree", "add", "--quiet", "--detach", filepath.Join(c.Home, "linked"))
	private := filepath.Join(c.GitDir, "worktrees/linked")
	last := c.Git("rev-parse", "refs/smithers/_tip/two")
	for _, id := range []string{last, c.Git("rev-parse", last+"^{tree}")} {
		require.NoError(t, os.MkdirAll(filepath.Join(private, "objects", id[:2]), 0o777))
		require.NoError(t, os.Rename(
			filepath.Join(c.GitDir, "objects", id[:2], id[2:]), filepath.Join(private, "objects", id[:2], id[2:])))
	}
	require.NoError(t, os.MkdirAll(filepath.Join(private, "refs/smithers/_tip"), 0o777))
	require.NoError(t, os.MkdirAll(filepath.Join(private, "refs/smithers/two"), 0o777))
	for _, ref := range []string{"refs/smithers/_tip/two", "refs/smithers/two/5"} {
		require.NoError(t, os.Rename(filepath.Join(c.GitDir, ref), filepath.Join(private, ref)))
	}
	c.Git("update-ref", "refs/smithers/_tip/two", "refs/smithers/two/4")
	assert.ElementsMatch(t, []string{
		"misplaced-ref worktrees/linked/refs/smithers/_tip/two", "misplaced-ref worktrees/linked/refs/smithers/two/5",
	}, c.mend())
	assert.Equal(t, last, c.Git("rev-parse", "refs/smithers/two/5"))
	assert.Equal(t, last, c.Git("rev-parse", "refs/smithers/_tip/two"))
}

func TestALockOfAProcessThatDiedIsFoundHoweverNewItIs(t *testing.T) {
	t.Parallel()
	repotest.NeedsFiles(t)
	c := newClinic(t)
	locks := filepath.Join(c.GitDir, "smithers/locks")
	require.NoError(t, os.MkdirAll(locks, 0o777))
	note := "locks\n" + c.tip + " refs/smithers/_tip/two\nend\n"
	require.NoError(t, os.WriteFile(filepath.Join(locks, "1-0badcafe"), []byte(note), 0o666))
	lock := filepath.Join(c.GitDir, "refs/smithers/_tip/two.lock")
	require.NoError(t, os.WriteFile(lock, []byte(c.tip+"\n"), 0o666))
	require.NoError(t, os.WriteFile(filepath.Join(c.GitDir, "refs/smithers/_tip/one.lock"), nil, 0o666)) // in use
	assert.Equal(t, []string{"stale-lock refs/smithers/_tip/two.lock"}, c.mend())
	assert.NoFileExists(t, lock)
	require.NoError(t, os.Remove(filepath.Join(c.GitDir, "refs/smithers/_tip/one.lock")))
}

func TestExaminingChangesNothing(t *testing.T) {
	t.Parallel()
	c := newClinic(t)
	c.Damaged()
	c.WriteRef("refs/smithers/one/2", "")
	c.WriteRef("refs/smithers/_tip/two", "")
	c.remove("refs/smithers/one/3:run.json")
	before := c.files()
	assert.Len(t, c.examine(), 3)
	assert.Equal(t, before, c.files())
}

// files is all files of the git directory with their sizes, but for those of the index, and what git has said, which any command may remember.
func (c *clinic) files() []string {
	c.t.Helper()
	var out []string
	require.NoError(c.t, filepath.WalkDir(c.GitDir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || path == filepath.Join(c.GitDir, "smithers", "git") {
			return err
		}
		info, err := d.Info()
		out = append(out, fmt.Sprint(path, info.Size()))
		return err
	}))
	return out
}
