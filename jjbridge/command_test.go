package jjbridge_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/jjbridge"
)

func TestRunRunsTheSystemOfTheWorkingCopyInItsTop(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, kind repotest.Kind, repo *repotest.Repo) {
		w := locate(t, filepath.Join(repo.Dir, "src"), repo.Env)
		args := []string{"rev-parse", "--show-toplevel"}
		if kind.IsJJ() {
			args = []string{"workspace", "root"}
		}
		out, err := w.Run(t.Context(), args...)
		require.NoError(t, err)
		assert.Equal(t, repo.Dir, strings.TrimSpace(string(out)))
	})
}

func TestRunIgnoresTheSettingsOfTheUser(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, kind repotest.Kind, repo *repotest.Repo) {
		require.NoError(t, writeFile(repo.Home, "jj.toml", `
			[ui]
			color = "always"
			paginate = "auto"
			pager = "false"
			default-command = ["no-such-command"]`))
		require.NoError(t, writeFile(repo.Home, "gitconfig", "[color]\nui = always\n[core]\npager = false\nfsmonitor = false\n"))
		w := locate(t, repo.Dir, append(repo.Env, "LC_ALL=de_DE.UTF-8", "GIT_INDEX_FILE=/nowhere/index"))
		args := []string{"log", "-1", "--format=%H %s", "main"}
		if kind.IsJJ() {
			args = []string{"log", "--no-graph", "--revisions=main", `--template=commit_id ++ " " ++ description`}
		}
		out, err := w.Run(t.Context(), args...)
		require.NoError(t, err)
		assert.Equal(t, repo.Git("rev-parse", "main")+" first", strings.TrimSpace(string(out)))
	})
}

func TestRunRunsNoHookAndLeavesTheIndexOfTheUserAlone(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	ran := filepath.Join(repo.Home, "ran")
	for _, hook := range []string{"reference-transaction", "post-index-change"} {
		path := filepath.Join(repo.GitDir, "hooks", hook)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o777))
		repotest.WriteProgram(t, path, "#!/bin/sh\ntouch '"+ran+"'\n")
	}
	w := locate(t, repo.Dir, repo.Env)
	_, err := w.Run(t.Context(), "update-ref", "refs/heads/other", "HEAD")
	require.NoError(t, err)
	_, err = w.Run(t.Context(), "update-index", "--force-write-index")
	require.NoError(t, err)
	assert.NoFileExists(t, ran)
}

func TestAFailureSaysWhatTheProgramSaid(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, kind repotest.Kind, repo *repotest.Repo) {
		w := locate(t, repo.Dir, repo.Env)
		_, err := w.Run(t.Context(), "show", "no-such-revision")
		var failed *gitexec.Error
		require.ErrorAs(t, err, &failed)
		assert.Positive(t, failed.Status)
		program := "git"
		if kind.IsJJ() {
			program = "jj"
		}
		assert.True(t, strings.HasPrefix(err.Error(), program+" show: "), err)
		assert.Contains(t, failed.Stderr, "no-such-revision")
	})
}

func TestWithoutJJOnPathOnlyJJIsMissed(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, kind repotest.Kind, repo *repotest.Repo) {
		path := onlyGit(t)
		w := locate(t, repo.Dir, append(repo.Env, "PATH="+path))
		pointer, err := w.Pointer(t.Context())
		assert.Equal(t, kind == repotest.JJColocated, w.NoJJ)
		if kind.IsJJ() && kind != repotest.JJColocated {
			require.ErrorIs(t, err, jjbridge.ErrNoJJ)
			var failed *gitexec.Error
			require.ErrorAs(t, err, &failed)
			assert.ErrorContains(t, err, ": jj was not found on PATH")
			assert.NotContains(t, err.Error(), path, "it can be long")
			return
		}
		require.NoError(t, err)
		assert.Equal(t, repo.Git("rev-parse", "HEAD"), pointer.CommitID)
	})
}

func TestTheJJToRunCanBeNamed(t *testing.T) {
	t.Parallel()
	repo := repotest.NewKind(t, repotest.JJ)
	bare := append(repo.Env, "PATH="+onlyGit(t))
	_, err := locate(t, repo.Dir, append(bare, "SMITHERS_JJ_PATH="+repotest.LookJJ(t))).Pointer(t.Context())
	require.NoError(t, err)
	_, err = locate(t, repo.Dir, append(repo.Env, "SMITHERS_JJ_PATH=/nowhere/jj")).Pointer(t.Context())
	require.ErrorIs(t, err, jjbridge.ErrNoJJ)
	assert.ErrorContains(t, err, "/nowhere/jj")
	_, err = locate(t, repo.Dir, append(repo.Env, "SMITHERS_JJ_PATH=/nowhere/jj", "SMITHERS_JJ_PATH=")).Pointer(t.Context())
	require.NoError(t, err, "an empty value is no path")
}

func TestAJJThatDoesNotKnowACommandIsAskedForItsVersion(t *testing.T) {
	t.Parallel()
	repo := repotest.NewKind(t, repotest.JJ)
	for name, tt := range map[string]struct {
		version, says string
		old           bool
	}{
		"too old":                      {"jj 0.17.1", "error: unexpected argument '--no-graph' found", true},
		"old, and another failure":     {"jj 0.17.1", "Error: Something else", false},
		"new enough":                   {"jj 0.42.0-b8f7c45", "error: unexpected argument '--no-graph' found", false},
		"newer than all of them":       {"jj 1.0.0", "error: unrecognized subcommand", false},
		"a version nobody can make of": {"jujutsu", "error: unrecognized subcommand", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			jj := filepath.Join(t.TempDir(), "jj")
			script := "#!/bin/sh\nif [ \"$1\" = --version ]; then echo '" + tt.version + "'; exit; fi\necho \"" + tt.says + "\" >&2\nexit 2\n"
			repotest.WriteProgram(t, jj, script)
			_, err := locate(t, repo.Dir, append(repo.Env, "SMITHERS_JJ_PATH="+jj)).Pointer(t.Context())
			require.Error(t, err)
			assert.Equal(t, tt.old, errors.Is(err, jjbridge.ErrJJTooOld), err)
			assert.ErrorContains(t, err, tt.says)
		})
	}
}

func TestAStaleWorkspaceIsAnErrorOfItsOwn(t *testing.T) {
	t.Parallel()
	repo := repotest.NewKind(t, repotest.JJSecondary)
	first := locate(t, filepath.Join(filepath.Dir(repo.Dir), "jj"), repo.Env)
	_, err := first.Run(t.Context(), "restore", "--from=root()", "--into=second@")
	require.NoError(t, err)
	_, err = locate(t, repo.Dir, repo.Env).Pointer(t.Context())
	require.ErrorIs(t, err, jjbridge.ErrStale)
}
