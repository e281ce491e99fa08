// Package agent records the sessions of coding agents as runs. The hooks of an agent hand in events, and the agent's
// own file has the conversation.
//
// A session is a run named <agent>-<session id>. Each prompt of the user begins a turn: the next iteration of the node
// "turn". Each batch of tool calls that may have changed files is a frame with these files.
package agent

import "strings"

// Kind is what an event of an agent is about.
type Kind int

// The kinds of events.
const (
	Ignored    Kind = iota // nothing that a session keeps
	Started                // the agent has started or resumed the session
	Prompted               // the user has sent a prompt, and nothing was done about it yet
	Called                 // a batch of tool calls has ended
	Delegated              // a subagent has ended
	Compacting             // the agent is about to shorten its conversation
	Answered               // the agent has done what the prompt asked for
	Ended                  // the agent has left the session
)

// Event is an event of an agent in the terms of this package.
type Event struct {
	Kind    Kind
	Session string // the agent's own id of the session
	Folder  string // the folder in which the agent works; "" if unknown

	Transcript string // the path of the agent's file with the conversation; "" if unknown
	// Subagent is the id of the subagent that the event belongs to, and SubagentTranscript is the path of its file. Both
	// are "" for an event of the session itself; the file can be unknown.
	Subagent           string
	SubagentTranscript string

	Prompt string // for Prompted: what the user asked for
	Calls  []Call // for Called: the calls of the batch
	Answer string // for Answered: the agent's last message; "" if unknown
}

// Call is a tool call in an event.
type Call struct {
	ID   string // the agent's own id of the call; "" if the agent has no such ids
	Tool string
}

// readOnly lists the tools that never change a file. A batch with other tools only is a frame.
var readOnly = map[string]bool{
	"Read": true, "Grep": true, "Glob": true, "LS": true, "WebFetch": true, "WebSearch": true,
}

// changesFiles reports whether a call of the event may have changed a file.
func (e *Event) changesFiles() bool {
	for _, call := range e.Calls {
		if !readOnly[call.Tool] {
			return true
		}
	}
	return false
}

// maxSessionID is the size of the longest id of a session, in bytes.
const maxSessionID = 128

// isSessionID reports whether an agent can have given a session the id. The id becomes a part of names of runs and files.
func isSessionID(id string) bool {
	const known = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"
	unknown := func(r rune) bool { return !strings.ContainsRune(known, r) }
	return id != "" && len(id) <= maxSessionID && !strings.ContainsFunc(id, unknown)
}
