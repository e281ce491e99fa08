package files

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

func openStore(t *testing.T, repo *repotest.Repo, warn func(error)) *timeline.Store {
	t.Helper()
	s, err := timeline.Open(t.Context(), timeline.Options{Dir: repo.Dir, Env: repo.Env, Now: time.Now, Warn: warn})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// A process that dies while it makes a worktree leaves it in any state.
func TestAWorktreeThatWasNotFinishedIsMadeAnew(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, _ repotest.Kind, repo *repotest.Repo) {
		t.Helper()
		s := openStore(t, repo, nil)
		made, err := OpenWorktree(t.Context(), s, "run", WorktreeSpec{Name: "a"}, false)
		require.NoError(t, err)
		begun := madeWorktree{Run: "run", Name: "a", Path: made.Root(), Begun: true}
		require.NoError(t, putMade(s, begun))

		anew, err := OpenWorktree(t.Context(), s, "run", WorktreeSpec{Name: "a"}, false)
		require.NoError(t, err)
		assert.Equal(t, made.Root(), anew.Root())
		record, err := findMade(s, "run", "a")
		require.NoError(t, err)
		assert.False(t, record.Begun)

		require.NoError(t, putMade(s, begun))
		require.NoError(t, os.WriteFile(filepath.Join(made.Root(), "mine"), []byte("of the user\n"), 0o666))
		_, err = OpenWorktree(t.Context(), s, "run", WorktreeSpec{Name: "a"}, false)
		assert.Equal(t, fault.UnsavedWork, fault.CodeOf(err), "%v", err)
		assert.FileExists(t, filepath.Join(made.Root(), "mine"))
	})
}

// git makes the record of a worktree step by step, before it checks out a file.
func TestAWorktreeWhoseMakingWasCutOffBeforeItHadAFileIsMadeAnew(t *testing.T) {
	t.Parallel()
	for name, cut := range map[string]struct {
		mark, record bool     // .git in the folder, and git's record
		zeros        bool     // HEAD has no commit
		lacks        []string // files of the record
	}{
		"an empty folder":     {},
		"a record alone":      {record: true, lacks: []string{"HEAD", "commondir"}},
		"a mark":              {mark: true, record: true, lacks: []string{"HEAD", "commondir"}},
		"a HEAD of zeros":     {mark: true, record: true, zeros: true, lacks: []string{"commondir"}},
		"everything but HEAD": {mark: true, record: true, zeros: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repo := repotest.New(t, repotest.Commit)
			s := openStore(t, repo, nil)
			made, err := OpenWorktree(t.Context(), s, "run", WorktreeSpec{Branch: "b"}, false)
			require.NoError(t, err)
			top, record := made.Root(), filepath.Join(repo.GitDir, "worktrees", filepath.Base(made.Root()))
			begun := func() {
				files, err := os.ReadDir(top)
				require.NoError(t, err)
				for _, file := range files {
					if file.Name() != ".git" || !cut.mark {
						require.NoError(t, os.RemoveAll(filepath.Join(top, file.Name())))
					}
				}
				require.NoError(t, os.WriteFile(filepath.Join(record, "locked"), []byte("initializing"), 0o666))
				if cut.zeros {
					require.NoError(t, os.WriteFile(filepath.Join(record, "HEAD"), []byte(strings.Repeat("0", 40)+"\n"), 0o666))
				}
				for _, file := range append(cut.lacks, "index", "logs", "ORIG_HEAD") {
					require.NoError(t, os.RemoveAll(filepath.Join(record, file)))
				}
				if !cut.record {
					require.NoError(t, os.RemoveAll(record))
				}
				require.NoError(t, putMade(s, madeWorktree{Run: "run", Path: top, Branch: "b", Begun: true}))
			}

			begun()
			anew, err := OpenWorktree(t.Context(), s, "run", WorktreeSpec{Branch: "b"}, false)
			require.NoError(t, err)
			assert.Equal(t, top, anew.Root())
			assert.Equal(t, repo.Git("ls-files"), repo.Git("-C", top, "ls-files"))
			assert.Empty(t, repo.Git("-C", top, "status", "--porcelain"))

			begun()
			require.NoError(t, os.WriteFile(filepath.Join(top, "mine"), []byte("of the user\n"), 0o666))
			_, err = OpenWorktree(t.Context(), s, "run", WorktreeSpec{Branch: "b"}, false)
			require.Error(t, err)
			assert.FileExists(t, filepath.Join(top, "mine"))
			require.NoError(t, os.Remove(filepath.Join(top, "mine")))

			list, err := Worktrees(t.Context(), s)
			require.NoError(t, err)
			require.Len(t, list, 1)
			assert.Empty(t, list[0].Unsaved)
			assert.DirExists(t, top)
			pruned, err := PruneWorktrees(t.Context(), s, nil, PruneOptions{})
			require.NoError(t, err)
			require.Len(t, pruned, 1)
			assert.True(t, pruned[0].Removed)
			assert.NoDirExists(t, top)
			assert.NoDirExists(t, record)
		})
	}
}

