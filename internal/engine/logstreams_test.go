package engine_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/engine"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// answers is a run of one task with an output, an integer, and of at most 20 bytes.
func answers(t *testing.T, command string) *scratch {
	t.Helper()
	s := newScratch(t, "{name: w, outputs: {o: {type: integer}}, tasks: [{id: a, output: o, run: '"+
		strings.ReplaceAll(command, "'", "''")+"'}]}", "")
	s.opts.MaxLog, s.opts.MaxOutput = 10, 20
	return s
}

func TestWhatIsNoOutputIsInTheLog(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ run, log string }{
		"of a command that failed": {`echo why; exit 1`, "why\n"},
		"that is not JSON":         {`echo sorry`, "sorry\n"},
		"that does not fit":        {`echo '"text"'`, "\"text\"\n"},
		"that is too large":        {`printf 0123456789%send "$(printf '%.0sx' $(seq 30))"`, "[33 bytes before this are not kept]\nxxxxxxxend"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := answers(t, c.run)
			_, err := s.run()
			fails(t, fault.RunFailed, err)
			assert.Equal(t, c.log, s.log("a::0::1"))
		})
	}
}

func TestTheOutputIsNotInTheLogAgain(t *testing.T) {
	t.Parallel()
	s := answers(t, `echo 12; echo talk >&2`)
	_, err := s.run()
	require.NoError(t, err)
	assert.Equal(t, "talk\n", s.log("a::0::1"))
	assert.Equal(t, map[string]string{"a::0": "12"}, s.outputs("o"))
}

func TestWhatACancelledAttemptPrintedIsInItsLog(t *testing.T) {
	t.Parallel()
	s := answers(t, `echo so far; read x < fifo`)
	s.fifo("fifo")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s.whenLogged("so far\n", cancel)
	_, err := s.runWithin(ctx)
	fails(t, fault.RunCancelled, err)
	assert.Equal(t, "so far\n", s.log("a::0::1"))
}

func TestStreamsAreInTheOrderInWhichTheyCameAndBoundedEachByItself(t *testing.T) {
	t.Parallel()
	s := answers(t, `echo out; read x < fifo; printf 0123456789abc >&2; exit 1`)
	s.fifo("fifo")
	s.whenLogged("out\n", func() { s.file("fifo", "\n") })
	_, err := s.run()
	fails(t, fault.RunFailed, err)
	assert.Equal(t, "out\n[3 bytes of stderr before this are not kept]\n3456789abc", s.log("a::0::1"))
}

// The copy that is read while an attempt runs, and if its process is killed, keeps both ends, too.
func TestWhatIsReadWhileAnAttemptRunsKeepsTheEndOfEachStream(t *testing.T) {
	t.Parallel()
	s := answers(t, `echo out; read x < fifo; for i in 1 2 3 4 5 6 7 8 9; do printf 0123456789 >&2; done; printf end >&2; read x < fifo2; exit 1`)
	s.fifo("fifo", "fifo2")
	logs := s.whenLogged("out\n", func() { s.file("fifo", "\n") })
	seen := make(chan string, 1)
	go func() {
		var live string
		assert.Eventually(t, func() bool {
			live = logs.Last("a::0::1")
			return strings.HasPrefix(live, "out\n") && strings.HasSuffix(live, "9end")
		}, time.Minute, time.Millisecond)
		seen <- live
		s.file("fifo2", "\n")
	}()
	_, err := s.run()
	fails(t, fault.RunFailed, err)
	assert.Less(t, len(<-seen), 60)
}

// whenLogged keeps the live logs of the run, and calls a function once the log of its attempt is text.
func (s *scratch) whenLogged(text string, call func()) *keptLogs {
	logs := newKeptLogs()
	s.opts.Logs = logs
	s.opts.Progress = func(p engine.Progress) {
		if p.Running == 0 {
			return
		}
		go func() {
			assert.Eventually(s.t, func() bool { return logs.Last("a::0::1") == text }, time.Minute, time.Millisecond)
			call()
		}()
	}
	return logs
}
