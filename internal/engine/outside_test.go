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

const outside = "files changed outside the run"

func TestWhatSomebodyChangesWhileARunWaitsIsAFrameOfItsOwn(t *testing.T) {
	t.Parallel()
	s := newScratch(t, shipped, "")
	s.opts.WorkingCopy = s.folder()
	s.waits(snapshot.RunWaitingApproval)
	waited := s.tipRow().Frame
	s.file("mine", "")
	s.approve()
	s.finishes()
	assert.Equal(t, outside, s.frame(waited+1).Subject)
	assert.Equal(t, "a mine", s.names(s.vcs(waited+1).Tree))
	assert.Equal(t, "gate approved", s.frame(waited+2).Subject)
	assert.Equal(t, s.vcs(waited+1), s.vcs(waited+2), "the frame after it changed no files")
	assert.Equal(t, "a", s.names(s.vcs(waited).Tree))
	assert.Equal(t, statesOf(t, s.frame(waited)), statesOf(t, s.frame(waited+1)), "nothing else has changed")
}

func TestAResumeThatFindsTheFilesAsTheyWereAddsNoFrame(t *testing.T) {
	t.Parallel()
	s := newScratch(t, shipped, "")
	s.opts.WorkingCopy = s.folder()
	s.waits(snapshot.RunWaitingApproval)
	s.approve()
	s.finishes()
	assert.NotContains(t, s.subjects(), outside)
}

func TestWhatIsMendedBeforeAFailedRunIsResumedIsAFrameOfItsOwn(t *testing.T) {
	t.Parallel()
	s := newScratch(t, failsOnce, "")
	s.opts.WorkingCopy = s.folder()
	_, err := s.run()
	fails(t, fault.RunFailed, err)
	failed := s.tipRow().Frame
	s.file("mended", "")
	s.finishes()
	assert.Equal(t, outside, s.frame(failed+1).Subject)
	assert.Equal(t, "a started", s.frame(failed+2).Subject)
}

func TestWhatSomebodyChangesWhileAProcessStaysIsAFrameOfItsOwn(t *testing.T) {
	t.Parallel()
	s := newScratch(t, shipped, "")
	s.opts.WorkingCopy = s.folder()
	s.opts.Wait, s.opts.Watch = true, time.Millisecond
	s.opts.Progress = func(p engine.Progress) {
		if p.Waiting == 1 && p.Subject == "gate waits for approval" {
			s.file("mine", "")
			s.approve()
		}
	}
	s.finishes()
	subjects := s.subjects()
	require.Contains(t, subjects, outside)
	for frame := range s.tipRow().Frame {
		if s.frame(frame).Subject == outside {
			assert.Equal(t, "a mine", s.names(s.vcs(frame).Tree))
			assert.Equal(t, "gate approved", s.frame(frame+1).Subject)
		}
	}
}

func TestWhatAnInterruptedAttemptMayHaveLeftIsNotSaidToBeSomebodyElses(t *testing.T) {
	t.Parallel()
	s := newScratch(t, `{name: w, tasks: [{id: a, run: 'touch left; test $SMITHERS_ATTEMPT = 2'}]}`, "")
	s.opts.WorkingCopy = s.folder()
	s.dieAt("a failed: exit status 1")
	s.finishes()
	assert.Equal(t, "left", s.names(s.vcs(s.tipRow().Frame).Tree))
	assert.NotContains(t, s.subjects(), outside)
}

func TestWhatAnAttemptLeftThatCouldNotBeCapturedIsNotSaidToBeSomebodyElses(t *testing.T) {
	t.Parallel()
	s := newScratch(t, `{name: w, tasks: [{id: a, run: 'touch left; test $SMITHERS_ATTEMPT = 2'}]}`, "")
	files := s.folder()
	files.before = func(_ context.Context, n int) error {
		if n == 1 {
			return errors.New("the disk is slow today")
		}
		return nil
	}
	s.opts.WorkingCopy = files
	_, err := s.run()
	fails(t, fault.RunFailed, err)
	s.finishes()
	assert.NotContains(t, s.subjects(), outside)
}

func TestFilesThatCouldNotBeCapturedBeforeAWaitAreCapturedAfterIt(t *testing.T) {
	t.Parallel()
	s := newScratch(t, shipped, "")
	files := s.folder()
	slow := true
	files.before = func(context.Context, int) error {
		if slow {
			return errors.New("the disk is slow today")
		}
		return nil
	}
	s.opts.WorkingCopy = files
	s.opts.Wait, s.opts.Watch = true, time.Millisecond
	s.opts.Progress = func(p engine.Progress) {
		if p.Waiting == 1 && p.Subject == "gate waits for approval" {
			slow = false
			s.approve()
		}
	}
	s.finishes()
	assert.NotContains(t, s.subjects(), outside)
	for frame := range s.tipRow().Frame {
		if s.frame(frame).Subject == "gate approved" {
			assert.Equal(t, "a", s.names(s.vcs(frame).Tree))
			return
		}
	}
	assert.Fail(t, "no frame has the approval")
}
