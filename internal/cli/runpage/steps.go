package runpage

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/git-smithers/git-smithers/internal/app/summary"
	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/snapshot"
)

// foldAbove is the number of attempts above which finished iterations and steps are folded.
const foldAbove = 40

// keptSteps is how many finished steps in a row stay unfolded.
const keptSteps = 8

// The widths of the columns of the table of steps, apart from TASK.
const (
	stateWidth = 9
	frameWidth = 6
	startWidth = 8
	tookWidth  = 9
	triesWidth = 7
	codeWidth  = 10
	needsGap   = 2
	leastTask  = 18
)

// A row is a line of the table of steps.
type row struct {
	branch    string // before the name; "" at the top
	name      string
	iteration string
	step      *summary.Step // nil for a line about several steps
	sign      string
	style     string
	words     string // in place of the columns; "" for a step
	took      int64
}

// steps writes the table of the steps.
func (v *page) steps(c *canvas) {
	if len(v.Steps) == 0 && v.Unread[summary.PartSteps] == nil {
		return
	}
	c.WriteByte('\n')
	rows := v.rows(c)
	full := c.width >= 80
	fixed := 2 + 2 + stateWidth + tookWidth + triesWidth + codeWidth
	if full {
		fixed += frameWidth + startWidth
	}
	task := leastTask
	for _, r := range rows {
		task = max(task, term.Width(clean(r.title())))
	}
	task = max(min(task, c.width-fixed), 8)
	head := "  " + c.left("TASK", task) + "  " + c.left("STATE", stateWidth)
	if full {
		head += c.right("FRAME", frameWidth) + c.right("START", startWidth)
	}
	c.line(part{head + c.right("TOOK", tookWidth) + c.right("TRIES", triesWidth) + c.right("CODE", codeWidth), term.Grey})
	if n := v.inheritedSteps(); n > 0 {
		c.line(part{fmt.Sprintf("  %s from before the fork: %s", plain.Count(n, "step"), v.Origin.At), term.Grey})
	}
	for _, r := range rows {
		v.writeRow(c, r, task, full)
	}
	v.sharedChange(c)
	v.unread(c, summary.PartSteps, summary.PartAttempts)
}

// sharedChange writes how files changed while several steps ran in one working copy.
func (v *page) sharedChange(c *canvas) {
	shared := v.SharedChange()
	if shared == nil || v.Session {
		return
	}
	frames := make([]string, len(shared.Frames))
	for i, no := range shared.Frames {
		frames[i] = strconv.FormatInt(no, 10)
	}
	lines := cmp.Or(c.code(shared.Lines.Added, shared.Lines.Removed), "changed files")
	word := "frame "
	if len(frames) > 1 {
		word = "frames "
	}
	c.line(part{"  " + lines + " by steps that ran at the same time, at " + word + display.ListUpTo(3, frames), term.Grey})
}

// title returns what stands in the column TASK.
func (r *row) title() string {
	text := r.branch + r.name
	if r.iteration != "" {
		text += " " + r.iteration
	}
	return text
}

// inherits reports whether the run has a step from its parent as it is. A step that the fork has reset runs again.
func (v *page) inherits(step *summary.Step) bool {
	return v.Origin != nil && step.Inherited && step.State != snapshot.NodePending
}

// inheritedSteps returns the number of steps that the run has from its parent as they are.
func (v *page) inheritedSteps() (n int) {
	for i := range v.Steps {
		if v.inherits(&v.Steps[i]) {
			n++
		}
	}
	return n
}

// rows returns the lines of the table. The steps of a loop stand together below a line of the loop, where its first step stands.
func (v *page) rows(c *canvas) []row {
	var rows []row
	seen := make(map[string]bool) // loops
	var run []*summary.Step       // steps outside of loops, one after the other
	flush := func() {
		rows = append(rows, v.topRows(c, run)...)
		run = nil
	}
	for i := range v.Steps {
		step := &v.Steps[i]
		if v.inherits(step) {
			continue
		}
		if step.Loop == nil {
			run = append(run, step)
			continue
		}
		if !seen[*step.Loop] {
			seen[*step.Loop] = true
			flush()
			rows = append(rows, v.loopRows(c, *step.Loop)...)
		}
	}
	flush()
	return rows
}

