package agent

import (
	"fmt"
	"strings"

	"github.com/git-smithers/git-smithers/internal/list"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// Name is how people know a session: by the first prompt of its own. Prompts can be of any length.
type Name struct {
	Prompt string `json:"prompt,omitempty"` // "" if the session has none yet
	// InsteadOf is the prompt in whose place a course was taken; "" if the course replaces none.
	InsteadOf string `json:"insteadOf,omitempty"`

	turn int // the turn of the prompt, or the next turn
}

// nameShown is the number of characters of each prompt in a text.
const nameShown = 60

// Text returns the name on one line, and what a course has in the place of a prompt. It returns "" for a nil Name.
func (n *Name) Text() string {
	if n == nil {
		return ""
	}
	short := func(prompt string) string { return plain.Shorten(plain.Text(plain.Words(prompt)), nameShown) }
	switch {
	case n.Prompt == "" && n.InsteadOf != "":
		return fmt.Sprintf("without turn %d: %s", n.turn, short(n.InsteadOf))
	case n.InsteadOf != "":
		return fmt.Sprintf("turn %d: %s (instead of: %s)", n.turn, short(n.Prompt), short(n.InsteadOf))
	case n.turn > 1 && n.Prompt != "":
		return fmt.Sprintf("turn %d: %s", n.turn, short(n.Prompt))
	}
	return short(n.Prompt)
}

// NameOf returns the name of a run in a list, or nil if the run is not a session, or cannot be read. It reads nothing of a run that is neither named like a session
// nor a fork.
func NameOf(s *timeline.Store, run list.RunInfo) *Name {
	if run.ParentRunID == nil && !strings.HasPrefix(run.RunID, Run(run.WorkflowName, "")) {
		return nil
	}
	return NameAt(list.HeadOf(s, run))
}

// NameAt returns the name of a run, or nil if the run is not a session, or cannot be read. It takes what the functions return that find a head.
func NameAt(head *timeline.Head, err error) *Name {
	if err != nil || !IsSession(head.Entry()) {
		return nil
	}
	n := &Name{turn: 1, Prompt: promptAt(head.State(), 1)}
	if parent := head.Row().Parent; parent != nil {
		n.tell(head, parent)
	}
	return n
}

// tell makes the name that of a fork, if the fork has the turns of before and its parent can be read: the first prompt that the parent did not have.
func (n *Name) tell(head *timeline.Head, parent *snapshot.Parent) {
	before, err := snapshot.ReadEntry(head.Store().Objects(), parent.Commit)
	if err != nil {
		return
	}
	mem, err := memoryOf(before)
	if err != nil {
		return
	}
	theirs, err := before.State()
	if err != nil || promptAt(theirs, 1) != n.Prompt && parent.Label != WhatIfLabel { // a fork of the agent's begins with its own turns
		return
	}
	n.turn, n.Prompt, n.InsteadOf = mem.Turn, promptAt(head.State(), mem.Turn), promptAt(theirs, mem.Turn)
	if n.Prompt == n.InsteadOf {
		n.turn, n.Prompt, n.InsteadOf = mem.Turn+1, promptAt(head.State(), mem.Turn+1), ""
	}
}

// promptAt returns the prompt of a turn, or "" if there is none that can be read.
func promptAt(state *snapshot.State, turn int) string {
	prompt, _, _ := PromptOf(state, turn)
	return prompt
}
