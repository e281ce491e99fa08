package gitexec_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/internal/repotest"
)

func TestAProcessReadsItsInputAndReturnsBothOutputs(t *testing.T) {
	t.Parallel()
	env := repotest.Env(t.TempDir())
	sh, err := gitexec.Find(env, "sh")
	require.NoError(t, err)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)

	out, said, err := gitexec.Process{
		Program: sh, Dir: dir, Env: append(env, "WHO=me"), Options: []string{"-c"},
		Args: []string{`cat; pwd; echo "$WHO" >&2`}, Stdin: strings.NewReader("in\n"),
	}.Run(t.Context())

	require.NoError(t, err)
	assert.Equal(t, "in\n"+dir+"\n", string(out))
	assert.Equal(t, "me\n", string(said))
}

func TestTheErrorOfAProcessNamesTheProgramAndLeavesItsOptionsOut(t *testing.T) {
	t.Parallel()
	env := repotest.Env(t.TempDir())
	sh, err := gitexec.Find(env, "sh")
	require.NoError(t, err)
	_, _, err = gitexec.Process{Program: sh, Env: env, Options: []string{"-c"}, Args: []string{"echo no >&2; exit 3"}}.Run(t.Context())
	var failed *gitexec.Error
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, 3, failed.Status)
	assert.Equal(t, "sh echo no >&2; exit 3: no", err.Error())

	_, _, err = gitexec.Process{Env: []string{"PATH="}, Options: []string{"--no-pager"}, Args: []string{"version"}}.Run(t.Context())
	require.ErrorIs(t, err, gitexec.ErrNoGit)
	assert.True(t, strings.HasPrefix(err.Error(), "git version: "), err)
}

func TestTheErrorOfAProcessSaysWhetherItWasAskedToEnd(t *testing.T) {
	t.Parallel()
	env := repotest.Env(t.TempDir())
	sh, err := gitexec.Find(env, "sh")
	require.NoError(t, err)
	for script, want := range map[string]bool{"kill -INT $$": true, "kill -TERM $$": true, "kill -KILL $$": false, "exit 130": false} {
		_, _, err = gitexec.Process{Program: sh, Env: env, Options: []string{"-c"}, Args: []string{script}}.Run(t.Context())
		var failed *gitexec.Error
		require.ErrorAs(t, err, &failed)
		assert.Equal(t, want, failed.Stopped(), script)
	}
}

func TestFindRunsNothingFromTheCurrentFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program := filepath.Join(dir, "program")
	repotest.WriteProgram(t, program, "#!/bin/sh\n")
	found, err := gitexec.Find([]string{"PATH=." + string(filepath.ListSeparator) + dir}, "program")
	require.NoError(t, err)
	assert.Equal(t, program, found)
	_, err = gitexec.Find([]string{"PATH=" + dir, "PATH=."}, "program")
	assert.ErrorIs(t, err, exec.ErrNotFound)
}

func TestDiscoverGitDirKnowsARepositoryThatNoFolderLeadsTo(t *testing.T) {
	t.Parallel()
	repo, other := repotest.New(t, repotest.Commit), repotest.New(t)
	linked := filepath.Join(repo.Home, "linked")
	repo.Git("worktree", "add", "--quiet", "--detach", linked)
	repo.Git("config", "smithers.x", "y")
	for _, gitDir := range []string{repo.GitDir, filepath.Join(linked, ".git")} {
		found, err := gitexec.DiscoverGitDir(t.Context(), gitDir, append(repo.Env, "GIT_DIR="+other.GitDir))
		require.NoError(t, err)
		assert.Equal(t, repo.GitDir, found.CommonDir)
		assert.Empty(t, found.WorkTree)
		value, _ := found.Config.Get("smithers.x")
		assert.Equal(t, "y", value)
	}
	_, err := gitexec.DiscoverGitDir(t.Context(), repo.Home, repo.Env)
	assert.ErrorIs(t, err, gitexec.ErrNoRepository)
}

func TestWhatGitSaysOfOurOwnSettingsIsNotTold(t *testing.T) {
	t.Parallel()
	said := "warning: core.fsyncObjectFiles is deprecated; use core.fsync instead\nfatal: no\n"
	assert.Equal(t, "fatal: no", gitexec.NewError([]string{"add"}, nil, said, assert.AnError).Stderr)
}

func TestGitFindsNoProgramInARelativeFolder(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	marker := filepath.Join(filepath.Dir(repo.Dir), "marker")
	for _, folder := range []string{".", "bin"} {
		require.NoError(t, os.MkdirAll(filepath.Join(repo.Dir, folder), 0o777))
		for _, name := range []string{"git", "strip", "cat"} {
			require.NoError(t, os.WriteFile(filepath.Join(repo.Dir, folder, name), []byte("#!/bin/sh\ntouch '"+marker+"'\n"), 0o777))
		}
	}
	repo.Git("config", "filter.x.clean", "strip; cat")
	require.NoError(t, os.WriteFile(filepath.Join(repo.Dir, ".gitattributes"), []byte("* filter=x\n"), 0o666))
	for _, path := range []string{"bin:" + os.Getenv("PATH"), ":" + os.Getenv("PATH"), ".:" + os.Getenv("PATH"), os.Getenv("PATH") + ":bin:"} {
		git := gitexec.Process{Dir: repo.Dir, Env: append(slices.Clone(repo.Env), "PATH="+path), Args: []string{"hash-object", "--path=a", "--stdin"}}
		_, _, err := git.Run(t.Context())
		require.NoError(t, err)
		assert.NoFileExists(t, marker, "PATH=%s", path)
	}
}
