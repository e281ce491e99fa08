package cli

import (
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

// consenter decides whether the commands of a workflow may run, where they were never run or
// confirmed in this clone. Its error is why they may not, of code unconfirmed.
type consenter func(*engine.Workflow) error

// consent returns a workflow as one that may run here: it did so before, or ask agrees.
func consent(store *timeline.Store, wf *engine.Workflow, ask consenter) (timeline.Consented, error) {
	return store.Consent(wf.Snapshot(), func() error { return ask(wf) })
}

// agree is consent to continue a run. The input is checked after somebody agreed, since the workflow's schema says how long
// that takes, and before the consent is noted: a run that is refused leaves no note.
func agree(store *timeline.Store, head *timeline.Head, wf *engine.Workflow, ask consenter, opts engine.Options) (timeline.Consented, error) {
	checked := false
	agreed, err := consent(store, wf, func(wf *engine.Workflow) error {
		if err := ask(wf); err != nil {
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

// named is the consenter for a workflow file that the command line names: naming a file is
// agreeing to the bytes that were read from it.
func named(*engine.Workflow) error { return nil }

// asking is the consenter for a workflow that the command line does not name: a person is asked,
// unless --yes agrees for them.
func (s *session) asking(settings engineSettings) consenter {
	if settings.yes {
		return func(*engine.Workflow) error { return nil }
	}
	return s.askForConsent
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
	if w == nil || w.Path == "" && w.Branch == "" && w.Base == "" {
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
