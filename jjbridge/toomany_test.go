package jjbridge_test

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/snapshot"
)

// TestTheLargestUntrackedFoldersAreLeftOut names in each case how many files, of how many bytes, the folders have.
func TestTheLargestUntrackedFoldersAreLeftOut(t *testing.T) {
	t.Parallel()
	type files map[string]int // untracked files by folder
	for name, test := range map[string]struct {
		files files
		bytes map[string]int // of each file of a folder; 1 by default
		opts  jjbridge.CaptureOptions
		left  []string
		scope string
	}{
		"dependencies beside sources": {
			files: files{"node_modules/a/": 20, "node_modules/b/": 20, "node_modules/c/": 20, "": 2, "src/": 3},
			opts:  jjbridge.CaptureOptions{MaxUntracked: 40}, left: []string{"node_modules/"},
		},
		"dependencies of many parts go as a whole": {
			files: files{
				"node_modules/": 20, "node_modules/a/": 9, "node_modules/b/": 9, "node_modules/c/": 9, "node_modules/d/": 9, "src/new/": 3,
			},
			opts: jjbridge.CaptureOptions{MaxUntracked: 40}, left: []string{"node_modules/"},
		},
		"dependencies in a new folder with sources": {
			files: files{"app/node_modules/": 60, "app/src/": 3}, opts: jjbridge.CaptureOptions{MaxUntracked: 40}, left: []string{"app/node_modules/"},
		},
		"dependencies further down": {
			files: files{"packages/app/node_modules/a/": 30, "packages/app/node_modules/b/": 30, "packages/app/src/": 3},
			opts:  jjbridge.CaptureOptions{MaxUntracked: 40}, left: []string{"packages/app/node_modules/"},
		},
		"as many as it takes": {
			files: files{"a/": 20, "b/": 21, "c/": 22, "d/": 1}, opts: jjbridge.CaptureOptions{MaxUntracked: 25}, left: []string{"b/", "c/"},
		},
		"what the user tracks in such a folder stays": {
			files: files{"src/": 50, "other/": 3}, opts: jjbridge.CaptureOptions{MaxUntracked: 40}, left: []string{"src/"},
		},
		"by size": {
			files: files{"large/": 2, "small/": 8}, bytes: map[string]int{"large/": 100},
			opts: jjbridge.CaptureOptions{MaxUntrackedBytes: 60}, left: []string{"large/"},
		},
		"no folder helps": {
			files: files{"": 50, "new/": 3}, opts: jjbridge.CaptureOptions{MaxUntracked: 40}, left: []string{""}, scope: snapshot.ScopeTracked,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repo := repotest.New(t, repotest.Commit)
			kept := []string{"README.md", "notes/todo.txt", "src/main.go"}
			isLeft := func(file string) bool {
				for _, left := range test.left {
					if strings.HasPrefix(file, left) {
						return true
					}
				}
				return false
			}
			for folder, n := range test.files {
				for i := range n {
					file := fmt.Sprintf("%snew%02d", folder, i)
					repo.Write(file, strings.Repeat("x", max(1, test.bytes[folder])))
					if !isLeft(file) {
						kept = append(kept, file)
					}
				}
			}
			var warned []error
			test.opts.Warn = func(err error) { warned = append(warned, err) }
			v := capture(t, repo, test.opts)
			var left []string
			for _, l := range v.LeftOut {
				assert.Equal(t, snapshot.LeftUntracked, l.Reason)
				left = append(left, l.Path)
			}
			assert.Equal(t, test.left, left)
			assert.ElementsMatch(t, kept, paths(repo, v))
			assert.Equal(t, cmp.Or(test.scope, snapshot.ScopeAll), v.Scope)
			require.Len(t, warned, 1)
			for _, name := range test.left {
				assert.ErrorContains(t, warned[0], name)
			}
			assert.Equal(t, v, capture(t, repo, test.opts), "and so it is the next time")
			assert.Equal(t, expected(t, repo), capturedAs(t, repo).Tree.String(), "all fit again")
			assert.Equal(t, v, capture(t, repo, test.opts), "and no more")
		})
	}
}

func TestARestoreLeavesAloneWhatWasTooMany(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	opts := jjbridge.CaptureOptions{MaxUntracked: 10}
	repo.Write("src/new.go", "1\n")
	before := capture(t, repo, opts)
	for i := range 20 {
		repo.Write(fmt.Sprintf("node_modules/%d.js", i), "1\n")
	}
	repo.Write("src/new.go", "2\n")
	then := capture(t, repo, opts)
	repo.Write("src/new.go", "3\n")
	repo.Write("node_modules/0.js", "2\n")
	for _, want := range []snapshot.VCS{then, before} {
		w := workspace(t, repo)
		have, err := w.Capture(t.Context(), opts)
		require.NoError(t, err)
		plan, err := w.Plan(t.Context(), have, want.Tree, want.LeftOut...)
		require.NoError(t, err)
		require.NoError(t, w.Restore(t.Context(), plan))
		require.NoError(t, have.Close())
		assert.Equal(t, repo.Git("show", want.Tree.String()+":src/new.go")+"\n", read(t, repo, "src/new.go"))
		assert.Equal(t, "2\n", read(t, repo, "node_modules/0.js"))
		assert.FileExists(t, filepath.Join(repo.Dir, "node_modules", "19.js"))
	}

	// A frame of a time at which they did not come yet to so many.
	require.NoError(t, os.RemoveAll(filepath.Join(repo.Dir, "node_modules")))
	w := workspace(t, repo)
	have, err := w.Capture(t.Context(), opts)
	require.NoError(t, err)
	plan, err := w.Plan(t.Context(), have, then.Tree, then.LeftOut...)
	require.NoError(t, err)
	assert.Empty(t, plan.Refused)
	require.NoError(t, have.Close())
}
