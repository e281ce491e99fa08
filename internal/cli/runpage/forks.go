package runpage

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/git-smithers/git-smithers/internal/app/summary"
	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// idShown is how many characters of a run's id stand behind its label.
const idShown = 8

// forkList writes the forks of the run, and how each differs.
func (v *page) forkList(c *canvas) {
	if len(v.Forked) == 0 && v.Unread[summary.PartForks] == nil {
		return
	}
	title := "Forks"
	if v.Session {
		title = "What-ifs"
	}
	c.title(title)
	full := c.width >= 80
	label, from, state := 0, 0, stateWidth-1
	for i := range v.Forked {
		name, _ := forkName(&v.Forked[i])
		label = max(label, term.Width(clean(name)))
		from = max(from, len(strconv.FormatInt(v.Forked[i].ParentFrameNo, 10)))
	}
	label = min(label, max(c.width/6, 14))
	for i := range v.Forked {
		f := &v.Forked[i]
		sign, word, style := c.g.Run(f.Status, f.Stale)
		if f.Stale {
			word = "silent"
		}
		name, id := forkName(f)
		parts := []part{{sign + " ", style}, {c.left(name, label) + "  ", ""}}
		if full {
			parts = append(parts, part{c.left(id, idShown) + "  ", term.Grey}, part{c.left("from "+strconv.FormatInt(f.ParentFrameNo, 10), from+5) + "  ", ""})
		}
		parts = append(parts, part{c.left(word, state) + "  ", style})
		used := 0
		for _, p := range parts {
			used += term.Width(p.text)
		}
		end := c.code(f.Code.Added, f.Code.Removed)
		if better := v.stepOfFork(f); better != "" {
			end = better + "  " + end
		}
		room := max(c.width-used-term.Width(end)-3, 10)
		parts = append(parts, part{c.left(differences(f, c.g.Dots, room), room) + "  ", ""})
		if better := v.stepOfFork(f); better != "" {
			parts = append(parts, part{better + "  ", ""})
		}
		c.line(append(parts, c.codeParts(f.Code.Added, f.Code.Removed, 0)...)...)
	}
	if more := v.ForkCount - len(v.Forked); more > 0 {
		c.line(part{fmt.Sprintf("  and %d more: `%s` lists them", more, fault.CommandLine("git smithers branches", v.Row.ID)), term.Grey})
	}
	v.unread(c, summary.PartForks)
}

// forkName returns the label of a fork and its id, or its id alone.
func forkName(f *summary.Fork) (name, id string) {
	if label := display.OrEmpty(f.BranchLabel); label != "" {
		return label, f.RunID
	}
	return f.RunID, ""
}

// stepOfFork returns how the step that failed in the run stands in a fork, or "".
func (v *page) stepOfFork(f *summary.Fork) string {
	switch {
	case f.StepState == nil || v.Failure == nil || v.Failure.Step == nil:
		return ""
	case *f.StepState == snapshot.NodeFinished:
		return v.Failure.Step.NodeID + " finished"
	case *f.StepState == snapshot.NodeFailed:
		return v.Failure.Step.NodeID + " failed"
	}
	return ""
}

// differences returns how the input of a fork differs from the run's.
func differences(f *summary.Fork, dots string, room int) string {
	if len(f.Differs) == 0 {
		return "same input"
	}
	words := make([]string, len(f.Differs))
	for i, m := range f.Differs {
		words[i] = valueOf(m, dots)
	}
	return term.CutEnd(strings.Join(words, "  "), room, dots)
}
