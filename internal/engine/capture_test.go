package engine_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/engine"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

func TestFilesAreCapturedAtTheStartAndWheneverAnAttemptHasEnded(t *testing.T) {
	t.Parallel()
	s := newScratch(t, `
name: w
tasks:
  - {id: a, run: touch a}
  - {id: b, needs: [a], run: 'touch b$SMITHERS_ATTEMPT; test $SMITHERS_ATTEMPT = 2', retries: 1}
  - {id: skipped, needs: [b], run: touch skipped, when: 'false'}
`, "")
	var log []string
	files := s.folder()
	files.before = func(context.Context, int) error {
		log = append(log, "capture")
		return nil
	}
	s.opts.WorkingCopy = files
	s.opts.Progress = func(p engine.Progress) { log = append(log, p.Subject) }
	_, err := s.run()
	require.NoError(t, err)
	assert.Equal(t, []string{
		"capture", "a started", "capture", "a finished", "b started",
		"capture", "b failed (attempt 1 of 2): exit status 1", "b started (attempt 2 of 2)", "capture", "b finished",
		"skipped skipped", "run finished",
	}, log)

	var trees []string
	for frame := range s.tipRow().Frame {
		trees = append(trees, s.names(s.vcs(frame+1).Tree))
	}
	assert.Equal(t, []string{"", "a", "a", "a b1", "a b1", "a b1 b2", "a b1 b2", "a b1 b2"}, trees)

	attempts := s.attempts()
	for key, frame := range map[string]int64{"a::0::1": 2, "b::0::1": 4, "b::0::2": 6} {
		a := attempts[key]
		assert.Equal(t, frame, *a.Frame, key)
		assert.Equal(t, s.vcs(frame).Tree, a.Tree, key)
		assert.Equal(t, "c0ffee", a.CommitID, key)
		assert.Empty(t, a.Beside, key)
	}
}

func TestATaskThatChangesNoFilesIsNotCaptured(t *testing.T) {
	t.Parallel()
	s := newScratch(t, `
name: w
tasks:
  - {id: a, run: touch a}
  - {id: none, needs: [a], run: touch none, files: none}
  - {id: wait, needs: [none], approval: 'Go on?'}
  - {id: b, needs: [wait], run: touch b}
`, "")
	captures := 0
	files := s.folder()
	files.before = func(context.Context, int) error {
		captures++
		return nil
	}
	s.opts.WorkingCopy = files
	s.waits(snapshot.RunWaitingApproval)
	assert.Equal(t, 2, captures, "at the start, and after a")
	assert.Equal(t, "a", s.names(s.vcs(s.tipRow().Frame).Tree))
	none := s.attempts()["none::0::1"]
	assert.Nil(t, none.Frame)
	assert.Empty(t, none.Tree)

	s.decide("wait", true, "", "me")
	s.finishes()
	assert.Contains(t, s.subjects(), outside, "the change belongs to no task")
	assert.Equal(t, "a b none", s.names(s.vcs(s.tipRow().Frame).Tree))
}

func TestWithoutAWorkingCopyNothingIsCaptured(t *testing.T) {
	t.Parallel()
	s := newScratch(t, "{name: w, tasks: [{id: a, run: touch a}]}", "")
	_, err := s.run()
	require.NoError(t, err)
	assert.Nil(t, s.vcs(2))
	assert.Nil(t, s.attempts()["a::0::1"].Frame)
	assert.Empty(t, s.tipRow().VCSType)
}

func TestTheRunSaysWhichRevisionItWasStartedAt(t *testing.T) {
	t.Parallel()
	s := newScratch(t, "{name: w, tasks: [{id: a, run: 'test -e go'}]}", "")
	files := s.folder()
	s.opts.WorkingCopy = files
	files.before = func(context.Context, int) error {
		s.file("go", "")
		return nil
	}
	_, err := s.run()
	require.NoError(t, err)
	row := s.tipRow()
	assert.Equal(t, []string{"git", "", "c0ffee"}, []string{row.VCSType, row.VCSRoot, row.VCSRevision})
	assert.Nil(t, s.vcs(0))
}

