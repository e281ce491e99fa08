package app

import (
	"context"
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
	File    string   `json:"file,omitempty"`   // the called workflow file that has the task
	NodeID  string   `json:"nodeId"`           // "" for a scorer of the workflow
	Scorer  string   `json:"scorer,omitempty"` // the scorer's name
	Command string   `json:"command"`
	Env     []string `json:"env,omitempty"` // "NAME=value"
}

// A Consenter decides whether to run a workflow whose commands were never run or confirmed in this clone. It returns
// nil if the workflow may run, else an error such as unconfirmed.
type Consenter func(*workflow.Workflow) error

// Agreed always returns nil. It is the Consenter for a user who has already agreed to the commands, with a flag or by
// naming the workflow file. A user who names a file agrees to the bytes that this request reads from the file.
func Agreed(*workflow.Workflow) error { return nil }

// askConsent asks for consent to run the commands of wf, and returns wf with this consent. If the commands were run or
// confirmed in this clone before, askConsent does not call ask. Otherwise it calls ask. If ask returns nil, askConsent
// notes the consent in the clone. If ask returns an error, askConsent returns this error. If ask is nil, the error is
// unconfirmed. named means that the user has named the workflow's file.
func askConsent(store *timeline.Store, wf *workflow.Workflow, named bool, ask Consenter) (consent.Workflow, error) {
	return consent.Ask(store, wf.Snapshot(), named, func() error {
		at := keptFrom(store, store.Env())
		at.Dir = RealFolder(store.Workspace().Root)
		wf.ResolveSandboxes(at)
		return ask.decide(wf)
	})
}

// decide calls c, or returns unconfirmed if c is nil.
func (c Consenter) decide(wf *workflow.Workflow) error {
	if c == nil {
		return Unconfirmed(wf)
	}
	return c(wf)
}

// agree asks for consent to run the commands of wf on the files of the run of head, see filesCheck.consent. head is the tip of the run that
// continues with wf. brought means that the files come from the run.
//
// agree also merges opts.Input over the run's input, and checks the result against the workflow's schema. If the input
// does not fit, the error is invalid_input. agree checks the input only after the consent, because the schema of an
// unknown workflow may take long to check.
func (d *Desk) agree(ctx context.Context, head *timeline.Head, wf *workflow.Workflow, named bool, ask Consenter, set Settings, brought bool, opts engine.Options) (consent.Workflow, error) {
	files := &filesCheck{Desk: d, FilesTrust: set.FilesTrust, entry: head.Entry(), brought: brought}
	return files.consent(ctx, wf, named, ask, func() error { return checkInput(d.Store, head, wf, set.Secrets, opts) })
}

// Unconfirmed returns the error unconfirmed for the workflow wf. The details of the error have the workflow's hash and
// all of its commands. The hints have the first lines of ConsentLines, and the number of the lines that are left out.
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

// commandsOf returns the commands of the workflow's tasks, with their environment, of its scorers, and of the workflows that it calls. The result is
// never nil.
func commandsOf(wf *workflow.Workflow) []command {
	out := ownCommands(wf)
	for file, called := range wf.Called() {
		for _, c := range ownCommands(called) {
			c.File = file
			out = append(out, c)
		}
	}
	return out
}

// ownCommands returns the commands of the workflow alone, without the workflows that it calls. The result is never nil.
func ownCommands(wf *workflow.Workflow) []command {
	out := []command{}
	for _, s := range wf.Scorers {
		out = append(out, command{Scorer: s.Name, Command: s.Run})
	}
	for _, t := range wf.Tasks {
		if t.Run == "" {
			continue
		}
		out = append(out, command{NodeID: t.ID, Command: t.Run, Env: t.Env})
		for _, s := range t.OwnScorers(wf) {
			out = append(out, command{NodeID: t.ID, Scorer: s.Name, Command: s.Run})
		}
	}
	return out
}

// ConsentLines returns the lines that a person reads before consenting to a workflow: the worktrees that the workflow
// asks for, and the environment, the command and the scorers of each task with a command; then the same of the workflows that it calls. The lines have no
// control characters.
func ConsentLines(wf *workflow.Workflow) []string {
	lines := ownLines(wf)
	for file, called := range wf.Called() {
		for _, line := range ownLines(called) {
			lines = append(lines, plain.Text(file)+": "+line)
		}
	}
	return lines
}

// ownLines returns the lines of ConsentLines for wf alone, without the workflows that it calls.
func ownLines(wf *workflow.Workflow) []string {
	lines := append(worktreeLines("", wf.Worktree), scorerLines("", wf.Scorers)...)
	cells := make(map[string]int)
	for _, t := range wf.Tasks {
		cells[t.CellOf]++
	}
	for _, t := range wf.Tasks {
		id := plain.Text(t.ID)
		if n := cells[t.CellOf]; t.CellOf != "" {
			if n == 0 {
				continue // its first cell was shown
			}
			cells[t.CellOf] = 0
			id = plain.Text(t.CellOf) + " (" + plain.Count(n, "cell") + ")"
		}
		lines = append(lines, worktreeLines(id+": ", t.Worktree)...)
		if t.Run == "" {
			continue
		}
		if t.Sandbox != nil {
			lines = append(lines, id+": in a sandbox: "+plain.Text(t.Sandbox.Shown()))
		}
		for _, env := range t.Env {
			lines = append(lines, id+": "+plain.Text(env))
		}
		for _, line := range plain.Lines(t.Run) {
			lines = append(lines, id+": "+line)
		}
		lines = append(lines, scorerLines(id+": ", t.OwnScorers(wf))...)
	}
	return lines
}

// scorerLines returns the lines of the commands of scorers. Each begins with start.
func scorerLines(start string, scorers []*workflow.Scorer) []string {
	var lines []string
	for _, s := range scorers {
		for _, line := range plain.Lines(s.Run) {
			lines = append(lines, start+"scorer "+plain.Text(s.Name)+": "+line)
		}
	}
	return lines
}

// worktreeLines returns one line that begins with start, and names the folder, the branch and the base of the worktree
// w. It returns nil if w is nil, or if w has no folder, branch or base.
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
