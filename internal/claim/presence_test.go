package claim_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/claim"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/timeline"
)

// place returns a working copy with a clock that goes on by a second with each look, and a function that makes time pass.
func place(t *testing.T, env ...string) (*timeline.Store, func(time.Duration)) {
	t.Helper()
	repo := repotest.New(t)
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	s, err := timeline.Open(t.Context(), timeline.Options{Dir: repo.Dir, Env: append(slices.Clone(repo.Env), env...), Now: func() time.Time {
		now = now.Add(time.Second)
		return now
	}})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	return s, func(d time.Duration) { now = now.Add(d) }
}

// session returns the note of a session.
func session(id string) claim.PresenceNote {
	return claim.PresenceNote{Run: id, Session: true, Variable: "AGENT"}
}

func TestWhoIsAtWorkInAFolderKnowsOfTheOthers(t *testing.T) {
	t.Parallel()
	s, pass := place(t)
	here, elsewhere := claim.PresenceAt(s, "/here"), claim.PresenceAt(s, "/elsewhere")
	beside := func(run string) []string { return here.Beside(run, "", s.Now()) }

	assert.Empty(t, beside("a"))
	here.Enter(session("a"), "")
	here.Enter(session("b"), "")
	assert.Equal(t, []string{"b"}, beside("a"))
	assert.Equal(t, []string{"a"}, beside("b"))
	assert.Equal(t, []string{"a", "b"}, beside("c"), "who is not at work sees them, too")
	assert.Empty(t, elsewhere.Beside("c", "", s.Now()))
	assert.Empty(t, here.Executing("c"), "a session may be idle")

	// b leaves: what it did since a's last look is in a's next capture
	here.Leave("b")
	assert.Equal(t, []string{"a"}, beside("c"))
	assert.Equal(t, []string{"b"}, beside("a"))
	assert.Empty(t, beside("a"))

	// a session that is interrupted has no hook that tells its end
	pass(2 * time.Hour)
	assert.Empty(t, beside("c"))
	here.Enter(session("a"), "")
	assert.Equal(t, []string{"a"}, beside("c"))
	here.Leave("a")
	assert.Empty(t, beside("c"))
}

func TestANoteThatIsBeingWrittenIsNoSecondNote(t *testing.T) {
	t.Parallel()
	s, _ := place(t)
	here := claim.PresenceAt(s, "/here")
	here.Enter(session("a"), "")
	notes, err := filepath.Glob(filepath.Join(s.Private(), "present", "*", "*"))
	require.NoError(t, err)
	require.Len(t, notes, 1)
	data, err := os.ReadFile(notes[0])
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(notes[0]), "."+filepath.Base(notes[0])), data, 0o600))
	assert.Equal(t, []string{"a"}, here.Beside("b", "", s.Now()))
}

func TestAKilledRunIsNotAtWork(t *testing.T) {
	t.Parallel()
	s, _ := place(t)
	here := claim.PresenceAt(s, "/here")
	here.Enter(session("a"), "")
	claims, err := s.Executed().Folder("r")
	require.NoError(t, err)
	held, err := claims.Claim(1, s.Now(), false)
	require.NoError(t, err)
	here.Enter(claim.PresenceNote{Run: "r"}, "")
	assert.Equal(t, []string{"r"}, here.Executing("a"))
	require.NoError(t, held.Leave()) // as the system does when the process is killed
	assert.Empty(t, here.Executing("a"))
	assert.Equal(t, []string{"r"}, here.Beside("a", "", s.Now()), "nobody knows until when it was at work")
	assert.Empty(t, here.Beside("a", "", s.Now()))
}

func TestWhatACommandOfARunDoesIsTheRunsWork(t *testing.T) {
	t.Parallel()
	s, _ := place(t, "SMITHERS_RUN_ID=outer", "AGENT=1")
	here := claim.PresenceAt(s, "/here")
	here.Enter(session("agent"), "")
	here.Enter(session("outer"), "")
	here.Enter(claim.PresenceNote{Run: "inner"}, "")
	here.Enter(claim.PresenceNote{Run: "called"}, "inner")
	assert.Empty(t, here.Beside("inner", "", s.Now()))
	assert.Empty(t, here.Beside("called", "inner", s.Now()))
	assert.Empty(t, here.Beside("agent", "", s.Now()), "a task of outer has started the agent")
}
