package dialect

import (
	"cmp"
	"strings"
)

// schema is how an agent speaks Claude Code's schema of hooks: the input of a hook is a JSON object with the name of the event, and members in snake
// case.
type schema struct {
	kinds   map[string]Kind // of the agent's events; other events are ignored
	readers map[string]bool // the agent's tools that never change a file
	// fit changes the event by what else the input says. It is nil if there is nothing to change.
	fit func(in *hookInput, input []byte, ev *Event)
}

// hookInput has the members that this package reads of what such an agent hands to a hook.
type hookInput struct {
	hookCall // of an event about one call

	Session            string     `json:"session_id"`
	Conversation       string     `json:"conversation_id"` // of Cursor: the session
	Transcript         string     `json:"transcript_path"`
	Folder             string     `json:"cwd"`
	Roots              []string   `json:"workspace_roots"` // of Cursor: the folders
	Event              string     `json:"hook_event_name"`
	Source             string     `json:"source"`
	Prompt             string     `json:"prompt"`
	Subagent           string     `json:"agent_id"`
	SubagentID         string     `json:"subagent_id"` // of Cursor
	SubagentTranscript string     `json:"agent_transcript_path"`
	Answer             string     `json:"last_assistant_message"`
	Calls              []hookCall `json:"tool_calls"` // of an event about a batch
}

// hookCall has the members that name a call.
type hookCall struct {
	Tool string `json:"tool_name"`
	ID   string `json:"tool_use_id"`
}

// parse is Parse of the agent.
func (s *schema) parse(_ string, input []byte) (Event, error) {
	var in hookInput
	if err := parseInput(input, &in, &in.Session); err != nil && in.Conversation == "" {
		return Event{}, err
	}
	ev := Event{
		Kind: s.kinds[in.Event], Session: cmp.Or(in.Session, in.Conversation), Folder: cmp.Or(in.Folder, firstOf(in.Roots)), Transcript: in.Transcript,
		Subagent: cmp.Or(in.Subagent, in.SubagentID), SubagentTranscript: in.SubagentTranscript, Forked: in.Source == "fork",
	}
	if in.Tool != "" {
		in.Calls = append(in.Calls, in.hookCall)
	}
	for _, call := range in.Calls {
		ev.Calls = append(ev.Calls, Call{ID: call.ID, Tool: call.Tool, ReadOnly: s.readers[call.Tool]})
	}
	switch {
	case ev.Kind == Started && in.Source == "compact":
		ev.Kind = Ignored // the session goes on
	case ev.Kind == Prompted && strings.HasPrefix(in.Prompt, "<task-notification>"):
		ev.Kind = Delegated // the agent's own words about a subagent in the background
	case ev.Kind == Delegated && ev.Subagent == "":
		ev.Kind = Ignored
	case ev.Kind == Prompted:
		ev.Prompt = in.Prompt
	case ev.Kind == Answered:
		ev.Answer, ev.Failed = in.Answer, in.Event == "StopFailure"
	}
	if s.fit != nil {
		s.fit(&in, input, &ev)
	}
	return ev, nil
}

// entryOf returns Entry of an agent with such settings. unit is a second in the unit in which the agent counts the time of a hook.
func entryOf(matcher string, unit int) func(_, command string) any {
	return func(_, command string) any {
		return hookEntry{Matcher: matcher, Hooks: []hookCommand{{Type: "command", Command: command, Timeout: HookSeconds * unit}}}
	}
}
