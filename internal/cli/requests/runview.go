package requests

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/engine"
	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/snapshot"
)

const (
	// widestTask is the largest width of the column of tasks.
	widestTask = 24
	// widestLine is the largest width of the line that showRunning overwrites: the line must not wrap.
	widestLine = 79
)

// runView shows a person at a terminal the progress of a run. It prints a line for each task that waits or has ended,
// and one line for all running tasks, which it overwrites. It is safe for concurrent use.
type runView struct {
	s     *session.Session
	p     display.Painter
	g     display.Glyphs
	width int // the width of the column of tasks

	mu      sync.Mutex
	running []engine.Step
	done    string // the number of tasks that are done, in words
}

// viewRun returns a view of a run with the workflow wf. The view shows the running tasks, and updates their times every
// second. The caller must call end exactly once, when the run ends or when the process leaves it. If no person reads
// standard error, view is nil, and end does nothing.
func viewRun(ctx context.Context, s *session.Session, wf *workflow.Workflow) (view *runView, end func()) {
	if !s.TalksToPerson() {
		return nil, func() {}
	}
	view = &runView{s: s, p: display.NewPainter(ctx, s), g: display.GlyphsOf(s.Terminal)}
	for _, t := range wf.Tasks {
		view.width = min(max(view.width, term.Width(t.ID)), widestTask)
	}
	over := make(chan struct{})
	var ticking sync.WaitGroup
	ticking.Go(func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-over:
				return
			case <-tick.C:
				view.showRunning()
			}
		}
	})
	return view, func() {
		close(over)
		ticking.Wait()
		s.EndHalfway()
	}
}

// tell shows the tasks whose state changed with the frame in p. It prints a line for each task that waits or has ended.
// It shows all running tasks together in one line, which it overwrites later.
func (v *runView) tell(p engine.Progress) {
	v.mu.Lock()
	v.done = fmt.Sprintf("%d of %d done", p.Finished+p.Skipped, p.Nodes)
	var lines []string
	for _, step := range p.Steps {
		v.running = slices.DeleteFunc(v.running, func(r engine.Step) bool { return r.Task == step.Task })
		if step.State == snapshot.NodeInProgress {
			v.running = append(v.running, step)
		} else {
			lines = append(lines, v.line(step))
		}
	}
	v.mu.Unlock()
	for _, line := range lines {
		v.s.Note("%s", line)
	}
	v.showRunning()
}

// line returns the line about a task that waits or has ended: its mark, its id, how long an ended task took, and the
// text step.What. step describes the change of the task.
func (v *runView) line(step engine.Step) string {
	took := ""
	if step.EndedAtMs != 0 {
		took = display.Duration(time.Duration(step.EndedAtMs-step.StartedAtMs) * time.Millisecond)
	}
	mark, _, style := v.g.Node(step.State)
	what := plain.Text(step.What)
	if step.State == snapshot.NodeFailed {
		what = v.p.Paint(term.Red, what)
	}
	return fmt.Sprintf("  %s %s  %8s  %s", v.p.Paint(style, mark), display.Padded(plain.Text(step.Task), plain.Text(step.Task), v.width), took, what)
}

// showRunning shows the running tasks in one line, each with the time since its start. Later output overwrites this
// line. If no task is running, showRunning shows nothing.
func (v *runView) showRunning() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.running) == 0 {
		return
	}
	now := v.s.Now()
	parts := make([]string, len(v.running))
	for i, step := range v.running {
		parts[i] = plain.Text(step.Task)
		if took := now.Sub(time.UnixMilli(step.StartedAtMs)).Truncate(time.Second); took > 0 {
			// took has whole seconds, so the fraction is always 0.
			parts[i] += " " + strings.Replace(display.Duration(took), ".0 s", " s", 1)
		}
	}
	v.s.TalkHalfway(term.CutEnd("  "+v.g.Running+" "+strings.Join(parts, ", ")+"  ("+v.done+")", widestLine, "…"))
}
