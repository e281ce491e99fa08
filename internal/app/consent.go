package app

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/consent"

	"github.com/git-smithers/git-smithers/internal/engine"
	"github.com/git-smithers/git-smithers/internal/engine/schema"
	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/internal/jsontext"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// command is a command of a workflow, in the details of unconfirmed.
type command struct {
	File    string   `json:"file,omitempty"`   // the called workflow file that has the task
	NodeID  string   `json:"nodeId"`           // "" for a scorer of the workflow
	Scorer  string   `json:"scorer,omitempty"` // the scorer's name
	Setup   bool     `json:"setup,omitempty"`  // the command sets up a worktree: the task's or, if NodeID is "", the workflow's
	Command string   `json:"command"`
	Shell   string   `json:"shell,omitempty"` // what runs the command; "" for sh
	Cwd     string   `json:"cwd,omitempty"`   // the folder in which the command runs; "" for the top of the working copy
	Env     []string `json:"env,omitempty"`   // "NAME=value"
}

// Commands are the commands of a workflow that were never run or confirmed in this clone.
type Commands struct {
	Workflow *workflow.Workflow
	Known    *workflow.Workflow // the workflow before a change, whose commands were run or confirmed; nil: none is known
	Input    json.RawMessage    // what the commands get; nil: nothing
}

// A Consenter decides whether to run a workflow. It returns nil if the workflow may run, else an error such as unconfirmed.
type Consenter func(Commands) error

// Agreed always returns nil. It is the Consenter for a user who has already agreed to the commands, with a flag or by
// naming the workflow file. A user who names a file agrees to the bytes that this request reads from the file.
func Agreed(Commands) error { return nil }

// askConsent asks for consent to run the commands of wf, and returns wf with this consent. If the commands were run or
// confirmed in this clone before, askConsent does not call ask. Otherwise it calls ask. If ask returns nil, askConsent
// notes the consent in the clone. If ask returns an error, askConsent returns this error. If ask is nil, the error is
// unconfirmed. named means that the user has named the workflow's file. input is the input that the commands get, or nil.
func askConsent(store *timeline.Store, wf *workflow.Workflow, named bool, input json.RawMessage, ask Consenter) (consent.Workflow, error) {
	return consent.Ask(store, wf.Snapshot(), named, func() error {
		resolveSandboxes(store, wf)
		return ask.decide(Commands{Workflow: wf, Input: input})
	})
}

// resolveSandboxes prepares the sandboxes of a workflow to be shown.
func resolveSandboxes(store *timeline.Store, wf *workflow.Workflow) {
	at := keptFrom(store, store.Env())
	at.Dir = RealFolder(store.Workspace().Root)
	wf.ResolveSandboxes(at)
}

// decide calls c, or returns unconfirmed if c is nil.
func (c Consenter) decide(of Commands) error {
	if c == nil {
		return unconfirmed(of)
	}
	return c(of)
}

// knownWorkflow returns the workflow that a run keeps at the entry, if its commands were run or confirmed in this clone; else nil.
func knownWorkflow(store *timeline.Store, entry *snapshot.Entry) (*workflow.Workflow, error) {
	kept, err := entry.Workflow()
	if err != nil || kept == nil {
		return nil, timeline.Explain(err)
	}
	knows, err := consent.Knows(store, kept.Hash())
	if err != nil || !knows {
		return nil, err
	}
	wf, err := workflow.Stored("the run's workflow", kept.Definition)
	if err != nil {
		return nil, nil //nolint:nilnil,nilerr // the workflow is another engine's
	}
	resolveSandboxes(store, wf)
	return wf, nil
}

// agree asks for consent to run the commands of wf on the files of the run of head, see filesCheck.consent. head is the tip of the run that
// continues with wf. brought means that the files come from the run.
//
// agree also merges opts.Input over the run's input, and checks the result against the workflow's schema. If the input
// does not fit, the error is invalid_input. agree checks the input only after the consent, because the schema of an
// unknown workflow may take long to check.
func (d *Desk) agree(head *timeline.Head, wf *workflow.Workflow, named bool, ask Consenter, set Settings, brought bool, opts engine.Options) (consent.Workflow, error) {
	files := &filesCheck{Desk: d, FilesTrust: set.FilesTrust, entry: head.Entry(), brought: brought}
	return files.consent(wf, named, ask, func() error { return checkInput(d.Store, head, wf, set.Secrets, opts) })
}

