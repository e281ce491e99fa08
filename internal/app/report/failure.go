package report

import (
	"context"
	"strings"

	"github.com/git-smithers/git-smithers/internal/app/summary"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

const (
	failedLog = 300 // lines of the log of an attempt that failed
	otherLog  = 60  // lines of the log of any other attempt
	lineShown = 400 // characters of a line
)

// failure sets Failure.
func (r *runReader) failure(context.Context) error {
	f := r.sum.Failure
	if f == nil {
		return nil
	}
	out := &Failure{Error: r.line(f.Error, errorShown), Tries: f.Tries}
	r.out.Failure = out
	if f.Step != nil {
		out.Step = r.name(stepTitle(f.Step))
	}
	for _, step := range f.Also {
		out.Also = append(out.Also, r.name(stepTitle(step.Step)))
	}
	if c := f.Change; c != nil {
		out.Change = &Change{timeline.Address{Run: r.sum.Row.ID, Frame: c.Frame}.String(), r.name(orEmpty(c.Step)), c.Code}
		for i := range r.sum.Steps {
			if step := &r.sum.Steps[i]; snapshot.Key(step.NodeID, step.Iteration) == orEmpty(c.Step) {
				out.Change.Step = r.name(stepTitle(step))
			}
		}
	}
	for i := range r.out.Forks {
		if fork := &r.out.Forks[i]; fork.Better {
			out.Better = fork
		}
	}
	if f.Attempt == nil {
		return nil
	}
	var err error
	out.Log, err = r.log(f.Step, f.Attempt, failedLog)
	return err
}

// log returns the part with the end of the log of an attempt, or nil if there is none.
func (r *runReader) log(step *summary.Step, a *summary.Attempt, most int) (*Part, error) {
	text, ok, err := r.sum.StoredLog(a)
	if err != nil || !ok {
		return nil, err
	}
	text = strings.TrimRight(r.mask.text(readable(text)), " \t\n")
	if text == "" {
		return nil, nil //nolint:nilnil // an empty log is no part
	}
	part := &Part{Kind: LogPart, State: nodeState(stateOf(a)), Title: r.attemptTitle(step, a), About: "log"}
	lines := strings.Split(text, "\n")
	if part.Left = max(len(lines)-most, 0); part.Left > 0 {
		part.About = "end of the log"
	}
	for _, line := range lines[part.Left:] {
		shown, left := cut(line, lineShown)
		kind := TextLine
		if badLine().MatchString(shown) {
			kind = BadLine
		}
		part.Lines = append(part.Lines, Line{Kind: kind, Text: shown, Cut: left})
	}
	part.Rest = r.logCommand(step, a)
	return part, nil
}
