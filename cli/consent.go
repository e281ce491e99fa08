package cli

import (
	"fmt"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/engine"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// confirmFlag is the flag of every command that runs tasks of a workflow which it does
// not name.
func confirmFlag() urfave.Flag {
	return &urfave.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "run the workflow's commands without asking, where they are new to this clone"}
}

// commandDocument is a command that a workflow runs.
type commandDocument struct {
	NodeID  string   `json:"nodeId"`
	Command string   `json:"command"`
	Env     []string `json:"env,omitempty"` // "NAME=value"
}

// trust notes that the commands of a workflow may run in this clone, since the command
// line names its file. That the note is not made is a warning: one is asked again.
func (s *session) trust(store *timeline.Store, wf *engine.Workflow) {
	if err := store.Trust(wf.Snapshot().Hash()); err != nil {
		s.warn(fmt.Errorf("that the workflow may run here is not noted: %w", err))
	}
}

// agree makes sure that the commands of a workflow may run here. They may where they
// were run or confirmed in this clone before. Otherwise a person is asked, unless yes
// says so; the error's code is unconfirmed.
func (s *session) agree(store *timeline.Store, wf *engine.Workflow, yes bool) error {
	trusted, err := store.Trusts(wf.Snapshot().Hash())
	if err != nil || trusted {
		return err
	}
	if !yes {
		if err := s.askForConsent(wf); err != nil {
			return err
		}
	}
	s.trust(store, wf)
	return nil
}

// askForConsent shows what a workflow would run, and asks.
func (s *session) askForConsent(wf *engine.Workflow) error {
	if s.json || !s.inTTY || !s.isTTY(s.Err) {
		return unconfirmed(wf)
	}
	s.talk("Workflow %s was never run in this clone. These are its commands:\n", plain(wf.Name))
	for _, line := range consentLines(wf) {
		s.talk("  %s\n", line)
	}
	yes, err := s.ask("Run them here?")
	if err == nil && yes {
		return nil
	}
	return fault.New(fault.Unconfirmed, "the commands of workflow %s were not confirmed", wf.Name).Hint("nothing was run")
}

// unconfirmed is the error about a workflow that nobody said may run here.
func unconfirmed(wf *engine.Workflow) *fault.Error {
	const shown = 20
	out := fault.New(fault.Unconfirmed, "the commands of workflow %s were never run or confirmed in this clone", wf.Name).
		Hint("nothing was run; --yes runs them, and so does naming the workflow file").
		Detail("workflowHash", wf.Snapshot().Hash()).Detail("commands", commandsOf(wf))
	lines := consentLines(wf)
	for _, line := range lines[:min(shown, len(lines))] {
		out = out.Hint("%s", line)
	}
	if more := len(lines) - shown; more > 0 {
		out = out.Hint("and %s", plural(more, "more line"))
	}
	return out
}

func commandsOf(wf *engine.Workflow) []commandDocument {
	out := []commandDocument{}
	for _, t := range wf.Tasks {
		if t.Run != "" {
			out = append(out, commandDocument{t.ID, t.Run, t.Env})
		}
	}
	return out
}

// consentLines are the commands of a workflow and what they run in, safe to show.
func consentLines(wf *engine.Workflow) []string {
	lines := worktreeLines("", wf.Worktree)
	for _, t := range wf.Tasks {
		id := plain(t.ID)
		lines = append(lines, worktreeLines(id+": ", t.Worktree)...)
		if t.Run == "" {
			continue
		}
		for _, env := range t.Env {
			lines = append(lines, id+": "+plain(env))
		}
		for _, line := range plainLines(t.Run) {
			lines = append(lines, id+": "+line)
		}
	}
	return lines
}

// worktreeLines say where a worktree is made, where the workflow says so.
func worktreeLines(of string, w *engine.Worktree) []string {
	if w == nil || w.Path == "" && w.Branch == "" {
		return nil
	}
	var parts []string
	for _, part := range []struct{ name, value string }{{"in ", w.Path}, {"on branch ", w.Branch}, {"from ", w.Base}} {
		if part.value != "" {
			parts = append(parts, part.name+plain(part.value))
		}
	}
	return []string{of + "a worktree " + strings.Join(parts, " ")}
}
