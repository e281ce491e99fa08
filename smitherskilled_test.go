package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/source/sourcetest"
	"github.com/git-smithers/git-smithers/internal/repotest"
)

// doomed is a repository whose commands about Smithers' databases are killed, each time in a copy of it.
type doomed struct {
	*world
	took time.Duration // of a command that nobody killed
}

// newDoomed is a repository beside the databases git.db and jj.db, which Smithers made.
func newDoomed(t *testing.T) *doomed {
	t.Helper()
	d := &doomed{world: worldOf(t, repotest.New(t, repotest.Commit))}
	for name, fixture := range map[string]string{"git.db": "git-run-fork-replay.db", "jj.db": "jj-pristine-31frames.db"} {
		data, err := os.ReadFile(filepath.Join("testdata", "smithers", fixture))
		require.NoError(t, err)
		d.write(name, string(data))
	}
	return d
}

// copy is the repository once more.
func (d *doomed) copy() string {
	d.t.Helper()
	dir := filepath.Join(d.t.TempDir(), "copy")
	require.NoError(d.t, os.CopyFS(dir, os.DirFS(d.Dir)))
	return dir
}

// calm runs a command to its end.
func (d *doomed) calm(dir string, args ...string) {
	d.t.Helper()
	began := time.Now()
	cmd := process(dir, d.Env, "git-smithers", args...)
	var said bytes.Buffer
	cmd.Stderr = &said
	require.NoError(d.t, cmd.Run(), "%v: %s", args, said.String())
	d.took = time.Since(began)
}

// kills runs a command in copies of the repository, kills it at moments spread over the time that it takes, and
// has each looked at.
func (d *doomed) kills(took time.Duration, look func(dir, when string), args ...string) {
	d.t.Helper()
	const kills = 3
	for i := range kills {
		dir := d.copy()
		at := took*time.Duration(i)/kills + time.Duration(rand.N(int64(took)/kills))
		cmd := process(dir, d.Env, "git-smithers", args...)
		require.NoError(d.t, cmd.Start())
		timer := time.AfterFunc(at, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
		timer.Stop()
		look(dir, fmt.Sprintf("killed after %v of %v", at, took))
	}
}

// refs are those of all runs in a copy, with the objects that they name.
func (d *doomed) refs(dir, prefix string) string {
	d.t.Helper()
	return d.Git("-C", dir, "for-each-ref", prefix)
}

func TestAnImportThatIsKilledHasWholeRunsAndIsDoneAgain(t *testing.T) {
	t.Parallel()
	d := newDoomed(t)
	calm := d.copy()
	d.calm(calm, "import", "git.db")
	took, all, tips := d.took, strings.Split(d.refs(calm, "refs/smithers"), "\n"), d.refs(calm, "refs/smithers/_tip")
	d.calm(calm, "export", "--to", "../all.db", "--root", d.Dir)
	want, err := os.ReadFile(filepath.Join(calm, "..", "all.db"))
	require.NoError(t, err)
	d.kills(took, func(dir, when string) {
		if there := d.refs(dir, "refs/smithers"); there != "" {
			assert.Subset(t, all, strings.Split(there, "\n"), when)
		}
		d.calm(dir, "import", "git.db")
		assert.Equal(t, tips, d.refs(dir, "refs/smithers/_tip"), when)
		assert.Equal(t, all, strings.Split(d.refs(dir, "refs/smithers"), "\n"), "%s: frame refs that were left out are made", when)
		d.calm(dir, "verify", "--deep")
		d.calm(dir, "export", "--to", "../all.db", "--root", d.Dir)
		there, err := os.ReadFile(filepath.Join(dir, "..", "all.db"))
		require.NoError(t, err)
		assert.True(t, bytes.Equal(want, there), when)
	}, "import", "git.db")
}

func TestAnExportThatIsKilledHasWrittenEverythingOrNothing(t *testing.T) {
	t.Parallel()
	d := newDoomed(t)
	d.calm(d.Dir, "import", "git.db")
	calm := d.copy()
	d.calm(calm, "export", "--to", "../all.db", "--root", d.Dir)
	want, err := os.ReadFile(filepath.Join(calm, "..", "all.db"))
	require.NoError(t, err)
	d.kills(d.took, func(dir, when string) {
		to := filepath.Join(dir, "..", "all.db")
		if there, err := os.ReadFile(to); err == nil {
			assert.True(t, bytes.Equal(want, there), when)
			require.NoError(t, os.Remove(to), when)
		}
		d.calm(dir, "export", "--to", "../all.db", "--root", d.Dir)
		there, err := os.ReadFile(to)
		require.NoError(t, err, when)
		assert.True(t, bytes.Equal(want, there), when)
		beside, err := os.ReadDir(filepath.Dir(to))
		require.NoError(t, err)
		beside = slices.DeleteFunc(beside, func(e os.DirEntry) bool { // a process was killed before it put anything into its own
			entries, err := os.ReadDir(filepath.Join(filepath.Dir(to), e.Name()))
			return strings.HasPrefix(e.Name(), "all.db.new-") && err == nil && len(entries) == 0
		})
		assert.Len(t, beside, 2, "%s: the copy and the database", when)
	}, "export", "--to", "../all.db", "--root", d.Dir)
}

func TestAnExportThatIsKilledAddsAllRunsToADatabaseOrNone(t *testing.T) {
	t.Parallel()
	d := newDoomed(t)
	d.calm(d.Dir, "import", "git.db")
	before, calm := rowsOf(t, d.copy()), d.copy()
	d.calm(calm, "export", "--to", "jj.db", "--root", d.Dir)
	want := rowsOf(t, calm)
	require.NotEqual(t, want, before, "there is something to add")
	d.kills(d.took, func(dir, when string) {
		there := rowsOf(t, dir)
		if there == want {
			return
		}
		assert.Equal(t, before, there, when)
		d.calm(dir, "export", "--to", "jj.db", "--root", d.Dir)
		assert.Equal(t, want, rowsOf(t, dir), when)
	}, "export", "--to", "jj.db", "--root", d.Dir)
}

// rowsOf is how many rows each table of the database jj.db in a folder has, which has to be sound.
func rowsOf(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(dir, "jj.db")
	query := func(text string) [][]string {
		rows, err := sourcetest.Query(context.Background(), path, text)
		require.NoError(t, err)
		return rows
	}
	require.Equal(t, [][]string{{"ok"}}, query("PRAGMA integrity_check"))
	var b strings.Builder
	for _, table := range query("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY 1") {
		fmt.Fprintln(&b, table[0], query(`SELECT count(*) FROM "` + table[0] + `"`)[0][0])
	}
	return b.String()
}
