package dialect

import (
	"cmp"
	"encoding/json"
	"strings"
)

// The names of agents whose hooks are known from their documentation alone. What their files with conversations say is unknown, so their hooks say what
// tools were asked and have answered.
const (
	Cursor = "cursor"
	Droid  = "droid"
	Kimi   = "kimi"
)

// cursor is how Cursor speaks, the editor and its command line.
var cursor = Dialect{
	Name: Cursor, Read: readGeneric, HooksOnly: true, Variable: "CURSOR_AGENT",
	Parse: (&schema{
		kinds: map[string]Kind{
			"sessionStart": Started, "beforeSubmitPrompt": Prompted, "postToolUse": Called, "postToolUseFailure": Called, "subagentStop": Delegated,
			"preCompact": Compacting, "stop": Answered, "sessionEnd": Ended,
		},
		readers: map[string]bool{"Read": true, "Grep": true, "Glob": true, "LS": true, "SemanticSearch": true, "WebSearch": true, "WebFetch": true, "TodoWrite": true},
		fit:     fitTexts,
	}).parse,
	Hooks: &Hooks{
		File: ".cursor/hooks.json", Version: 1, OwnAtTop: true,
		User:   UserFile{"", ".cursor", "hooks.json"},
		Events: []string{"sessionStart", "beforeSubmitPrompt", "postToolUse", "postToolUseFailure", "subagentStop", "preCompact", "stop", "sessionEnd"},
		Entry: func(_, command string) any {
			return struct {
				Command string `json:"command"`
				Timeout int    `json:"timeout"`
			}{command, HookSeconds}
		},
	},
}

// droid is how Factory's Droid speaks. Its hook SubagentStop names no subagent.
var droid = Dialect{
	Name: Droid, Read: readGeneric, HooksOnly: true,
	Parse: (&schema{
		kinds: map[string]Kind{
			"SessionStart": Started, "UserPromptSubmit": Prompted, "PostToolUse": Called, "PreCompact": Compacting, "Stop": Answered, "SessionEnd": Ended,
		},
		readers: map[string]bool{"Read": true, "Grep": true, "Glob": true, "LS": true, "WebSearch": true, "FetchUrl": true, "TodoWrite": true},
		fit:     fitTexts,
	}).parse,
	Hooks: &Hooks{
		File: ".factory/hooks.json", Hides: []string{"settings.json", "hooks/hooks.json"},
		User:   UserFile{"", ".factory", "hooks.json"},
		Events: []string{"SessionStart", "UserPromptSubmit", "PostToolUse", "PreCompact", "Stop", "SessionEnd"},
		Entry:  entryOf("", 1),
		Trust:  "Droid shows changed hooks in /hooks: review them there",
	},
}

// kimi is how Kimi Code speaks.
var kimi = Dialect{
	Name: Kimi, Read: readGeneric, HooksOnly: true,
	Parse: (&schema{
		kinds: map[string]Kind{
			"SessionStart": Started, "UserPromptSubmit": Prompted, "PostToolUse": Called, "PostToolUseFailure": Called, "PreCompact": Compacting,
			"Stop": Answered, "StopFailure": Answered, "SessionEnd": Ended,
		},
		readers: map[string]bool{
			"Read": true, "Grep": true, "Glob": true, "ReadFile": true, "ReadMediaFile": true, "SearchWeb": true, "FetchURL": true, "SetTodoList": true,
		},
		fit: fitTexts,
	}).parse,
	Pasted: &Pasted{
		File:   "~/.kimi-code/config.toml",
		Events: []string{"SessionStart", "UserPromptSubmit", "PostToolUse", "PostToolUseFailure", "PreCompact", "Stop", "StopFailure", "SessionEnd"},
	},
}

// fitTexts sets what only the hooks of such an agent say: the prompt as parts, what a tool was asked and has answered, and how a turn has failed.
func fitTexts(in *hookInput, input []byte, ev *Event) {
	var more struct {
		Prompt   json.RawMessage `json:"prompt"`
		Call     string          `json:"tool_call_id"`
		Input    json.RawMessage `json:"tool_input"`
		Response json.RawMessage `json:"tool_response"`
		Output   json.RawMessage `json:"tool_output"`
		Error    json.RawMessage `json:"error"`
		Message  json.RawMessage `json:"error_message"`
		Status   string          `json:"status"`
	}
	_ = decode(input, &more) // it was decoded before
	switch ev.Kind {
	case Prompted:
		ev.Prompt = cmp.Or(ev.Prompt, textOf(more.Prompt))
	case Answered:
		ev.Failed = ev.Failed || more.Status == "error"
		ev.Answer = cmp.Or(ev.Answer, textOf(more.Message))
	case Called:
		for i := range ev.Calls {
			call := &ev.Calls[i]
			id, _, _ := strings.Cut(cmp.Or(call.ID, more.Call), "\n") // Cursor puts two ids into one
			call.ID = cmp.Or(id, newCallID())
			said := genericTool{Input: more.Input, Failed: strings.HasSuffix(in.Event, "Failure")}
			for _, text := range []json.RawMessage{more.Response, more.Output, more.Error, more.Message} {
				if said.Output == nil {
					said.Output = text
				}
			}
			call.Input, call.Result = said.input(), &Result{ID: call.ID, Failed: said.Failed, Output: said.output()}
		}
	case Ignored, Calling, Started, Delegated, Compacting, Ended, Labelled:
	}
}
