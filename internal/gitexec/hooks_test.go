package gitexec_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/internal/repotest"
)

// hookNames are names of hooks in the configuration.
var hookNames = []string{"plain", "With.Dots", "a=b"}

// marking makes a repository whose hooks make the file marker, in their folder and in the configuration.
func marking(t *testing.T) (repo *repotest.Repo, marker string) {
	t.Helper()
	repo = repotest.New(t, repotest.Commit)
	marker = filepath.Join(filepath.Dir(repo.Dir), "marker")
	for _, event := range []string{"reference-transaction", "post-index-change"} {
		hook := filepath.Join(repo.GitDir, "hooks", event)
		require.NoError(t, os.MkdirAll(filepath.Dir(hook), 0o777))
		require.NoError(t, os.WriteFile(hook, []byte("#!/bin/sh\ntouch '"+marker+"'\n"), 0o777))
	}
	for _, name := range hookNames {
		repo.Git("config", "hook."+name+".command", "touch '"+marker+"'; cat >/dev/null; :")
		repo.Git("config", "--add", "hook."+name+".event", "reference-transaction")
		repo.Git("config", "--add", "hook."+name+".event", "post-index-change")
	}
	return repo, marker
}

func TestNoHooksTurnsEveryHookOff(t *testing.T) {
	t.Parallel()
	gits := []string{""}
	if newer, err := filepath.Abs("../../.tools/newer-git/bin/git"); err == nil {
		if newer, err = exec.LookPath(newer); err == nil {
			gits = append(gits, newer)
		}
	}
	for _, program := range gits {
		repo, marker := marking(t)
		found, err := gitexec.Discover(t.Context(), repo.Dir, repo.Env)
		require.NoError(t, err)
		for _, args := range [][]string{{"update-ref", "refs/tags/a", "HEAD"}, {"read-tree", "HEAD"}} {
			git := gitexec.Process{Program: program, Dir: repo.Dir, Env: gitexec.PlumbingEnv(repo.Env), Options: []string{"--git-dir=" + repo.GitDir}, Args: args}
			_, _, err = git.Run(t.Context())
			require.NoError(t, err)
			require.FileExists(t, marker, "with hooks, %s %v must run one", program, args)
			require.NoError(t, os.Remove(marker))
		}
		options := append([]string{"--git-dir=" + repo.GitDir}, gitexec.NoHooks(found.Config)...)
		for _, args := range [][]string{{"update-ref", "refs/tags/b", "HEAD"}, {"read-tree", "HEAD"}} {
			git := gitexec.Process{Program: program, Dir: repo.Dir, Env: gitexec.PlumbingEnv(repo.Env), Options: options, Args: args}
			_, _, err = git.Run(t.Context())
			require.NoError(t, err)
			assert.NoFileExists(t, marker, "%s %v", program, args)
		}
	}
}