func TestFilesThatTheTipHasAreNotReadAgainAtTheStart(t *testing.T) {
	t.Parallel()
	s := newScratch(t, "{name: w, tasks: [{id: a, run: 'true'}]}", "")
	files := s.folder()
	s.opts.WorkingCopy, s.opts.Captured = files, true
	var read int
	files.before = func(context.Context, int) error {
		read++
		return nil
	}
	_, err := s.run()
	require.NoError(t, err)
	assert.Equal(t, 1, read, "when the attempt has ended")
}

func TestWhoWasRunningWhenFilesWereReadIsNamed(t *testing.T) {
	t.Parallel()
	s := newScratch(t, `
name: w
tasks:
  - {id: first, run: touch one}
  - {id: second, run: 'read x < pipe; touch two'}
  - {id: third, needs: [first], run: 'touch three; echo > pipe'}
`, "")
	s.fifo("pipe")
	s.opts.WorkingCopy = s.folder()
	_, err := s.run()
	require.NoError(t, err)
	assert.Empty(t, s.vcs(1).Attempts, "what the frame starts is not running yet")
	assert.Equal(t, "first finished", s.frame(2).Subject)
	assert.Equal(t, []string{"second::0::1"}, s.vcs(2).Attempts)
	attempts := s.attempts()
	assert.Equal(t, []string{"second::0::1"}, attempts["first::0::1"].Beside)
	assert.Empty(t, s.vcs(s.tipRow().Frame).Attempts)
}

func TestAttemptsThatEndForOneFrameAreBesideEachOther(t *testing.T) {
	t.Parallel()
	s := newScratch(t, `
name: w
tasks:
  - {id: first, run: sleep 1000}
  - {id: second, run: sleep 1000}
  - {id: apart, run: sleep 1000, worktree: true}
`, "")
	s.worktrees()
	s.opts.WorkingCopy = s.folder()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s.opts.Progress = func(engine.Progress) { cancel() }
	_, err := s.runWithin(ctx)
	fails(t, fault.RunCancelled, err)
	attempts := s.attempts()
	assert.Equal(t, []string{"second::0::1"}, attempts["first::0::1"].Beside)
	assert.Equal(t, []string{"first::0::1"}, attempts["second::0::1"].Beside)
	assert.Equal(t, int64(2), *attempts["first::0::1"].Frame, "cancelled attempts have their files, too")
	assert.Empty(t, s.vcs(2).Attempts, "they have ended")
}

func TestAFrameThatIsBuiltAnewKeepsItsCapture(t *testing.T) {
	t.Parallel()
	s := newScratch(t, "{name: w, tasks: [{id: a, run: touch a}, {id: b, needs: [a], run: touch b}]}", "")
	files := s.folder()
	s.opts.WorkingCopy = files
	s.opts.Progress = func(engine.Progress) {
		err := s.open(t).Append(t.Context(), snapshot.Draft{Frame: &snapshot.FrameDraft{}, Subject: "somebody else's", AtMs: 1})
		assert.NoError(t, err)
	}
	_, err := s.run()
	require.NoError(t, err)
	assert.Equal(t, 3, files.captures)
	a, b := s.attempts()["a::0::1"], s.attempts()["b::0::1"]
	assert.Equal(t, "a finished", s.frame(*a.Frame).Subject)
	assert.Equal(t, "b finished", s.frame(*b.Frame).Subject)
	assert.Equal(t, s.vcs(*a.Frame).Tree, a.Tree)
	assert.Equal(t, "a b", s.names(b.Tree))
}

