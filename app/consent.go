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

// command is a command of a workflow, in the details of unconfirmed.
type command struct {
	NodeID  string   `json:"nodeId"`
	Command string   `json:"command"`
	Env     []string `json:"env,omitempty"` // "NAME=value"
}

// A Consenter decides whether a workflow may run commands that were never run or confirmed in this clone. It
// returns nil if they may run, else the error unconfirmed.
type Consenter func(*workflow.Workflow) error

// Agreed is the Consenter of a user who has already agreed, with a flag or by naming the workflow file. It returns
// nil. A user who names a file agrees to the bytes that are read from the file.
func Agreed(*workflow.Workflow) error { return nil }

// askConsent returns wf with the consent to run its commands. If they were never run or confirmed in this clone,
// the Consenter ask decides; if ask is nil, the error is unconfirmed.
func askConsent(store *timeline.Store, wf *workflow.Workflow, ask Consenter) (consent.Workflow, error) {
	return consent.Ask(store, wf.Snapshot(), func() error { return ask.decide(wf) })
}

func (c Consenter) decide(wf *workflow.Workflow) error {
	if c == nil {
		return Unconfirmed(wf)
	}
	return c(wf)
}

// agree returns wf with the consent to continue the run of head, as askConsent does. It checks the input only after
// a person has agreed, since a stranger's schema may take long to check. It stores the consent last, so that a
// refused run stores none.
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

// Unconfirmed returns the error unconfirmed for a workflow. Its details and hints list the commands.
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

// ConsentLines returns lines with the commands of a workflow and the worktrees that it asks for. The lines have no
// control characters.
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

// worktreeLines returns a line with the folder, the branch and the base of a worktree, after start. It returns nil
// if the workflow names none of them.
func worktreeLines(start string, w *workflow.Worktree) []string {
	if w == nil || w.Path == "" && w.Branch == "" && w.Base == "" {
		return nil
	}
	var parts []string
	for _, part := range []struct{ name, value string }{{"in ", w.Path}, {"on branch ", w.Branch}, {"from ", w.Base}} {
		if part.value != "" {
			parts = append(parts, part.name+plain.Text(part.value))
		}
	}
	return []string{start + "a worktree " + strings.Join(parts, " ")}
}
