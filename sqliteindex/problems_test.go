package sqliteindex_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/sqliteindex"
)

func TestAnUnreadableRunDoesNotBlockTheOthers(t *testing.T) {
	t.Parallel()
	repotest.NeedsFiles(t)
	for _, tc := range []struct {
		name string
		do   func(t *testing.T, w *world, tip *snapshot.Entry)
		want error
	}{
		{"its tip is a commit of the user's", func(t *testing.T, w *world, _ *snapshot.Entry) {
			t.Helper()
			tree, err := w.GitErr("mktree")
			require.NoError(t, err)
			commit, err := w.GitErr("commit-tree", "-m", "mine", tree)
			require.NoError(t, err)
			w.git(t, "update-ref", "refs/smithers/_tip/bad", commit)
		}, nil},
		{"its tip is the tip of another run", func(t *testing.T, w *world, tip *snapshot.Entry) {
			t.Helper()
			w.git(t, "update-ref", "refs/smithers/_tip/bad", tip.ID.String())
		}, objstore.ErrCorrupt},
		{"its attempts are damaged", func(t *testing.T, w *world, _ *snapshot.Entry) {
			t.Helper()
			w.Damaged()
			tip := w.Git("rev-parse", "refs/smithers/_tip/bad")
			junk := w.GitInput("junk\n", "hash-object", "-w", "--stdin")
			journal := w.GitInput("100644 blob "+junk+"\tattempts\n", "mktree")
			var tree strings.Builder
			for line := range strings.Lines(w.Git("ls-tree", tip) + "\n") {
				if !strings.HasSuffix(line, "\tjournal\n") {
					tree.WriteString(line)
				}
			}
			tree.WriteString("040000 tree " + journal + "\tjournal\n")
			_, rest, _ := strings.Cut(w.Git("cat-file", "commit", tip), "\n")
			commit := w.GitInput("tree "+w.GitInput(tree.String(), "mktree")+"\n"+rest+"\n", "hash-object", "-t", "commit", "-w", "--stdin")
			w.git(t, "update-ref", "refs/smithers/_tip/bad", commit)
		}, objstore.ErrCorrupt},
		{"an object of it is missing", func(t *testing.T, w *world, _ *snapshot.Entry) {
			t.Helper()
			w.Damaged()
			missing := objstore.AlgorithmOf(repotest.ObjectFormat()).ID(objstore.Commit, []byte("missing"))
			path := filepath.Join(w.GitDir, "refs", "smithers", "_tip", "bad")
			writeFile(t, path, missing.String()+"\n")
		}, objstore.ErrNotFound},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			tip := w.start(t, "good", 3)
			bad := w.start(t, "bad", 2)
			x := w.index(t)
			assert.Len(t, synced(t, x).Runs, 2)

			tc.do(t, w, tip)
			w.setTip(t, "good", w.write(t, tip, frameDraft()).ID)

			got := synced(t, x)
			assert.Len(t, got.Frames["good"], 4)
			assert.Len(t, got.Runs, 1, "what was indexed of the run is not what its ref says")
			assert.Equal(t, w.truth(t), got)
			require.Len(t, x.Problems(), 1)
			var problem *sqliteindex.RunError
			require.ErrorAs(t, x.Problems()[0], &problem)
			assert.Equal(t, "bad", problem.Ref)
			if tc.want != nil {
				require.ErrorIs(t, problem, tc.want)
			}
			require.ErrorAs(t, x.SyncRun(t.Context(), "bad"), &problem)

			writeFile(t, filepath.Join(w.GitDir, "refs", "smithers", "_tip", "bad"), bad.ID.String()+"\n")
			assert.Len(t, synced(t, x).Runs, 2, "it is tried again at the next sync")
			assert.Empty(t, x.Problems())
		})
	}
}

func TestABrokenRefDoesNotBlockTheOthers(t *testing.T) {
	t.Parallel()
	repotest.NeedsFiles(t)
	w := newWorld(t)
	tip := w.start(t, "good", 1)
	bad := w.start(t, "bad", 2)
	x := w.index(t)
	synced(t, x)
	w.Damaged()
	path := filepath.Join(w.GitDir, "refs", "smithers", "_tip", "bad")

	writeFile(t, path, "")
	w.setTip(t, "good", w.write(t, tip, frameDraft()).ID)

	got := synced(t, x)
	assert.Len(t, got.Runs, 1)
	assert.Len(t, got.Frames["good"], 2)
	require.Len(t, x.Problems(), 1)
	require.ErrorIs(t, x.Problems()[0], refs.ErrBroken)
	require.ErrorIs(t, x.SyncRun(t.Context(), "bad"), refs.ErrBroken)

	writeFile(t, path, bad.ID.String()+"\n")
	assert.Len(t, synced(t, x).Runs, 2)
}