// jj checks out files before it records that there is a workspace.
func TestAWorkspaceThatJJDoesNotKnowYetIsMadeAnew(t *testing.T) {
	t.Parallel()
	repo := repotest.NewKind(t, repotest.JJColocated)
	s := openStore(t, repo, nil)
	made, err := OpenWorktree(t.Context(), s, "run", WorktreeSpec{}, false)
	require.NoError(t, err)
	top := made.Root()
	begun := func() {
		repo.JJ("workspace", "forget", "--quiet", filepath.Base(top))
		require.NoError(t, putMade(s, madeWorktree{Run: "run", Path: top, Begun: true}))
	}
	files := strings.Fields(repo.Git("ls-tree", "--name-only", "main"))

	begun()
	require.NoError(t, os.Truncate(filepath.Join(top, files[0]), 0)) // it died while it wrote the file
	_, err = OpenWorktree(t.Context(), s, "run", WorktreeSpec{}, false)
	require.NoError(t, err)
	want, err := os.ReadFile(filepath.Join(repo.Dir, files[0]))
	require.NoError(t, err)
	got, err := os.ReadFile(filepath.Join(top, files[0]))
	require.NoError(t, err)
	assert.Equal(t, want, got)

	begun()
	require.NoError(t, os.MkdirAll(filepath.Join(repo.GitDir, "info"), 0o777))
	require.NoError(t, os.WriteFile(filepath.Join(repo.GitDir, "info", "exclude"), []byte(".env\n"), 0o666))
	require.NoError(t, os.WriteFile(filepath.Join(top, ".env"), []byte("SECRET=1\n"), 0o666))
	_, err = OpenWorktree(t.Context(), s, "run", WorktreeSpec{}, false)
	assert.Equal(t, fault.UnsavedWork, fault.CodeOf(err), "%v", err)
	assert.FileExists(t, filepath.Join(top, ".env"))
}

// Between the note and the making of a worktree, a user may have made one in its place.
func TestAWorktreeOfTheUserIsNotTakenForOneThatWasNotFinished(t *testing.T) {
	t.Parallel()
	for name, add := range map[string]func(t *testing.T, repo *repotest.Repo, path string){
		"on a branch": func(_ *testing.T, repo *repotest.Repo, path string) {
			repo.Git("worktree", "add", "--quiet", "-b", "mine", path)
		},
		"with an ignored file": func(t *testing.T, repo *repotest.Repo, path string) {
			t.Helper()
			repo.Git("worktree", "add", "--quiet", "--detach", path)
			require.NoError(t, os.MkdirAll(filepath.Join(repo.GitDir, "info"), 0o777))
			require.NoError(t, os.WriteFile(filepath.Join(repo.GitDir, "info", "exclude"), []byte(".env\n"), 0o666))
			require.NoError(t, os.WriteFile(filepath.Join(path, ".env"), []byte("SECRET=1\n"), 0o666))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repo := repotest.New(t, repotest.Commit)
			s := openStore(t, repo, nil)
			path := filepath.Join(filepath.Dir(repo.Dir), "own")
			add(t, repo, path)
			require.NoError(t, putMade(s, madeWorktree{Run: "run", Path: path, Begun: true}))
			before := repo.Git("worktree", "list", "--porcelain")

			_, err := OpenWorktree(t.Context(), s, "run", WorktreeSpec{Path: path}, false)
			assert.Equal(t, fault.UnsavedWork, fault.CodeOf(err), "%v", err)
			assert.Equal(t, before, repo.Git("worktree", "list", "--porcelain"))
			entries, err := os.ReadDir(path)
			require.NoError(t, err)
			assert.NotEmpty(t, entries)
		})
	}
}

func TestARecordThatCannotBeReadIsAWarning(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	var warnings []error
	s := openStore(t, repo, func(err error) { warnings = append(warnings, err) })
	_, err := OpenWorktree(t.Context(), s, "run", WorktreeSpec{Name: "a"}, false)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(madePath(s, "0000.json"), []byte("{"), 0o666))
	require.NoError(t, os.WriteFile(madePath(s, "1111.json.new"), []byte("{"), 0o666))
	list, err := Worktrees(t.Context(), s)
	require.NoError(t, err)
	assert.Len(t, list, 1)
	assert.Len(t, warnings, 1)
}
