package sqliteindex_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/sqliteindex"
)

func TestARepositoryThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name     string
		prepare  func(t *testing.T, w *world)
		degraded bool
	}{
		{"an index that is up to date is read where it is", func(t *testing.T, w *world) {
			t.Helper()
			x, err := sqliteindex.Open(t.Context(), w.options())
			require.NoError(t, err)
			synced(t, x)
			require.NoError(t, x.Close())
		}, false},
		{"an index that somebody else has open is read with its log", func(t *testing.T, w *world) {
			t.Helper()
			synced(t, w.index(t))
		}, false},
		{"an index that is behind is left alone and the answers come from memory", func(t *testing.T, w *world) {
			t.Helper()
			x, err := sqliteindex.Open(t.Context(), w.options())
			require.NoError(t, err)
			synced(t, x)
			require.NoError(t, x.Close())
			w.start(t, "later", 2)
		}, true},
		{"an index that is damaged is left alone and the answers come from memory", func(t *testing.T, w *world) {
			t.Helper()
			writeFile(t, w.indexPath(), "garbage")
		}, true},
		{"without an index the answers come from memory", func(*testing.T, *world) {}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.start(t, "a", 3)
			tc.prepare(t, w)
			want := w.truth(t)

			got := w.asReader(t)

			assert.Equal(t, tc.degraded, got.Degraded)
			assert.Equal(t, want.Counts, got.Index.Counts)
			assert.Equal(t, want.Frames, got.Index.Frames)
		})
	}
}

func TestDetailsInARepositoryThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name     string
		prepare  func(t *testing.T, w *world, x *sqliteindex.Index)
		degraded bool
	}{
		{"details that are up to date are read where they are", func(t *testing.T, _ *world, x *sqliteindex.Index) {
			t.Helper()
			require.NoError(t, x.SyncDetails(t.Context()))
		}, false},
		{"details that are behind are read into memory", func(t *testing.T, w *world, x *sqliteindex.Index) {
			t.Helper()
			require.NoError(t, x.SyncDetails(t.Context()))
			w.start(t, "later", 1)
			require.NoError(t, x.Sync(t.Context()))
		}, true},
		{"and so are those that nobody has asked for", func(t *testing.T, _ *world, x *sqliteindex.Index) {
			t.Helper()
			require.NoError(t, x.Sync(t.Context()))
		}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.run(t, "a", w.first("a"), stateDraft(setNode(snapshot.Node{NodeID: "n", State: snapshot.NodePending})))
			x, err := sqliteindex.Open(t.Context(), w.options())
			require.NoError(t, err)
			tc.prepare(t, w, x)
			require.NoError(t, x.Close())

			got := w.asReader(t, detailsVariable+"=1")

			assert.False(t, got.Degraded)
			assert.Equal(t, tc.degraded, got.DetailsDegraded)
			assert.EqualValues(t, 1, got.Nodes)
		})
	}
}

// asReader syncs in a process that may read the repository and not write it.
func (w *world) asReader(t *testing.T, env ...string) report {
	t.Helper()
	for dir := filepath.Dir(w.GitDir); strings.HasPrefix(dir, os.TempDir()+"/"); dir = filepath.Dir(dir) {
		require.NoError(t, os.Chmod(dir, 0o755)) // the way there
	}
	forAll(t, w.GitDir, 0o555, 0o444)
	t.Cleanup(func() { forAll(t, w.GitDir, 0o755, 0o644) })
	cmd := w.process(t.Context(), t)
	cmd.Env = append(cmd.Env, env...)
	if os.Getuid() == 0 {
		// Permissions do not stop root, so the process is somebody else, who has to be able to read the binary.
		program, err := os.ReadFile(cmd.Path)
		require.NoError(t, err)
		cmd.Path = filepath.Join(filepath.Dir(w.GitDir), "child")
		repotest.WriteProgram(t, cmd.Path, string(program))
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		cmd.Dir = "/"
	}
	out, err := cmd.Output()
	require.NoError(t, err)
	var got report
	require.NoError(t, json.Unmarshal(out, &got))
	return got
}

func forAll(t *testing.T, root string, dirs, files os.FileMode) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.Chmod(path, dirs)
		}
		return os.Chmod(path, files)
	}))
}
