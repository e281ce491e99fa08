package tui

import (
	"github.com/git-smithers/git-smithers/internal/app/summary"
	"github.com/git-smithers/git-smithers/internal/desk/browse"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// runCursor is a place in a run: a frame, and a step that is chosen beside it.
type runCursor struct {
	run    *browse.Run                // nil until it is read
	frame  int                        // the position of the frame in run.Shown
	step   int                        // the position of the chosen step in run.Steps; -1 for none
	mark   int64                      // the marked frame, with which others are compared; -1 for none
	frames map[[2]int64]*browse.Frame // what was compared, by against and at
}

// chooseStep makes the step chosen that ended at the frame of the cursor or, at the newest frame, that runs. Of a session it is the turn of
// the frame.
func (s *runCursor) chooseStep() {
	if s.run.Session {
		for i := range s.run.Steps {
			if at := s.run.Steps[i].StartMs(); at > 0 && at <= s.run.Shown[s.frame].CreatedAtMs {
				s.step = i
			}
		}
		return
	}
	if s.frame == len(s.run.Shown)-1 {
		for i := range s.run.Steps {
			if s.run.Steps[i].State == snapshot.NodeInProgress {
				s.step = i
				return
			}
		}
	}
	last := int64(-1)
	for i := range s.run.Steps {
		for _, a := range s.run.Steps[i].Attempts {
			if a.At != nil && *a.At > last && *a.At <= s.run.Shown[s.frame].FrameNo && !a.Inherited {
				s.step, last = i, *a.At
			}
		}
	}
}

// chosen returns the chosen step, or nil.
func (s *runCursor) chosen() *summary.Step {
	if s.run == nil || s.step < 0 || s.step >= len(s.run.Steps) {
		return nil
	}
	return &s.run.Steps[s.step]
}

// attempt returns the attempt of the chosen step that the cursor is about: the last that had begun at the frame.
func (s *runCursor) attempt() *summary.Attempt {
	step := s.chosen()
	if step == nil {
		return nil
	}
	last := step.Last()
	for _, a := range step.Attempts {
		if a.StartedAtMs <= s.timeOfCursor() {
			last = a
		}
	}
	return last
}

// timeOfCursor returns the time of the frame of the cursor; at the newest frame, the end of time.
func (s *runCursor) timeOfCursor() int64 {
	if s.frame >= len(s.run.Shown)-1 {
		return 1 << 62
	}
	return s.run.Shown[s.frame].CreatedAtMs
}

// logKey returns the key of the attempt whose log is wanted, or "".
func (s *runCursor) logKey() string {
	a := s.attempt()
	if a == nil {
		return ""
	}
	return snapshot.AttemptKey(a.NodeID, a.Iteration, a.Number)
}

// pairAt returns the numbers of the frame to compare with, and of the frame at a position of run.Shown; -1 for no frame.
func (s *runCursor) pairAt(i int) [2]int64 {
	f := s.run.Shown[i]
	against := int64(-1)
	switch {
	case s.mark >= 0 && s.mark != f.FrameNo:
		against = s.mark
	case f.BasedOn != nil:
		against = *f.BasedOn
	}
	return [2]int64{against, f.FrameNo}
}

// changedCode reports whether a frame changed files.
func (s *runCursor) changedCode(i int) bool { return s.run.Effects[i].Changed }

// address returns the address of the frame of the cursor.
func (s *runCursor) address() string {
	if len(s.run.Shown) == 0 {
		return s.run.Row.ID
	}
	return timeline.Address{Run: s.run.Row.ID, Frame: s.run.Shown[s.frame].FrameNo}.String()
}

// name returns the name of the run for people.
func (s *runCursor) name() string {
	if s.run.Session && len(s.run.Turns) > 0 {
		return plain.Shorten(plain.Words(s.run.Turns[0].Prompt), 40)
	}
	if b := s.run.Frames.Branch; b != nil && b.BranchLabel != nil && *b.BranchLabel != "" {
		return *b.BranchLabel
	}
	return s.run.Row.ID
}

// reason returns the second line of the screen: why the run failed, or what it waits for.
func (s *runCursor) reason(m *model) line {
	switch sum := s.run.Summary; {
	case sum.Failure != nil:
		return say(m.fail.Bold(true), " "+m.Failed+" "+safe(failureText(sum))).atRight(m.bold, "  n").atRight(m.dim, " next failure ")
	case len(sum.Asks) > 0:
		return say(m.wait, " "+m.Person+" "+safe(waitText(sum.Asks[0]))).atRight(m.bold, "  a").atRight(m.dim, " answer ")
	}
	if step := s.chosen(); s.run.Session && step != nil {
		return say(m.dim, " you ").add(m.none, " "+s.turnName(step))
	}
	return line{}
}