// unconfirmed returns the error unconfirmed. The details of the error have the workflow's hash and all of its commands. The hints have both ends
// of the lines.
func unconfirmed(of Commands) *fault.Error {
	wf := of.Workflow
	out := fault.New(fault.Unconfirmed, "the commands of workflow %s were never run or confirmed in this clone", wf.Name).
		Hint("nothing was run; add --yes or name the workflow file to run them").
		Detail("workflowHash", wf.Snapshot().Hash()).Detail("commands", commandsOf(wf))
	for _, line := range bothEnds(of.Lines()) {
		out = out.Hint("%s", line)
	}
	return out
}

// bothEnds returns lines or, if these are very many, the first and the last, with the number of those between.
func bothEnds(lines []string) []string {
	const shown = 500 // at each end
	more := len(lines) - 2*shown
	if more <= 0 {
		return lines
	}
	return slices.Concat(lines[:shown], []string{"(" + plain.Count(more, "more line") + " here)"}, lines[len(lines)-shown:])
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
	if wf.Worktree != nil && wf.Worktree.Setup != "" {
		out = append(out, command{Setup: true, Command: wf.Worktree.Setup})
	}
	for _, s := range wf.Scorers {
		out = append(out, command{Scorer: s.Name, Command: s.Run})
	}
	for _, t := range wf.Tasks {
		if t.Run == "" {
			continue
		}
		if t.Worktree != nil && t.Worktree.Setup != "" {
			out = append(out, command{NodeID: t.ID, Setup: true, Command: t.Worktree.Setup})
		}
		out = append(out, command{NodeID: t.ID, Command: t.Run, Shell: t.Shell.Name, Cwd: t.Cwd, Env: t.Given()})
		for _, s := range t.OwnScorers(wf) {
			out = append(out, command{NodeID: t.ID, Scorer: s.Name, Command: s.Run})
		}
	}
	return out
}

// Lines returns the lines that a person reads before consenting to a workflow: the worktrees that the workflow
// asks for, and the environment, the command and the scorers of each task with a command; then the same of the workflows that it calls; then the
// input that the commands get. What c.Known has too is left out, and what its commands waited for and do not wait for any more is added. If that leaves
// nothing new, there are no lines. The lines have no control characters, and rows of blanks are counted.
func (c Commands) Lines() []string {
	known := make(map[string]bool)
	for _, task := range allLines(c.Known) {
		known[strings.Join(task, "\n")] = true
	}
	var lines []string
	for _, task := range allLines(c.Workflow) {
		if !known[strings.Join(task, "\n")] {
			lines = append(lines, task...)
		}
	}
	if lines = append(lines, c.ungatedLines()...); c.Known != nil && len(lines) == 0 {
		return nil
	}
	return append(lines, inputLines(c.Workflow.FillInput(c.Input))...)
}

// allLines returns the lines of a workflow, which may be nil, and of those that it calls: first of the workflow itself, then of each task.
func allLines(wf *workflow.Workflow) [][]string {
	if wf == nil {
		return nil
	}
	out := ownLines(wf)
	for file, called := range wf.Called() {
		for _, task := range append(ownLines(called), defaultLines("input ", called.Defaults())) {
			for i := range task {
				task[i] = plain.Text(file) + ": " + task[i]
			}
			out = append(out, task)
		}
	}
	return out
}

// inputLines returns the lines of the members of an input. Text is shown as a command that expands it would see it.
func inputLines(input json.RawMessage) []string {
	if len(input) == 0 || bytes.Equal(input, []byte("null")) {
		return nil
	}
	var members jsontext.Members
	if json.Unmarshal(input, &members) != nil {
		return shownLines("input: ", string(input))
	}
	slices.SortStableFunc(members, func(a, b jsontext.Member) int { return strings.Compare(a.Name, b.Name) })
	var lines []string
	for _, m := range members {
		lines = append(lines, shownLines("input "+plain.Text(m.Name)+": ", textOf(m.Value))...)
	}
	return lines
}

// defaultLines returns the lines of defaults of a schema. Each begins with start.
func defaultLines(start string, defaults []schema.Default) (lines []string) {
	for _, d := range defaults {
		lines = append(lines, shownLines(start+"default "+plain.Text(d.Path)+": ", textOf(d.Value))...)
	}
	return lines
}

