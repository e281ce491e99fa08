package engine_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// dieAt has the process die in place of the first frame with a subject.
func (s *scratch) dieAt(subject string) {
	s.t.Helper()
	died := errors.New("the machine went down")
	s.refuse = func(d snapshot.Draft) error {
		if d.Subject == subject {
			return died
		}
		return nil
	}
	_, err := s.run()
	require.ErrorIs(s.t, err, died)
	s.refuse = nil
}

// failing fails until the file go is there, and may do so twice.
const failing = `{name: w, tasks: [{id: a, run: 'test -e go', retries: 1}]}`

func TestAnInterruptedAttemptIsNoneOfTheTasksTries(t *testing.T) {
	t.Parallel()
	s := newScratch(t, failing, "")
	s.dieAt("a failed (attempt 1 of 2): exit status 1")
	s.dieAt("a failed (attempt 1 of 2): exit status 1")
	_, err := s.run()
	fails(t, fault.RunFailed, err)
	assert.Equal(t, []string{
		"a started",
		"a was interrupted", "a started",
		"a was interrupted", "a started", "a failed (attempt 1 of 2): exit status 1",
		"a started (attempt 2 of 2)", "a failed (attempt 2 of 2): exit status 1", "run failed: a: exit status 1",
	}, s.subjects())
	attempts := s.attempts()
	assert.Equal(t, snapshot.AttemptFailed, attempts["a::0::1"].State)
	assert.Equal(t, "interrupted: the process that ran the command died", attempts["a::0::2"].Error)
	assert.Equal(t, "exit_status: exit status 1", attempts["a::0::3"].Error)
}

func TestTriesAreCountedOverProcessesUntilTheRunHasEnded(t *testing.T) {
	t.Parallel()
	s := newScratch(t, failing, "")
	s.dieAt("a failed (attempt 2 of 2): exit status 1")
	_, err := s.run()
	fails(t, fault.RunFailed, err)
	assert.Equal(t, []string{
		"a started", "a failed (attempt 1 of 2): exit status 1", "a started (attempt 2 of 2)",
		"a was interrupted", "a started (attempt 2 of 2)", "a failed (attempt 2 of 2): exit status 1", "run failed: a: exit status 1",
	}, s.subjects(), "the first failure counts in the second process, too")

	s.dieAt("a failed (attempt 2 of 2): exit status 1")
	s.file("go", "")
	_, err = s.run()
	require.NoError(t, err)
	assert.Equal(t, []string{
		"a started", "a failed (attempt 1 of 2): exit status 1", "a started (attempt 2 of 2)",
		"a was interrupted", "a started (attempt 2 of 2)", "a finished", "run finished",
	}, s.subjects()[7:], "who resumes a run that failed gives its tasks their tries anew")
}
