package refs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/refs/refstest"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
)

// createFrames has git create frames 0 to n-1 of a run.
func createFrames(t *testing.T, repo *repotest.Repo, run string, n int, id objstore.ID) {
	t.Helper()
	var b strings.Builder
	for frame := range n {
		fmt.Fprintf(&b, "create %s %v\n", refstest.Frame(t, run, int64(frame)), id)
	}
	repo.GitInput(b.String(), "update-ref", "--stdin")
}

func TestPackIfManyPacksHundredsAndNotDozens(t *testing.T) {
	t.Parallel()
	repotest.NeedsFiles(t)
	for name, tt := range map[string]struct {
		frames int
		packed bool
	}{"dozens": {60, false}, "hundreds": {500, true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repo := refstest.New(t)
			id := refstest.Objects(t, repo, 1)[0]
			createFrames(t, repo, "run", tt.frames, id)
			db := refstest.Open(t, repo, nil)
			last := refs.Update{Name: refstest.Frame(t, "run", int64(tt.frames)), New: id}
			require.NoError(t, db.Apply(t.Context(), last))

			hook := filepath.Join(repo.GitDir, "hooks", "reference-transaction")
			require.NoError(t, os.MkdirAll(filepath.Dir(hook), 0o777))
			require.NoError(t, os.WriteFile(hook, []byte("#!/bin/sh\necho $1 >>\"$GIT_DIR\"/calls\n"), 0o777))
			var packing sync.WaitGroup
			for range 4 {
				packing.Go(func() { assert.NoError(t, db.PackIfMany(t.Context())) })
			}
			packing.Wait()
			assert.NoFileExists(t, filepath.Join(repo.GitDir, "calls"), "no ref has another value")
			require.NoError(t, os.Remove(hook))

			_, err := os.Stat(filepath.Join(repo.GitDir, "packed-refs"))
			assert.Equal(t, tt.packed, err == nil)
			frames, err := db.Frames(t.Context(), "run")
			require.NoError(t, err)
			assert.Len(t, frames, tt.frames+1)
			next := refs.Update{Name: refstest.Frame(t, "run", int64(tt.frames)+1), New: id}
			require.NoError(t, db.Apply(t.Context(), next), "where git removed the folder")
			require.ErrorIs(t, db.Apply(t.Context(), last), refs.ErrConflict)
		})
	}
}

func TestPackIfManyCountsRunsOfOthers(t *testing.T) {
	t.Parallel()
	repotest.NeedsFiles(t)
	repo := refstest.New(t)
	id := refstest.Objects(t, repo, 1)[0]
	var b strings.Builder
	for run := range 450 {
		fmt.Fprintf(&b, "create %s %v\n", refstest.Frame(t, fmt.Sprint("run", run), 0), id)
	}
	repo.GitInput(b.String(), "update-ref", "--stdin")
	db := refstest.Open(t, repo, nil)
	require.NoError(t, db.PackIfMany(t.Context()))
	assert.FileExists(t, filepath.Join(repo.GitDir, "packed-refs"))
}

func TestWritesGoOnBesidePacking(t *testing.T) {
	t.Parallel()
	repo := refstest.New(t)
	ids := refstest.Objects(t, repo, 2)
	db := refstest.Open(t, repo, nil)
	tip := refstest.Tip(t, "run")
	require.NoError(t, db.Apply(t.Context(), refs.Update{Name: tip, New: ids[0]}))
	done := make(chan struct{})
	var packing sync.WaitGroup
	packing.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				if _, err := repo.GitErr("pack-refs", "--all", "--prune"); repotest.RefFormat() == "files" { // git packs no tables that change meanwhile
					assert.NoError(t, err)
				}
			}
		}
	})
	const frames = 150
	for i := range frames {
		from, to := ids[i%2], ids[(i+1)%2]
		err := db.Apply(t.Context(),
			refs.Update{Name: tip, Old: from, New: to}, refs.Update{Name: refstest.Frame(t, "run", int64(i)), New: to})
		if !assert.NoError(t, err) {
			break
		}
		now, err := db.Resolve(t.Context(), tip)
		assert.NoError(t, err)
		assert.Equal(t, to, now)
	}
	close(done)
	packing.Wait()
	list, err := db.Frames(t.Context(), "run")
	require.NoError(t, err)
	assert.Len(t, list, frames)
}