func TestACaptureThatFailsCostsNoFrame(t *testing.T) {
	t.Parallel()
	s := newScratch(t, `
name: w
tasks:
  - {id: a, run: touch a}
  - {id: b, needs: [a], run: touch b}
  - {id: c, needs: [b], run: touch c}
`, "")
	files := s.folder()
	files.before = func(_ context.Context, n int) error {
		if n == 1 || n == 2 {
			return errors.New("the disk is slow today")
		}
		return nil
	}
	s.opts.WorkingCopy = files
	said := s.warnings()
	_, err := s.run()
	require.NoError(t, err)
	assert.Equal(t, []string{"the working copy could not be captured, so new frames keep the code of earlier frames: the disk is slow today"}, *said)
	assert.Equal(t, s.vcs(1), s.vcs(2))
	attempts := s.attempts()
	assert.Nil(t, attempts["a::0::1"].Frame, "nobody knows what it left")
	assert.True(t, attempts["b::0::1"].Tree.IsZero())
	assert.Equal(t, "a b c", s.names(attempts["c::0::1"].Tree))
}

func TestACaptureThatCannotBeStoredCostsNoFrame(t *testing.T) {
	t.Parallel()
	s := newScratch(t, "{name: w, tasks: [{id: a, run: touch a}]}", "")
	s.opts.WorkingCopy = s.folder()
	s.refuse = func(d snapshot.Draft) error {
		if d.Subject == "a finished" && d.VCS != nil {
			return fault.New(fault.InvalidState, "the tree has a name that is not allowed")
		}
		return nil
	}
	said := s.warnings()
	_, err := s.run()
	require.NoError(t, err)
	assert.Equal(t, []string{"the working copy could not be stored with frame 2: the tree has a name that is not allowed"}, *said)
	assert.Equal(t, s.vcs(1), s.vcs(2))
	assert.Nil(t, s.attempts()["a::0::1"].Frame)
}

func TestWhoCancelsWaitsNoLongerThanTheGraceForTheLastCapture(t *testing.T) {
	t.Parallel()
	s := newScratch(t, "{name: w, tasks: [{id: a, run: sleep 1000}]}", "")
	files := s.folder()
	files.before = func(ctx context.Context, n int) error {
		if n == 0 {
			return nil
		}
		<-ctx.Done()
		return ctx.Err()
	}
	s.opts.WorkingCopy = files
	said := s.warnings()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s.opts.Progress = func(engine.Progress) { cancel() }
	_, err := s.runWithin(ctx)
	fails(t, fault.RunCancelled, err)
	assert.Equal(t, "a cancelled; run cancelled", s.tip().Subject)
	assert.Len(t, *said, 1)
}

func TestACancelReachesACaptureThatIsUnderWay(t *testing.T) {
	t.Parallel()
	s := newScratch(t, "{name: w, tasks: [{id: a, run: sleep 1000}]}", "")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	files := s.folder()
	files.before = func(ctx context.Context, _ int) error {
		cancel()
		<-ctx.Done()
		return ctx.Err()
	}
	s.opts.WorkingCopy = files
	_, err := s.runWithin(ctx)
	fails(t, fault.RunCancelled, err)
	assert.Equal(t, []string{"a started", "a cancelled; run cancelled"}, s.subjects())
}

func TestWhoIsInAHurryWaitsForNoCapture(t *testing.T) {
	t.Parallel()
	s := newScratch(t, "{name: w, tasks: [{id: a, run: sleep 1000}]}", "")
	hurry, now := context.WithCancel(t.Context())
	defer now()
	s.opts.Hurry, s.opts.Grace = hurry, time.Hour //nolint:fatcontext // it is an option
	files := s.folder()
	files.before = func(ctx context.Context, n int) error {
		if n == 0 {
			return nil
		}
		now()
		<-ctx.Done()
		return ctx.Err()
	}
	s.opts.WorkingCopy = files
	said := s.warnings()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s.opts.Progress = func(engine.Progress) { cancel() }
	_, err := s.runWithin(ctx)
	fails(t, fault.RunCancelled, err)
	assert.Equal(t, s.vcs(1), s.vcs(2))
	assert.Empty(t, *said)
	assert.Equal(t, 2, files.captures)

	s.opts.Progress = nil
	_, err = s.runWithin(ctx)
	fails(t, fault.RunCancelled, err)
	assert.Equal(t, 2, files.captures, "none is begun any more")
}