// textOf returns a JSON value as a command that expands it sees it: a text without its quotes.
func textOf(value json.RawMessage) string {
	text := string(value)
	if json.Unmarshal(value, &text) != nil {
		text = string(value)
	}
	return text
}

// shownLines returns the lines of a text from a workflow or a run, each after start.
func shownLines(start, text string) []string {
	lines := plain.Folded(text)
	for i := range lines {
		lines[i] = start + lines[i]
	}
	return lines
}

// shownLine returns a text from a workflow on one line.
func shownLine(text string) string { return strings.Join(plain.Folded(text), `\n`) }

// ownLines returns the lines of allLines for wf alone, without the workflows that it calls.
func ownLines(wf *workflow.Workflow) [][]string {
	out := [][]string{append(worktreeLines("", wf.Worktree), scorerLines("", wf.Scorers)...)}
	cells := make(map[string][]*workflow.Task)
	for _, t := range wf.Tasks {
		cells[t.CellOf] = append(cells[t.CellOf], t)
	}
	for _, t := range wf.Tasks {
		id, same := plain.Text(t.ID), []*workflow.Task{t}
		if t.CellOf != "" {
			if same = cells[t.CellOf]; same[0] != t {
				continue // with its first cell, all were shown
			}
			id = plain.Text(t.CellOf) + " (" + plain.Count(len(same), "cell") + ")"
		}
		lines := worktreeLines(id+": ", t.Worktree)
		if t.Call != nil {
			for _, with := range t.Call.With {
				lines = append(lines, id+": with "+plain.Text(with.Name)+": "+shownLine(with.Text))
			}
		}
		if t.Human != nil {
			lines = append(lines, defaultLines(id+": form ", schema.Defaults(t.Human.Form))...)
		}
		if t.Run != "" {
			lines = append(lines, commandLines(wf, t, same, id+": ")...)
			if t.Shell.GoesOn(t.Run) {
				out = append(out, []string{id + ": goes on after a line that fails"})
			}
		}
		out = append(out, lines)
	}
	return out
}

// commandLines returns the lines of the command of the task t. same are the cells of its matrix. Each line begins with start.
func commandLines(wf *workflow.Workflow, t *workflow.Task, same []*workflow.Task, start string) (lines []string) {
	if t.Sandbox != nil {
		lines = append(lines, start+"in a sandbox: "+plain.Text(t.Sandbox.Shown()))
	}
	for _, env := range envOf(same) {
		lines = append(lines, start+shownLine(env))
	}
	if t.Shell.Name != "" {
		lines = append(lines, start+"by the shell "+shownLine(t.Shell.Name))
	}
	if t.Cwd != "" {
		lines = append(lines, start+"in the folder "+shownLine(t.Cwd))
	}
	return slices.Concat(lines, shownLines(start, t.Run), scorerLines(start, t.OwnScorers(wf)))
}

// envOf returns the variables of tasks that are cells of one matrix, each once: of each axis, every value.
func envOf(cells []*workflow.Task) []string {
	var out []string
	seen := make(map[string]bool)
	for _, t := range cells {
		for _, env := range t.Given() {
			if !seen[env] {
				seen[env] = true
				out = append(out, env)
			}
		}
	}
	return out
}

// scorerLines returns the lines of the commands of scorers. Each begins with start.
func scorerLines(start string, scorers []*workflow.Scorer) []string {
	var lines []string
	for _, s := range scorers {
		lines = append(lines, shownLines(start+"scorer "+plain.Text(s.Name)+": ", s.Run)...)
	}
	return lines
}

// worktreeLines returns a line that names the folder, the branch and the base of the worktree w, if it has one of them, and the lines of its setup
// command. Each begins with start. It returns nil if w is nil.
func worktreeLines(start string, w *workflow.Worktree) (lines []string) {
	if w == nil {
		return nil
	}
	var parts []string
	for _, part := range []struct{ name, value string }{{"in ", w.Path}, {"on branch ", w.Branch}, {"from ", w.Base}} {
		if part.value != "" {
			parts = append(parts, part.name+plain.Text(part.value))
		}
	}
	if len(parts) > 0 {
		lines = append(lines, start+"a worktree "+strings.Join(parts, " "))
	}
	if w.Setup != "" {
		lines = append(lines, shownLines(start+"a worktree set up by: ", w.Setup)...)
	}
	return lines
}
