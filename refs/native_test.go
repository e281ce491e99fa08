package refs_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/internal/refs/refstest"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/refs"
)

// fakeGit puts a git before the real one on PATH that does what script says, with
// the real one's path in $git.
func fakeGit(t *testing.T, env []string, script string) []string {
	t.Helper()
	dir := t.TempDir()
	content := "#!/bin/sh\ngit=$(PATH=${PATH#*:} command -v git)\n" + script + "\n"
	repotest.WriteProgram(t, filepath.Join(dir, "git"), content)
	return append(env, "PATH="+dir+":"+os.Getenv("PATH"))
}

func TestNativeOutcomeIsReadFromTheRefs(t *testing.T) {
	t.Parallel()
	const prepare = `echo 'start: ok'; echo 'prepare: ok'; while read -r line && [ "$line" != commit ]; do :; done; `
	for name, script := range map[string]string{
		"git dies before anything":   `if [ -e $HOME/died ]; then exec "$git" "$@"; fi; touch $HOME/died; kill -9 $$`,
		"git dies after everything":  prepare + `for ref in $TIP $FRAME; do "$git" update-ref $ref $NEW; done; kill -9 $$`,
		"git dies between two refs":  `if [ -e $HOME/died ]; then exec "$git" "$@"; fi; touch $HOME/died; ` + prepare + `"$git" update-ref $TIP $NEW; kill -9 $$`,
		"git says what nobody knows": `if [ -e $HOME/died ]; then exec "$git" "$@"; fi; touch $HOME/died; echo 'what: ok'`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repo := refstest.New(t)
			ids := refstest.Objects(t, repo, 2)
			tip, frame := refstest.Tip(t, "run"), refstest.Frame(t, "run", 0)
			repo.Git("update-ref", string(tip), ids[0].String())
			db := refstest.Open(t, repo, func(o *refs.Options) {
				o.NativeOnly = true
				o.Env = append(fakeGit(t, o.Env, script), "TIP="+string(tip), "FRAME="+string(frame), "NEW="+ids[1].String())
			})

			require.NoError(t, db.Apply(t.Context(),
				refs.Update{Name: tip, Old: ids[0], New: ids[1]}, refs.Update{Name: frame, New: ids[1]}))

			refstest.Want(t, repo, db, tip, ids[1])
			refstest.Want(t, repo, db, frame, ids[1])
		})
	}
}

func TestNativeReplacesItsChildNowAndThen(t *testing.T) {
	t.Parallel()
	repo := refstest.New(t)
	ids := refstest.Objects(t, repo, 2)
	starts := filepath.Join(repo.Home, "starts")
	db := refstest.Open(t, repo, func(o *refs.Options) {
		o.NativeOnly = true
		o.Env = fakeGit(t, o.Env, `echo x >>$HOME/starts; exec "$git" "$@"`)
	})
	tip := refstest.Tip(t, "run")
	require.NoError(t, db.Apply(t.Context(), refs.Update{Name: tip, New: ids[0]}))
	for i := range 600 {
		require.NoError(t, db.Apply(t.Context(), refs.Update{Name: tip, Old: ids[i%2], New: ids[(i+1)%2]}))
	}
	content, err := os.ReadFile(starts)
	require.NoError(t, err)
	assert.Equal(t, "x\nx\n", string(content))
}

func TestNativeSaysWhyGitRefused(t *testing.T) {
	t.Parallel()
	repo := refstest.New(t)
	missing := refstest.ID(t, strings.Repeat("1", 2*refstest.Objects(t, repo, 1)[0].Algorithm().Size()))
	tip := refstest.Tip(t, "run")
	db := refstest.Open(t, repo, func(o *refs.Options) { o.NativeOnly = true })
	err := db.Apply(t.Context(), refs.Update{Name: tip, New: missing})
	var failure *gitexec.Error
	require.ErrorAs(t, err, &failure)
	assert.Contains(t, failure.Stderr, "nonexistent object")

	none := refstest.Open(t, repo, func(o *refs.Options) {
		o.NativeOnly = true
		o.Env = append(o.Env, "PATH=")
	})
	assert.ErrorIs(t, none.Apply(t.Context(), refs.Update{Name: tip, New: missing}), gitexec.ErrNoGit)
}

func TestFailpointsStopAWrite(t *testing.T) {
	t.Parallel()
	stop := errors.New("stopped here")
	for name, native := range map[string]bool{"auto": false, "native": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repo := refstest.New(t)
			ids := refstest.Objects(t, repo, 2)
			tip, frame := refstest.Tip(t, "run"), refstest.Frame(t, "run", 0)
			at := ""
			db := refstest.Open(t, repo, func(o *refs.Options) {
				o.NativeOnly = native
				o.Failpoint = func(name string) error {
					if name == at {
						return stop
					}
					return nil
				}
			})
			both := []refs.Update{{Name: tip, New: ids[0]}, {Name: frame, New: ids[0]}}
			at = refs.FailRefsLocked
			require.ErrorIs(t, db.Apply(t.Context(), both...), stop)
			assert.Empty(t, repo.Git("for-each-ref"))
			assert.Empty(t, refstest.Locks(t, repo))
			at = ""
			require.NoError(t, db.Apply(t.Context(), both...))
			at = refs.FailRefsDone
			require.ErrorIs(t, db.Apply(t.Context(), refs.Update{Name: tip, Old: ids[0], New: ids[1]}), stop)
			refstest.Want(t, repo, db, tip, ids[1])
		})
	}
}

func TestOpenRefusesRefsThatLieElsewhere(t *testing.T) {
	t.Parallel()
	_, err := refs.Open(refs.Options{Repo: gitexec.Repo{CommonDir: t.TempDir(), RefFormat: "files:///x"}})
	assert.ErrorIs(t, err, refs.ErrUnsupported)
}

func TestAReadOnlyRepositoryIsSaidToBe(t *testing.T) {
	t.Parallel()
	repo := refstest.New(t)
	id := refstest.Objects(t, repo, 1)[0]
	db := refstest.Open(t, repo, nil)
	// A file where the folder of ours should be stands for all that forbids writing:
	// the tests may run as root, whom permissions do not bind.
	require.NoError(t, os.WriteFile(filepath.Join(repo.GitDir, "smithers"), nil, 0o666))
	err := db.Apply(t.Context(), refs.Update{Name: refstest.Tip(t, "run"), New: id})
	var path *os.PathError
	require.ErrorAs(t, err, &path)
	assert.Empty(t, refstest.Locks(t, repo))
}
