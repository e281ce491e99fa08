package cli_test

import (
	"bytes"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/cli"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// ticking is a clock that goes on at every look. Safe for concurrent use.
func ticking(step time.Duration) func() time.Time {
	var ticks atomic.Int64
	return func() time.Time { return time.UnixMilli(0).Add(time.Duration(ticks.Add(1)) * step) }
}

// answers has a person at the terminal type a line.
func answers(line string) func(*cli.Streams) {
	return func(s *cli.Streams) {
		s.In = strings.NewReader(line + "\n")
		atTerminal()(s)
	}
}

func TestPushAsksAPersonAboutUntrackedFiles(t *testing.T) {
	t.Parallel()
	d, origin := newDesk(t), repotest.New(t, repotest.Bare)
	d.repo.Git("remote", "add", "origin", origin.Dir)
	d.repo.Write("notes.txt", "mine\n")
	captured := d.invoke(t, func(s *cli.Streams) { s.In = strings.NewReader(`{"worktree":true}`) }, "capture", "triage")
	require.Equal(t, fault.ExitOK, captured.exit, captured.err.String())

	no := d.invoke(t, answers("n"), "push")
	assert.Equal(t, fault.ExitUsage, no.exit)
	assert.Contains(t, no.err.String(), "Frames hold 1 file that no commit of yours has:\n  triage: notes.txt (5 bytes)\n")
	assert.Contains(t, no.err.String(), "Everything in the runs goes to origin: inputs, outputs, logs and messages.\n")
	assert.Contains(t, no.err.String(), "Push them to origin? [y/N] ")
	assert.Empty(t, origin.Git("for-each-ref"))

	assert.Equal(t, 1, strings.Count(no.err.String(), "notes.txt"), "who has seen the list is not shown it again")
	end := d.invoke(t, func(s *cli.Streams) { s.In = strings.NewReader(""); atTerminal()(s) }, "push")
	assert.Equal(t, fault.ExitUsage, end.exit, end.err.String())
	assert.Contains(t, end.err.String(), "was not confirmed")
	assert.Empty(t, origin.Git("for-each-ref"))

	yes := d.invoke(t, answers("yes"), "push")
	assert.Equal(t, fault.ExitOK, yes.exit, yes.err.String())
	assert.Contains(t, yes.out.String(), "RUN     STATE   TIP")
	assert.NotEmpty(t, origin.Git("for-each-ref"))

	again := d.invoke(t, answers("n"), "push", "origin", "triage")
	assert.Equal(t, fault.ExitOK, again.exit)
	assert.NotContains(t, again.err.String(), "[y/N]")

	d.repo.Write("later.txt", "new\n")
	captured = d.invoke(t, func(s *cli.Streams) { s.In = strings.NewReader(`{"worktree":true}`) }, "capture", "triage")
	require.Equal(t, fault.ExitOK, captured.exit, captured.err.String())
	later := d.invoke(t, answers("n"), "push")
	assert.Equal(t, fault.ExitUsage, later.exit)
	assert.Contains(t, later.err.String(), "Frames hold 1 file that no commit of yours has:\n  triage: later.txt (4 bytes)\n")
	assert.NotContains(t, later.err.String(), "Everything")
}

func TestAPathIsAskedAboutOnceHoweverManyRunsHaveIt(t *testing.T) {
	t.Parallel()
	d, origin := newDesk(t), repotest.New(t, repotest.Bare)
	d.repo.Write("notes.txt", "mine\n")
	for _, run := range []string{"triage", "other", "third"} {
		captured := d.invoke(t, func(s *cli.Streams) { s.In = strings.NewReader(`{"worktree":true}`) }, "capture", run)
		require.Equal(t, fault.ExitOK, captured.exit, captured.err.String())
	}

	c := d.invoke(t, answers("n"), "push", origin.Dir)

	assert.Contains(t, c.err.String(), "Frames hold 1 file that no commit of yours has:\n  3 runs: notes.txt (5 bytes)\nPush ")
	c = d.invoke(t, nil, "push", origin.Dir)
	assert.Contains(t, c.err.String(), "error: 1 untracked file of captured working copies would be pushed")
	assert.Contains(t, c.err.String(), "hint: 3 runs: notes.txt (5 bytes)\n")
}

func TestProgressGoesAwayBeforeAnythingElseIsWritten(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"doctor": {"doctor"}, "doctor that mends": {"doctor", "--repair"}, "du": {"du"},
		"prune": {"prune", "triage"}, "remote": {"remote", "origin"}, "verify": {"verify", "--deep"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, origin := newDesk(t), repotest.New(t, repotest.Bare)
			d.repo.Git("remote", "add", "origin", origin.Dir)
			if slices.Contains(args, "--repair") {
				d.repo.WriteRef("refs/smithers/triage/0", "")
			}
			var screen bytes.Buffer

			d.invoke(t, func(s *cli.Streams) {
				s.Out, s.Err, s.Now = &screen, &screen, ticking(time.Second)
				s.IsTTY = func(any) bool { return true }
				s.Env = append(s.Env, "NO_COLOR=1")
			}, args...)

			for line := range strings.Lines(screen.String()) {
				for text := range strings.SplitSeq(strings.TrimSuffix(line, "\n"), "\r\x1b[K") {
					assert.NotRegexp(t, `\(\d+ %\).`, text, "%q", screen.String())
				}
			}
		})
	}
}

func TestWhatGitSaysOfItsProgressIsForPeopleWhoWait(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	for name, tt := range map[string]struct {
		step  time.Duration
		edit  func(*cli.Streams)
		shown bool
	}{
		"quick":           {0, atTerminal(), false},
		"slow":            {time.Second, atTerminal(), true},
		"slow, for a log": {time.Second, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			origin := repotest.New(t, repotest.Bare)
			c := d.invoke(t, func(s *cli.Streams) {
				if tt.edit != nil {
					tt.edit(s)
				}
				s.Env = append(s.Env, "GIT_SMITHERS_PUSH_FILES=yes")
				if tt.step > 0 {
					s.Now = ticking(tt.step)
				}
			}, "push", origin.Dir)
			require.Equal(t, fault.ExitOK, c.exit, c.err.String())
			assert.Equal(t, tt.shown, strings.Contains(c.err.String(), "Counting objects"), c.err.String())
		})
	}
}
