package app

import (
	"strings"

	"github.com/git-smithers/git-smithers/timeline/consent"

	"github.com/git-smithers/git-smithers/engine"
	"github.com/git-smithers/git-smithers/engine/workflow"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// command is a command of a workflow, in the details of an error.
type command struct {
	NodeID  string   `json:"nodeId"`
	Command string   `json:"command"`
	Env     []string `json:"env,omitempty"` // "NAME=value"
}

// A Consenter decides whether a workflow may run commands that were never run or confirmed in this clone. It returns nil if
// they may run, else unconfirmed.
type Consenter func(*workflow.Workflow) error

// Agreed returns nil. It is the Consenter of a user who agreed already, with a flag or by naming the workflow file: a user
// who names a file agrees to the bytes that are read from the file.
func Agreed(*workflow.Workflow) error { return nil }

// askConsent returns the consent to run a workflow here: its commands ran before, or ask agrees. If ask is nil, it returns
// unconfirmed for a workflow with new commands.
func askConsent(store *timeline.Store, wf *workflow.Workflow, ask Consenter) (consent.Workflow, error) {
	return consent.Ask(store, wf.Snapshot(), func() error { return ask.decide(wf) })
}

func (c Consenter) decide(wf *workflow.Workflow) error {
	if c == nil {
		return Unconfirmed(wf)
	}
	return c(wf)
}

// agree asks for consent to continue a run. It checks the input only after a person agreed, since a stranger's schema may
// take long to check. It notes the consent last, so that a refused run leaves no note.
func agree(store *timeline.Store, head *timeline.Head, wf *workflow.Workflow, ask Consenter, opts engine.Options) (consent.Workflow, error) {
	checked := false
	agreed, err := askConsent(store, wf, func(wf *workflow.Workflow) error {
		if err := ask.decide(wf); err != nil {
			return err
		}
		checked = true
		return engine.CheckInput(head, wf, opts)
	})
	if err == nil && !checked {
		err = engine.CheckInput(head, wf, opts)
	}
	return agreed, err
}

// Unconfirmed returns the error for a workflow whose commands were not confirmed in this clone.
func Unconfirmed(wf *workflow.Workflow) *fault.Error {
	const shown = 20
	out := fault.New(fault.Unconfirmed, "the commands of workflow %s were never run or confirmed in this clone", wf.Name).
		Hint("nothing was run; add --yes or name the workflow file to run them").
		Detail("workflowHash", wf.Snapshot().Hash()).Detail("commands", commandsOf(wf))
	lines := ConsentLines(wf)
	for _, line := range lines[:min(shown, len(lines))] {
		out = out.Hint("%s", line)
	}
	if more := len(lines) - shown; more > 0 {
		out = out.Hint("and %s", plain.Count(more, "more line"))
	}
	return out
}

func commandsOf(wf *workflow.Workflow) []command {
	out := []command{}
	for _, t := range wf.Tasks {
		if t.Run != "" {
			out = append(out, command{t.ID, t.Run, t.Env})
		}
	}
	return out
}

// ConsentLines returns the commands of a workflow and the worktrees that it asks for, safe to show.
func ConsentLines(wf *workflow.Workflow) []string {
	lines := worktreeLines("", wf.Worktree)
	for _, t := range wf.Tasks {
		id := plain.Text(t.ID)
		lines = append(lines, worktreeLines(id+": ", t.Worktree)...)
		if t.Run == "" {
			continue
		}
		for _, env := range t.Env {
			lines = append(lines, id+": "+plain.Text(env))
		}
		for _, line := range plain.Lines(t.Run) {
			lines = append(lines, id+": "+line)
		}
	}
	return lines
}

// worktreeLines returns a line with the folder, branch and base of a worktree, or nil if the workflow names none of them.
func worktreeLines(of string, w *workflow.Worktree) []string {
	if w == nil || w.Path == "" && w.Branch == "" && w.Base == "" {
		return nil
	}
	var parts []string
	for _, part := range []struct{ name, value string }{{"in ", w.Path}, {"on branch ", w.Branch}, {"from ", w.Base}} {
		if part.value != "" {
			parts = append(parts, part.name+plain.Text(part.value))
		}
	}
	return []string{of + "a worktree " + strings.Join(parts, " ")}
}