// topRows returns lines for steps outside of loops. Steps one after the other that need the same steps are branches.
func (v *page) topRows(c *canvas, steps []*summary.Step) []row {
	var rows []row
	for i := 0; i < len(steps); {
		if n := finishedInARow(steps[i:]); len(v.Attempts) > foldAbove && n > keptSteps {
			rows = append(rows, v.foldedRow(c, steps[i:i+n], steps[i].NodeID+" "+c.g.Dots+" "+steps[i+n-1].NodeID, ""))
			i += n
			continue
		}
		n := 1
		for i+n < len(steps) && len(steps[i].Needs) > 0 && slices.Equal(steps[i].Needs, steps[i+n].Needs) {
			n++
		}
		for j := range n {
			branch := ""
			if n > 1 {
				branch = c.g.Branch + " "
				if j == n-1 {
					branch = c.g.End + " "
				}
			}
			rows = append(rows, v.stepRow(c, steps[i+j], branch))
		}
		i += n
	}
	return rows
}

// finishedInARow returns how many of the first steps have finished at the first attempt.
func finishedInARow(steps []*summary.Step) int {
	for i, s := range steps {
		if s.State != snapshot.NodeFinished || len(s.Attempts) > 1 {
			return i
		}
	}
	return len(steps)
}

// loopRows returns the line of a loop, and those of its steps by iteration.
func (v *page) loopRows(c *canvas, id string) []row {
	var steps []*summary.Step
	for i := range v.Steps {
		if s := &v.Steps[i]; s.Loop != nil && *s.Loop == id && !v.inherits(s) {
			steps = append(steps, s)
		}
	}
	slices.SortStableFunc(steps, func(a, b *summary.Step) int { return a.Iteration - b.Iteration })
	words := ""
	if loop := v.Loop(id); loop != nil {
		words = fmt.Sprintf("iteration %d", loop.Iteration)
		if loop.Done {
			words = "done after " + plain.Count(loop.Iteration+1, "iteration")
		} else if loop.Max > 0 {
			words += fmt.Sprintf(" of at most %d", loop.Max)
		}
	}
	rows := []row{{name: id, sign: c.g.Loop, words: words}}
	for len(steps) > 0 {
		n := 0 // the steps of the finished iterations at the beginning
		if len(v.Attempts) > foldAbove {
			n = finishedIterations(steps)
		}
		if n > 0 {
			first, last := steps[0].Iteration, steps[n-1].Iteration
			name := strconv.Itoa(first)
			if last > first {
				name += " " + c.g.Dots + " " + plain.Number(last)
			}
			rows = append(rows, v.foldedRow(c, steps[:n], name, c.g.Branch+" "))
			steps = steps[n:]
			continue
		}
		iteration := steps[0].Iteration
		for len(steps) > 0 && steps[0].Iteration == iteration {
			rows = append(rows, v.stepRow(c, steps[0], c.g.Branch+" "))
			steps = steps[1:]
		}
	}
	if last := &rows[len(rows)-1]; last.branch != "" {
		last.branch = c.g.End + " "
	}
	return rows
}

// finishedIterations returns how many of the first steps belong to iterations in which every step is done and none failed before. The
// newest iteration is never one of them.
func finishedIterations(steps []*summary.Step) int {
	newest, n := steps[len(steps)-1].Iteration, 0
	for i := 0; i < len(steps) && steps[i].Iteration < newest; {
		j := i
		for ; j < len(steps) && steps[j].Iteration == steps[i].Iteration; j++ {
			if s := steps[j]; s.State != snapshot.NodeFinished && s.State != snapshot.NodeSkipped || failures(s) > 0 {
				return n
			}
		}
		i, n = j, j
	}
	return n
}

// failures returns how many attempts of a step failed.
func failures(s *summary.Step) (n int) {
	for _, a := range s.Attempts {
		if a.State == snapshot.AttemptFailed {
			n++
		}
	}
	return n
}

// foldedRow returns one line for several finished steps.
func (v *page) foldedRow(c *canvas, steps []*summary.Step, name, branch string) row {
	sign, word, style := c.g.Node(snapshot.NodeFinished)
	r := row{branch: branch, name: name, sign: sign, style: style, words: word + "  " + plain.Count(len(steps), "step")}
	for _, s := range steps {
		worked, _ := s.TookMs()
		r.took += worked
	}
	r.words += ", " + display.Took(r.took)
	return r
}

