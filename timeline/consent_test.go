package timeline_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/consent"
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
