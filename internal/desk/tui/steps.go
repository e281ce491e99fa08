package tui

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/charmbracelet/x/ansi"

	"github.com/git-smithers/git-smithers/internal/app/summary"
	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/peer/langgraph"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/snapshot"
)

// stepOrder returns the positions of the steps in the order in which they are shown: a loop's steps stand together.
func (s *runCursor) stepOrder() []int {
	steps := s.run.Steps
	out := make([]int, 0, len(steps))
	shown := make(map[string]bool) // the loops
	for i := range steps {
		loop := steps[i].Loop
		if loop == nil {
			out = append(out, i)
			continue
		}
		if shown[*loop] {
			continue
		}
		shown[*loop] = true
		for j := i; j < len(steps); j++ {
			if steps[j].Loop != nil && *steps[j].Loop == *loop {
				out = append(out, j)
			}
		}
	}
	return out
}

// stepPane returns the pane of steps, forks and waits.
func (s *runScreen) stepPane(m *model, width, height int) []string {
	lines, at := s.stepLines(m, width), 0
	head := say(m.bold, " Steps")
	switch {
	case s.run.Session:
		head = say(m.bold, " Turns")
	case len(s.run.Steps) == 0:
		head = say(m.bold, map[bool]string{true: " Checkpoints", false: " Frames"}[s.run.Engine == langgraph.EngineName])
	}
	s.steps.lines = nil
	for _, ln := range lines {
		if ln.cursor {
			at = len(s.steps.lines)
		}
		s.steps.lines = append(s.steps.lines, ln.line)
	}
	s.steps.keep(at, height-1)
	return append([]string{head.draw(width, m.Dots)}, s.steps.draw(width, height-1, m.Dots)...)
}

// A stepLine is a line of the pane of steps. cursor reports whether the cursor is at it.
type stepLine struct {
	line

	cursor bool
}

// stepLines returns the lines of the pane of steps.
func (s *runCursor) stepLines(m *model, width int) (out []stepLine) {
	loop := ""
	for _, i := range s.stepOrder() {
		step := &s.run.Steps[i]
		if step.Loop != nil && *step.Loop != loop {
			out = append(out, stepLine{s.loopLine(m, *step.Loop), false})
		}
		if loop = ""; step.Loop != nil {
			loop = *step.Loop
		}
		out = append(out, stepLine{s.stepLine(m, i, width), i == s.step})
	}
	if len(s.run.Steps) == 0 { // a thread, or a run of another program
		const most = 200 // on either side of the cursor: no pane has more lines
		for i := max(s.frame-most, 0); i < min(s.frame+most, len(s.run.Shown)); i++ {
			out = append(out, stepLine{s.frameLine(m, i), i == s.frame})
		}
	}
	more := func(ln line) { out = append(out, stepLine{ln, false}) }
	if len(s.run.Forked) > 0 {
		more(line{})
		more(say(m.bold, " Forks"))
		for i := range s.run.Forked {
			more(s.forkLine(m, &s.run.Forked[i], width))
		}
		if left := s.run.ForkCount - len(s.run.Forked); left > 0 {
			more(say(m.dim, "   "+plain.Count(left, "more fork")))
		}
	}
	if len(s.run.Asks) > 0 {
		more(line{})
		more(say(m.bold, " Waits"))
		for _, w := range s.run.Asks {
			more(say(m.wait, "   "+m.Person+" ").add(m.none, safe(waitText(w))))
		}
	}
	return out
}

// frameLine returns the line of a frame. A frame that goes on from another one than that before it says so.
func (s *runCursor) frameLine(m *model, i int) line {
	f := &s.run.Shown[i]
	mark := m.Dot
	if s.changedCode(i) {
		mark = m.Code
	}
	digits := len(plain.Number(s.run.Shown[len(s.run.Shown)-1].FrameNo)) + 1
	ln := say(m.accent, mark).add(m.dim, padLeft(plain.Number(f.FrameNo), digits)+" ").add(m.none, safe(f.Subject))
	if f.BasedOn != nil && i > 0 && *f.BasedOn != s.run.Shown[i-1].FrameNo {
		ln = ln.atRight(m.dim, "from "+plain.Number(*f.BasedOn)+" ")
	}
	return m.marked(ln, i == s.frame)
}

