package reftable_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/refs/reftable"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/objstore"
)

// algorithms are the hashes that each test of the format runs with.
var algorithms = map[string]objstore.Algorithm{"sha1": objstore.SHA1, "sha256": objstore.SHA256}

// stackOf is a repository whose refs are in tables, and its stack.
type stackOf struct {
	*repotest.Repo
	*reftable.Stack
	t    testing.TB
	hash objstore.Algorithm
	dir  string // the folder of the stack
}

// newStack returns a new repository with one commit on main. Its tables have no reflogs, unless a test turns them on. When the test ends, git and our
// own check find no problem in the stack.
func newStack(t testing.TB, hash objstore.Algorithm) *stackOf {
	t.Helper()
	repo := repotest.New(t)
	repo.UseNewerGit()
	require.NoError(t, os.RemoveAll(repo.GitDir))
	format := map[objstore.Algorithm]string{objstore.SHA1: "sha1", objstore.SHA256: "sha256"}[hash]
	repo.Git("init", "--quiet", "--template=", "--initial-branch=main", "--ref-format=reftable", "--object-format="+format)
	repo.Git("config", "core.logAllRefUpdates", "false")
	repo.Git("commit", "--quiet", "--allow-empty", "--message=first")
	s := &stackOf{Repo: repo, t: t, hash: hash, dir: filepath.Join(repo.GitDir, "reftable")}
	s.Stack = reftable.Open(s.dir, hash)
	repo.OnCleanup(s.wantSound)
	return s
}

// wantSound checks the stack by git and by ourselves.
func (s *stackOf) wantSound(t testing.TB) {
	t.Helper()
	out, err := s.GitErr("refs", "verify", "--strict")
	assert.NoError(t, err)
	assert.Empty(t, out)
	problems, err := reftable.Open(s.dir, s.hash).Check()
	assert.NoError(t, err)
	assert.Empty(t, problems)
	s.wantSame(t)
}

// wantSame compares the refs that git lists with those of the stack, and each with what is found by its name. Of many, a soak alone looks at each.
func (s *stackOf) wantSame(t testing.TB) {
	t.Helper()
	view, err := reftable.Open(s.dir, s.hash).Look()
	require.NoError(t, err)
	var ours strings.Builder
	count, of := 0, repotest.Size(7, 1)
	for rec, err := range view.Each("refs/", "") {
		if err != nil {
			require.NoError(t, err)
		}
		id, peeled := rec.ID, ""
		if rec.Target != "" {
			target, found, err := view.Get(rec.Target)
			require.NoError(t, err)
			if !found {
				continue // git does not list it
			}
			id = target.ID
		}
		if !rec.Peeled.IsZero() {
			peeled = rec.Peeled.String()
		}
		fmt.Fprintf(&ours, "%s %v %s %s\n", rec.Name, id, peeled, rec.Target)
		if count++; count > 1000 && count%of != 0 {
			continue
		}
		got, found, err := view.Get(rec.Name)
		if err != nil || !found || rec != got {
			t.Fatalf("%v is %v, %v by its name: %v", rec, got, found, err)
		}
	}
	assert.Equal(t, s.Git("for-each-ref", "--format=%(refname) %(objectname) %(*objectname) %(symref)"), strings.TrimSuffix(ours.String(), "\n"))
}

// ids returns the ids of n new commits.
func (s *stackOf) ids(n int) []objstore.ID {
	s.t.Helper()
	tree := s.Git("write-tree")
	all := make([]objstore.ID, n)
	for i := range all {
		id, err := objstore.ParseID(s.Git("commit-tree", "-m", strconv.Itoa(i), tree))
		require.NoError(s.t, err)
		all[i] = id
	}
	return all
}

// look returns the stack as it is now.
func (s *stackOf) look() *reftable.View {
	s.t.Helper()
	view, err := s.Look()
	require.NoError(s.t, err)
	return view
}

// tables returns the number of tables on the list.
func (s *stackOf) tables() int { return strings.Count(s.look().Text(), "\n") }

// want checks the value of a ref. A zero id means that the ref does not exist.
func (s *stackOf) want(name string, id objstore.ID) {
	s.t.Helper()
	rec, found, err := s.look().Get(name)
	require.NoError(s.t, err)
	assert.Equal(s.t, !id.IsZero(), found, name)
	assert.Equal(s.t, id, rec.ID, name)
}

// options are the options with which the tests append. They have everything that the program uses.
func (s *stackOf) options() reftable.Options {
	return reftable.Options{
		Proof: filepath.Join(s.GitDir, "proof"), Turns: filepath.Join(s.GitDir, "turn"), Patience: 10 * time.Second, Sync: true, SyncNames: true,
	}
}

// mustAppend appends changes.
func (s *stackOf) mustAppend(changes ...reftable.Change) {
	s.t.Helper()
	_, err := s.Append(s.t.Context(), changes, s.options())
	require.NoError(s.t, err)
}

// files returns the names of the files in the folder of the stack.
func (s *stackOf) files() []string {
	s.t.Helper()
	entries, err := os.ReadDir(s.dir)
	require.NoError(s.t, err)
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// wantNoLock checks that the folder of the stack has no lock, and that there is no proof. A writer that died may have left a table that is on
// no list.
func (s *stackOf) wantNoLock() {
	s.t.Helper()
	assert.NoFileExists(s.t, s.List()+".lock")
	assert.NoFileExists(s.t, s.options().Proof)
}

// wantNoLitter checks that the folder of the stack has the tables of the list and nothing else, and that there is no proof.
func (s *stackOf) wantNoLitter() {
	s.t.Helper()
	want := append(strings.Fields(s.look().Text()), "tables.list")
	assert.ElementsMatch(s.t, want, s.files())
	assert.NoFileExists(s.t, s.options().Proof)
}
