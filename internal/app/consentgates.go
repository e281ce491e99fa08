package app

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/internal/plain"
)

// ungatedLines returns lines that say what commands and calls of the known workflow needed to start and do not need any more.
func (c Commands) ungatedLines() []string {
	if c.Known == nil {
		return nil
	}
	lines, was := ungated("", c.Known, c.Workflow), maps.Collect(c.Known.Called())
	for file, called := range c.Workflow.Called() {
		if was[file] != nil {
			lines = append(lines, ungated(plain.Text(file)+": ", was[file], called)...)
		}
	}
	return lines
}

// ungated returns the lines of ungatedLines for the tasks that are in both workflows. Each begins with start.
func ungated(start string, was, now *workflow.Workflow) (lines []string) {
	for _, t := range now.Tasks {
		before := was.Task(t.ID)
		if before == nil || !t.Works() {
			continue
		}
		kept := gatesOf(now, t)
		for _, gate := range gatesOf(was, before) {
			line := start + plain.Text(cmp.Or(t.CellOf, t.ID)) + ": no longer " + gate
			if !slices.Contains(kept, gate) && !slices.Contains(lines, line) {
				lines = append(lines, line)
			}
		}
	}
	return lines
}

// gatesOf returns what the task t of wf needs to start beside the work of others: its condition, and the waits before it, also in workflows that are
// called before it.
func gatesOf(wf *workflow.Workflow, t *workflow.Task) (gates []string) {
	if t.When != "" {
		gates = append(gates, "runs only when "+shownLine(t.When))
	}
	if !t.AfterFailure() {
		gates = append(gates, "stays when something before it fails")
	}
	before, earlier := wf.Before(t.ID), new(workflow.Workflow)
	for _, other := range wf.Tasks {
		if before[other.ID] {
			earlier.Tasks = append(earlier.Tasks, other)
		}
	}
	gates = appendWaits(gates, "", earlier.Tasks)
	for file, called := range earlier.Called() {
		gates = appendWaits(gates, plain.Text(file)+": ", called.Tasks)
	}
	return gates
}

// appendWaits appends the waits among tasks to gates, each with what lets others go on without an answer.
func appendWaits(gates []string, file string, tasks []*workflow.Task) []string {
	for _, t := range tasks {
		if t.Works() {
			continue
		}
		wait := strings.TrimPrefix(string(t.WaitState()), "waiting-")
		switch otherwise := t.Otherwise(); {
		case t.Allowed:
			wait += ", continue-on-error"
		case otherwise != workflow.OtherwiseFail:
			wait += ", otherwise " + string(otherwise)
		}
		if t.When != "" {
			wait += ", when " + shownLine(t.When)
		}
		gates = append(gates, "waits for "+file+plain.Text(t.ID)+" ("+wait+")")
	}
	return gates
}