// loopLine returns the line above the steps of a loop.
func (s *runCursor) loopLine(m *model, id string) line {
	ln := say(m.none, "   "+m.Loop+" "+safe(id))
	l := s.run.Loop(id)
	if l == nil {
		return ln
	}
	text := "iteration " + strconv.Itoa(l.Iteration)
	if l.Max > 0 {
		text += "/" + strconv.Itoa(l.Max)
	}
	return ln.atRight(m.dim, text+" ")
}

// stepLine returns the line of a step as it stood at the frame of the cursor. What came later is no state.
func (s *runCursor) stepLine(m *model, i, width int) line {
	step := &s.run.Steps[i]
	state, later := s.stateAtCursor(step)
	sign, _, styleName := m.Node(state)
	style := m.style(styleName)
	text := m.none
	if later || state == snapshot.NodePending {
		style, text = m.dim, m.dim
	}
	indent := ""
	if step.Loop != nil {
		indent = "  "
	}
	worked, _ := step.TookMs()
	took := ""
	if worked > 0 || step.Last() != nil {
		took = display.Took(worked)
	}
	iteration := ""
	if step.Loop != nil || step.Iteration > 0 {
		iteration = strconv.Itoa(step.Iteration)
	}
	tries := timesText(m, len(step.Attempts))
	name := safe(step.NodeID)
	if s.run.Session {
		iteration, name = "", s.turnName(step)
	}
	code := ""
	if width >= 45 {
		if l := step.Lines(); l != nil {
			code = padLeft(linesText(m, l.Added, l.Removed), 10)
		} else {
			code = blank(10)
		}
	}
	tail := padLeft(iteration, 3) + padLeft(tries, 4) + padLeft(took, 9) + code + " "
	if s.run.Session {
		tail = padLeft(took, 9) + code + " "
	}
	room := width - ansi.StringWidth("   "+indent+sign+" "+tail)
	ln := say(style, indent+sign+" ").add(text, plain.Shorten(name, max(room, 4))).atRight(text, tail)
	return m.marked(ln, i == s.step)
}

// turnName returns the number of a turn and its prompt.
func (s *runCursor) turnName(step *summary.Step) string {
	for _, t := range s.run.Turns {
		if t.Number == step.Iteration {
			return fmt.Sprintf("%d  %s", t.Number, safe(plain.Words(t.Prompt)))
		}
	}
	return strconv.Itoa(step.Iteration)
}

// stateAtCursor returns the state of a step at the frame of the cursor. later reports that the step has another state by now.
func (s *runCursor) stateAtCursor(step *summary.Step) (state snapshot.NodeState, later bool) {
	if s.frame >= len(s.run.Shown)-1 {
		return step.State, false
	}
	if frame := s.frames[s.pairAt(s.frame)]; frame != nil && frame.Nodes != nil {
		if state = frame.Nodes[snapshot.Key(step.NodeID, step.Iteration)]; state == "" {
			state = snapshot.NodePending
		}
		return state, state != step.State
	}
	if step.StartMs() == 0 || step.StartMs() > s.timeOfCursor() {
		return snapshot.NodePending, step.State != snapshot.NodePending
	}
	return step.State, false
}

// forkName returns the name of a fork for people.
func (s *runCursor) forkName(f *summary.Fork) string {
	name := f.RunID
	if f.BranchLabel != nil && *f.BranchLabel != "" {
		name = *f.BranchLabel
	}
	return cmp.Or(s.run.Courses[f.RunID], name)
}

// forkLine returns the line of a fork.
func (s *runCursor) forkLine(m *model, f *summary.Fork, width int) line {
	sign, word, style := m.Run(f.Status, f.Stale)
	name := s.forkName(f)
	ln := say(m.style(style), "   "+sign+" ").add(m.dim, fmt.Sprintf("from %2d  ", f.ParentFrameNo)).add(m.none, safe(name))
	if f.Better {
		word = "better"
	}
	if width < 45 {
		return ln
	}
	return ln.atRight(m.dim, word+" ").atRight(m.none, linesText(m, f.Code.Added, f.Code.Removed)+" ")
}
