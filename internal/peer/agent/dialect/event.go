package dialect

import (
	"encoding/json"
	"slices"
	"strings"
)

// Kind is what an event of an agent is about.
type Kind int

// The kinds of events.
const (
	Ignored    Kind = iota // nothing that a session keeps
	Calling                // a tool call is about to begin
	Started                // the agent has started or resumed the session
	Prompted               // the user has sent a prompt, and nothing was done about it yet
	Called                 // a batch of tool calls has ended
	Delegated              // a subagent has ended
	Compacting             // the agent is about to shorten its conversation
	Answered               // the agent has done what the prompt asked for
	Ended                  // the agent has left the session
	Labelled               // a person keeps this moment under a label; no agent says this
)

// Event is an event of an agent in the terms of this package.
type Event struct {
	Kind    Kind
	Session string // the agent's own id of the session
	Forked  bool   // for Started: the session was forked from another one
	Agent   string // the agent's own name, if one dialect is spoken by several agents; otherwise ""
	Folder  string // the folder in which the agent works; "" if unknown

	Transcript string // the path of the agent's file with the conversation; "" if unknown
	// Subagent is the id of the subagent that the event belongs to, and SubagentTranscript is the path of its file. Both
	// are "" for an event of the session itself; the file can be unknown.
	Subagent           string
	SubagentTranscript string

	// Mark is a text that Transcript has as soon as it has all lines of before the event; "" if that is unknown.
	Mark string

	Prompt string // for Prompted: what the user asked for
	Calls  []Call // for Called: the calls of the batch
	Label  string // for Labelled
	Answer string // for Answered: the agent's last message; "" if unknown
	Failed bool   // for Answered: the model could not be asked, and Answer says why
}

// Call is a tool call.
type Call struct {
	ID   string // the agent's own id of the call; "" if the agent has no such ids
	Tool string
	// Input is what the tool was asked to do, if a line says it: a JSON value. It is nil if the line does not say it.
	Input json.RawMessage
	// Alias stands for the call in the hooks of an agent that hands no ids to them. It is the same in the event and in the line.
	Alias string
	// Result says how the call has ended, if the agent's own file does not say it.
	Result *Result
	// ReadOnly says that the tool never changes a file.
	ReadOnly bool
}

// ChangesFiles reports whether a call of the event may have changed a file.
func (e *Event) ChangesFiles() bool {
	return slices.ContainsFunc(e.Calls, func(c Call) bool { return !c.ReadOnly })
}

// maxSessionID is the size of the longest id of a session, in bytes.
const maxSessionID = 128

// IsSessionID reports whether an agent can have given a session the id. The id becomes a part of names of runs and files.
func IsSessionID(id string) bool {
	const known = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"
	unknown := func(r rune) bool { return !strings.ContainsRune(known, r) }
	return id != "" && len(id) <= maxSessionID && !strings.ContainsFunc(id, unknown)
}
