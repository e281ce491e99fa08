package timeline_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/consent"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

var errNobodyAgreed = errors.New("nobody agreed")

// mayRun reports whether a definition may run without anybody being asked.
func mayRun(t *testing.T, s *timeline.Store, definition string) bool {
	t.Helper()
	agreed, err := consent.Ask(s, &snapshot.Workflow{Definition: []byte(definition)}, false, func() error { return errNobodyAgreed })
	if errors.Is(err, errNobodyAgreed) {
		assert.Nil(t, agreed.Definition(), "no definition without consent")
		return false
	}
	require.NoError(t, err)
	assert.Equal(t, definition, string(agreed.Definition()))
	return true
}

// agree has somebody agree to a definition.
func agree(t *testing.T, s *timeline.Store, definition string) consent.Workflow {
	t.Helper()
	agreed, err := consent.Ask(s, &snapshot.Workflow{Definition: []byte(definition)}, false, func() error { return nil })
	require.NoError(t, err)
	return agreed
}

func TestConsentIsRememberedInTheCloneThatGaveIt(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t)
	s := open(t, repo)
	assert.False(t, mayRun(t, s, "name: flow\n"))
	assert.False(t, mayRun(t, s, "name: flow\n"), "a refusal is not remembered as consent")
	agree(t, s, "name: flow\n")
	agree(t, s, "name: flow\n")
	assert.True(t, mayRun(t, s, "name: flow\n"))
	assert.True(t, mayRun(t, open(t, repo), "name: flow\n"), "by another process, too")
	assert.False(t, mayRun(t, s, "name: flow \n"), "another definition")
	assert.False(t, mayRun(t, open(t, repotest.New(t)), "name: flow\n"), "another clone")
}

func TestConsentIsToTheBytesThatWereShown(t *testing.T) {
	t.Parallel()
	s := open(t, repotest.New(t))
	shown := &snapshot.Workflow{Definition: []byte("name: flow\n")}
	agreed, err := consent.Ask(s, shown, false, func() error {
		shown.Definition[0] = 'X' // while somebody looks at it
		return nil
	})
	require.NoError(t, err)
	agreed.Definition()[1] = 'Y'
	shown.Definition[2] = 'Z'
	assert.Equal(t, "name: flow\n", string(agreed.Definition()))
	assert.True(t, mayRun(t, s, "name: flow\n"))
	assert.False(t, mayRun(t, s, "Xame: flow\n"))
}

func TestOnlyAFileIsANoteOfConsent(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t)
	s := open(t, repo)
	agree(t, s, "name: flow\n")
	folder := filepath.Join(repo.Dir, ".git", "smithers", "trusted")
	note := filepath.Join(folder, (&snapshot.Workflow{Definition: []byte("name: other\n")}).Hash())
	require.NoError(t, os.Mkdir(note, 0o777))
	assert.False(t, mayRun(t, s, "name: other\n"), "a folder")
	require.NoError(t, os.Remove(note))
	require.NoError(t, os.Symlink((&snapshot.Workflow{Definition: []byte("name: flow\n")}).Hash(), note))
	assert.False(t, mayRun(t, s, "name: other\n"), "a symbolic link")
}

func TestNotesThatCannotBeReadAreNoConsent(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t)
	s := open(t, repo)
	repo.Write(".git/smithers/trusted", "in the way")
	agreed, err := consent.Ask(s, &snapshot.Workflow{Definition: []byte("name: flow\n")}, false, func() error { return nil })
	assert.Nil(t, agreed.Definition())
	require.Error(t, err)
}

// copied returns the store of a copy of a repository, with the same user.
func copied(t *testing.T, repo *repotest.Repo, to string) *timeline.Store {
	t.Helper()
	out, err := exec.Command("cp", "-r", repo.Dir, to).CombinedOutput()
	require.NoError(t, err, string(out))
	return at(t, to, repo.Env)
}