// stepRow returns the line of a step.
func (v *page) stepRow(c *canvas, s *summary.Step, branch string) row {
	sign, _, style := c.g.Node(v.stateOf(s))
	if v.stopped(s) {
		sign = c.g.Silent
	}
	r := row{branch: branch, name: s.NodeID, step: s, sign: sign, style: style}
	if s.Label != nil && *s.Label != "" {
		r.name += "  " + plain.OneLine(*s.Label)
	}
	if s.Loop != nil || s.Iteration > 0 {
		r.iteration = strconv.Itoa(s.Iteration)
	}
	return r
}

// stopped reports whether a step was running, and nobody runs it any more.
func (v *page) stopped(s *summary.Step) bool {
	return s.State == snapshot.NodeInProgress && (v.Stale || v.Row.Status != snapshot.RunRunning)
}

// stateOf returns the state of a step as people see it: a step whose attempt was cancelled with the run is cancelled, although it is
// pending again for a resume.
func (v *page) stateOf(s *summary.Step) snapshot.NodeState {
	if last := s.Last(); s.State == snapshot.NodePending && v.Row.Status == snapshot.RunCancelled && last != nil && last.State == snapshot.AttemptCancelled {
		return snapshot.NodeCancelled
	}
	return s.State
}

// writeRow writes a line of the table. task is the width of the column TASK, and full reports whether all columns have room.
func (v *page) writeRow(c *canvas, r row, task int, full bool) {
	title := c.left(r.branch+r.name, task)
	if r.iteration != "" {
		room := task - term.Width(r.iteration)
		title = c.left(r.branch+r.name, room-1) + " " + r.iteration
	}
	parts := []part{{r.sign + " ", r.style}, {title + "  ", ""}}
	if r.step == nil {
		word, rest, _ := strings.Cut(r.words, "  ")
		if rest == "" {
			c.line(append(parts, part{word, ""})...)
			return
		}
		c.line(append(parts, part{c.left(word, stateWidth), r.style}, part{"  " + rest, term.Grey})...)
		return
	}
	s := r.step
	_, word, style := c.g.Node(v.stateOf(s))
	if v.stopped(s) {
		word = "stopped"
	}
	if s.State == snapshot.NodeFailed {
		parts[1].style = term.Bold
	}
	parts = append(parts, part{c.left(word, stateWidth), style})
	own := slices.DeleteFunc(slices.Clone(s.Attempts), func(a *summary.Attempt) bool { return a.Inherited })
	if len(own) == 0 {
		c.line(append(parts, v.after(s, full)...)...)
		return
	}
	if full {
		parts = append(parts, part{c.right(v.frameText(own[len(own)-1]), frameWidth) + c.right(v.startText(own[0]), startWidth), term.Grey})
	}
	var took int64
	for _, a := range own {
		took += a.TookMs
	}
	text := display.Took(took)
	if s.State.Waiting() {
		text = ""
	}
	parts = append(parts, part{c.right(text, tookWidth), ""})
	tries := ""
	if len(own) > 1 {
		tries = strconv.Itoa(len(own))
	}
	parts = append(parts, part{c.right(tries, triesWidth), ""})
	if changed := s.Lines(); changed != nil {
		parts = append(parts, c.codeParts(changed.Added, changed.Removed, codeWidth)...)
	} else if slices.ContainsFunc(own, func(a *summary.Attempt) bool { return a.Changed && !a.Together }) {
		parts = append(parts, part{c.right(c.g.Code, codeWidth), term.Cyan})
	}
	c.line(parts...)
}

// after returns what a step that has not begun comes after, in the place of its numbers.
func (v *page) after(s *summary.Step, full bool) []part {
	if len(s.OpenNeeds) == 0 {
		return nil
	}
	gap := tookWidth + triesWidth + needsGap
	if full {
		gap += frameWidth + startWidth
	}
	if len(s.OpenNeeds) > 2 {
		gap = needsGap
	}
	return []part{{strings.Repeat(" ", gap), ""}, {"after " + display.ListUpTo(3, v.After(s.OpenNeeds)), term.Grey}}
}

// frameText returns the number of the frame at which an attempt ended or began to wait, or "".
func (v *page) frameText(a *summary.Attempt) string {
	if a.At != nil {
		return strconv.FormatInt(*a.At, 10)
	}
	return ""
}

// startText returns when an attempt began, since the start of the run.
func (v *page) startText(a *summary.Attempt) string {
	since := a.StartedAtMs - v.StartMs
	if since <= 0 {
		return "0"
	}
	return display.Took(since)
}
