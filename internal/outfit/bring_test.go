package outfit_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/outfit"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/jjbridge/worktrees"
)

// pair returns the working copy of a scratch repository, whose .gitignore and .worktreeinclude are as given, and a new one of its commit.
func pair(t *testing.T, repo *repotest.Repo, ignore, include string) (from, to *jjbridge.Workspace) {
	t.Helper()
	from, err := jjbridge.Locate(t.Context(), repo.Dir, repo.Env)
	require.NoError(t, err)
	to, err = worktrees.Add(t.Context(), from, worktrees.AddRequest{Path: filepath.Join(filepath.Dir(repo.Home), "new"), Name: "new"})
	require.NoError(t, err)
	for _, dir := range []string{from.Root, to.Root} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, ".gitignore"), []byte(ignore), 0o644))
	}
	repo.Write(outfit.IncludeFile, include)
	return from, to
}

func bring(t *testing.T, from, to *jjbridge.Workspace) outfit.Brought {
	t.Helper()
	brought, err := outfit.Bring(t.Context(), from, to, func(int, int) {})
	require.NoError(t, err)
	return brought
}

func TestIgnoredFilesThatAreNamedComeIntoEveryKindOfWorkingCopy(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, _ repotest.Kind, repo *repotest.Repo) {
		from, to := pair(t, repo, "deps/\n*.log\n", "# what a build needs\ndeps/\nREADME.md\nnew.txt\n!deps/big\n")
		repo.Write("deps/a/b", "b\n")
		repo.Write("deps/tool", "tool\n")
		repo.Write("deps/inner/.jj/repo", "jj's\n")
		repo.Write("deps/inner/file", "of a workspace\n")
		repo.Write("new.txt", "not ignored\n")
		repo.Write("a.log", "not named\n")
		require.NoError(t, os.Chmod(filepath.Join(from.Root, "deps/tool"), 0o750))

		brought := bring(t, from, to)

		assert.Equal(t, outfit.Brought{Files: 2, Bytes: 7}, brought)
		info, err := os.Stat(filepath.Join(to.Root, "deps/tool"))
		require.NoError(t, err)
		assert.Equal(t, fs.FileMode(0o750), info.Mode().Perm())
		for _, none := range []string{"deps/inner", "new.txt", "a.log"} {
			assert.NoFileExists(t, filepath.Join(to.Root, none))
		}
		assert.Equal(t, outfit.Brought{}, bring(t, from, to), "what is there is not brought again")
	})
}

func TestNothingIsWrittenThroughALinkOrOverAFile(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	from, to := pair(t, repo, "deps\nout\nmine\n", "deps/\nout/\nmine\n")
	for _, name := range []string{"deps/file", "out/file", "mine"} {
		repo.Write(name, "brought\n")
	}
	outside := t.TempDir()
	require.NoError(t, os.Symlink(outside, filepath.Join(to.Root, "out")))
	require.NoError(t, os.Symlink("src", filepath.Join(to.Root, "deps")))
	require.NoError(t, os.WriteFile(filepath.Join(to.Root, "mine"), []byte("the frame's\n"), 0o644))

	brought := bring(t, from, to)

	assert.Equal(t, outfit.Brought{Skipped: []string{"deps/file", "out/file"}}, brought)
	assert.NoFileExists(t, filepath.Join(outside, "file"))
	assert.NoFileExists(t, filepath.Join(to.Root, "src/file"))
	data, err := os.ReadFile(filepath.Join(to.Root, "mine"))
	require.NoError(t, err)
	assert.Equal(t, "the frame's\n", string(data))
}

func TestALinkIsALinkAndNeverLeadsBack(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	from, to := pair(t, repo, "deps/\n", "deps/\n")
	repo.Write("deps/file", "x\n")
	require.NoError(t, os.Mkdir(filepath.Join(from.Root, "deps/bin"), 0o755))
	alias := filepath.Join(t.TempDir(), "alias")
	require.NoError(t, os.Symlink(from.Root, alias))
	for name, target := range map[string]string{
		"bin/alias": filepath.Join(alias, "deps/file"), "bin/inside": "../file", "bin/away": "/etc/passwd", "bin/beside": "../../../elsewhere",
		"bin/back": filepath.Join(from.Root, "deps/file"), "bin/round": "../../../" + filepath.Base(from.Root) + "/deps/file",
	} {
		require.NoError(t, os.Symlink(target, filepath.Join(from.Root, "deps", name)))
	}

	brought := bring(t, from, to)

	assert.Equal(t, outfit.Brought{Files: 4, Bytes: 2, Skipped: []string{"deps/bin/alias", "deps/bin/back", "deps/bin/round"}}, brought)
	target, err := os.Readlink(filepath.Join(to.Root, "deps/bin/away"))
	require.NoError(t, err)
	assert.Equal(t, "/etc/passwd", target)
}

func TestAboveALimitNothingIsBrought(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	from, to := pair(t, repo, "deps/\n", "deps/\n")
	repo.Write("deps/small", "x\n")
	repo.Write("deps/large", "")
	require.NoError(t, os.Truncate(filepath.Join(from.Root, "deps/large"), 11<<30)) // without a block on disk

	_, err := outfit.Bring(t.Context(), from, to, func(int, int) {})

	require.ErrorContains(t, err, ".worktreeinclude names 2 files with 11264 MB, and the limits are 200000 files with 10240 MB")
	assert.NoDirExists(t, filepath.Join(to.Root, "deps"))
}