// at opens the history of a repository as a user with an environment.
func at(t *testing.T, dir string, env []string) *timeline.Store {
	t.Helper()
	s, err := timeline.Open(t.Context(), timeline.Options{Dir: dir, Env: env, Now: time.Now, Warn: func(err error) { t.Logf("warning: %v", err) }})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func TestACopyObeysNobodysConsentButItsOwn(t *testing.T) {
	t.Parallel()
	const flow = "name: flow\n"
	repo := repotest.New(t)
	agree(t, open(t, repo), flow)

	beside := filepath.Join(t.TempDir(), "copy")
	s := copied(t, repo, beside)
	assert.False(t, mayRun(t, s, flow))
	agree(t, s, flow)
	assert.True(t, mayRun(t, s, flow), "it asks once")
	assert.True(t, mayRun(t, open(t, repo), flow), "the original asks nothing")

	moved := filepath.Join(t.TempDir(), "moved")
	require.NoError(t, os.Rename(beside, moved))
	s = at(t, moved, repo.Env)
	assert.False(t, mayRun(t, s, flow), "nor does it count where the repository was moved to")
	agree(t, s, flow)
	assert.True(t, mayRun(t, s, flow))

	backup := copied(t, repo, beside).Repo().CommonDir
	place := filepath.Join(moved, ".git")
	require.NoError(t, os.Rename(place, place+".gone"))
	require.NoError(t, os.Rename(backup, place))
	assert.False(t, mayRun(t, at(t, moved, repo.Env), flow), "a backup in the place of the repository")
}

func TestConsentIsOneUsers(t *testing.T) {
	t.Parallel()
	const flow = "name: flow\n"
	repo := repotest.New(t)
	agree(t, open(t, repo), flow)
	state := filepath.Join(repo.Home, ".local", "state", "git-smithers", "token")
	info, err := os.Stat(state)
	require.NoError(t, err)
	assert.Zero(t, info.Mode().Perm()&0o077, "nobody else reads the token")
	assert.False(t, mayRun(t, at(t, repo.Dir, append(repo.Env, "XDG_STATE_HOME="+t.TempDir())), flow))
	linked := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(repo.Dir, linked))
	assert.True(t, mayRun(t, at(t, linked, repo.Env), flow), "another way to the same folder")
	require.NoError(t, os.Remove(state))
	assert.False(t, mayRun(t, open(t, repo), flow))
}

func TestWithoutAFolderOfTheUserConsentHoldsForOneCommand(t *testing.T) {
	t.Parallel()
	const flow = "name: flow\n"
	repo := repotest.New(t)
	file := filepath.Join(repo.Home, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for name, env := range map[string][]string{"a file": {"XDG_STATE_HOME=" + file}, "none": {"XDG_STATE_HOME=", "HOME="}} {
		s := at(t, repo.Dir, append(repo.Env, env...))
		agree(t, s, flow)
		assert.False(t, mayRun(t, s, flow), name)
		_, err := consent.OwnKey(s)
		assert.Equal(t, fault.WriteFailed, fault.CodeOf(err), name)
	}
}

// Versions before 0.1.2 noted consent without a seal.
func TestANoteWithoutASealAsksOnce(t *testing.T) {
	t.Parallel()
	flow := &snapshot.Workflow{Definition: []byte("name: flow\n")}
	for _, note := range []string{"", "named\n", "named", "shown\n", "shown\n\n"} {
		repo := repotest.New(t)
		s := open(t, repo)
		path := filepath.Join(s.Private(), "trusted", flow.Hash())
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(note), 0o600))
		refusal := fault.New(fault.Unconfirmed, "no")
		_, err := consent.Ask(s, flow, false, func() error { return refusal })
		require.ErrorIs(t, err, refusal, "%q", note)
		assert.Contains(t, refusal.Hints[0], "what was agreed to elsewhere does not count here")
		agree(t, s, string(flow.Definition))
		assert.True(t, mayRun(t, s, string(flow.Definition)))
	}
}
