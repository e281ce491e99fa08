package dialect

import (
	"bytes"
	"cmp"
	"encoding/json"
	"path/filepath"
	"strings"
	"time"

	"github.com/git-smithers/git-smithers/internal/lazyregexp"
)

// Codex is the name of Codex CLI.
const Codex = "codex"

// codex is how Codex CLI speaks.
var codex = Dialect{
	Name: Codex, Parse: codexHooks.parse, Read: readCodex, Resume: resumeCodex, Variable: "CODEX_THREAD_ID", CoAuthor: "Codex <noreply@openai.com>",
	Headless: codexHeadless,
	Hooks: &Hooks{
		File:   ".codex/hooks.json",
		User:   codexHome,
		Events: []string{"SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PreCompact", "Stop", "SessionEnd"},
		Entry: func(event, command string) any {
			entry := hookEntry{Hooks: []hookCommand{{Type: "command", Command: command, Timeout: HookSeconds}}}
			switch {
			case strings.HasSuffix(event, "ToolUse"):
				entry.Matcher = "*"
			case event == "SessionEnd":
				entry.Hooks[0].Timeout = codexEndSeconds
			}
			return entry
		},
		Trust: "Codex runs hooks of a project that you trust, and asks once whether you trust these hooks: start it, and say yes",
	},
}

// codexEndSeconds is the longest time that Codex CLI gives a hook at the end of a session, in seconds. It warns of a longer one.
const codexEndSeconds = 3

// codexHome is Codex CLI's folder.
var codexHome = UserFile{"CODEX_HOME", ".codex", "hooks.json"}

// codexHooks is the schema of Codex CLI's hooks.
var codexHooks = &schema{
	kinds: map[string]Kind{
		"SessionStart": Started, "UserPromptSubmit": Prompted, "PreToolUse": Calling, "PostToolUse": Called, "PreCompact": Compacting,
		"Stop": Answered, "SessionEnd": Ended,
	},
	readers: codexReaders,
}

// codexReaders lists Codex CLI's tools that never change a file.
var codexReaders = map[string]bool{"update_plan": true, "view_image": true, "web_search": true}

// codexLine has the members that this package reads of a line of Codex CLI's transcript.
type codexLine struct {
	Type    string       `json:"type"`
	Time    string       `json:"timestamp"`
	Ordinal *int64       `json:"ordinal"` // from 0
	Payload codexPayload `json:"payload"`
}

// codexPayload has the members that this package reads of what a line is about.
type codexPayload struct {
	Type        string          `json:"type"`
	ID          json.RawMessage `json:"id"` // of the session, or of the item
	Role        string          `json:"role"`
	Status      string          `json:"status"`
	Content     json.RawMessage `json:"content"`
	Folder      string          `json:"cwd"`
	Model       string          `json:"model"`
	Call        string          `json:"call_id"`
	Name        string          `json:"name"`
	Arguments   string          `json:"arguments"` // JSON, as the model has written it
	Input       json.RawMessage `json:"input"`     // of a custom tool
	Action      json.RawMessage `json:"action"`    // of a local shell
	Output      json.RawMessage `json:"output"`
	Forked      string          `json:"forked_from_id"`
	ForkedAt    int64           `json:"forked_from_ordinal_exclusive"` // the ordinal of that session's first line after the fork
	ResponseID  string          `json:"response_id"`
	Turns       int             `json:"num_turns"`           // that are taken back
	Replacement json.RawMessage `json:"replacement_history"` // of all that was said before
	Passthrough struct {
		Kinds []string `json:"content_item_kinds"`
	} `json:"internal_chat_message_metadata_passthrough"`
	Usage codexUsage `json:"usage"`
	Info  *struct {
		Total codexUsage `json:"total_token_usage"`
		Last  codexUsage `json:"last_token_usage"`
	} `json:"info"`
}

// codexUsage counts tokens as Codex CLI does.
type codexUsage struct {
	Input  int64 `json:"input_tokens"` // with those of the cache
	Cached int64 `json:"cached_input_tokens"`
	Write  int64 `json:"cache_write_input_tokens"`
	Output int64 `json:"output_tokens"` // with those of the reasoning
}

// usage returns the numbers as ours.
func (u codexUsage) usage() Usage {
	return Usage{Input: max(0, u.Input-u.Cached), Output: u.Output, CacheRead: u.Cached, CacheCreation: u.Write}
}

// readCodex is Read of Codex CLI.
func readCodex(text []byte) Facts {
	var line codexLine
	if decode(text, &line) != nil {
		return Facts{}
	}
	p := line.Payload
	facts := Facts{AtMs: timeOf(line.Time), Folder: p.Folder}
	if line.Ordinal != nil {
		facts.Number = *line.Ordinal + 1
	}
	switch line.Type {
	case "turn_context":
		facts.Model = modelName(p.Model)
	case "session_meta":
		facts.Header, facts.Slim, facts.Session = true, withoutInstructions(text), textOf(p.ID)
		facts.ForkOf, facts.ForkAt = p.Forked, p.ForkedAt
	case "token_usage_record":
		facts.Answers, facts.Message = true, p.ResponseID
		facts.Usage = p.Usage.usage()
	case "compacted":
		if facts.Summary = true; len(p.Replacement) > 0 && string(p.Replacement) != "null" {
			facts.Undo = &Undo{All: true} // otherwise Codex CLI takes the prompts from the lines before
		}
	case "event_msg":
		facts.Answers = p.Type == "token_count" || p.Type == "task_complete" || p.Type == "item_completed"
		if p.Type == "token_count" && p.Info != nil { // versions without token_usage_record say it here alone
			facts.Totals = &Totals{p.Info.Total.usage(), p.Info.Last.usage()}
		}
		if p.Type == "thread_rolled_back" {
			facts.Undo = &Undo{Turns: p.Turns}
		}
	case "response_item":
		readCodexItem(&line, &facts)
	}
	return facts
}

// readCodexItem reads a part of the conversation. What the role developer says are texts of the vendor.
func readCodexItem(line *codexLine, facts *Facts) {
	p := &line.Payload
	switch {
	case p.Role == "developer":
		facts.Vendor = true
	case p.Type == "function_call" || p.Type == "custom_tool_call" || p.Type == "local_shell_call":
		facts.Answers = true
		if p.Type == "local_shell_call" && p.Name == "" {
			p.Name = "local_shell"
		}
		if p.Call == "" || p.Name == "" {
			return
		}
		facts.Begun = []Call{{ID: p.Call, Tool: p.Name, Input: p.input(), ReadOnly: codexReaders[p.Name]}}
		if p.Name == "update_plan" {
			facts.Todos = codexTodos(p.Arguments)
		}
	case p.Type == "web_search_call": // the vendor has run it, and its results are in no line
		facts.Answers = true
		id := cmp.Or(textOf(p.ID), "search-"+geminiAlias(p.Type, p.Action)+"-"+line.Time)
		facts.Begun = []Call{{ID: id, Tool: "web_search", Input: p.Action, ReadOnly: true}}
		facts.Ended = []Result{{ID: id, Failed: p.Status == "failed"}}
	case strings.HasSuffix(p.Type, "_output"):
		facts.Answers = true
		if p.Call != "" {
			facts.Ended = []Result{{ID: p.Call, Failed: codexFailed.Match(p.Output), Output: codexOutput(p.Output)}}
		}
	default:
		facts.Answers, facts.Said = p.Role != User, p.said()
	}
}

// codexFailed matches the output of a command that has failed, as it stands in JSON.
var codexFailed = lazyregexp.New(`(?:Process exited with code|Exit code:) (?:-|0*[1-9])`)

// codexTodos returns the list in the arguments of Codex CLI's tool for plans, or nil if there is none.
func codexTodos(arguments string) json.RawMessage {
	var in struct {
		Plan []struct {
			Step   string `json:"step"`
			Status string `json:"status"`
		} `json:"plan"`
	}
	if json.Unmarshal([]byte(arguments), &in) != nil || in.Plan == nil {
		return nil
	}
	type todo struct {
		Content string `json:"content"`
		Status  string `json:"status"`
	}
	todos := []todo{}
	for _, step := range in.Plan {
		todos = append(todos, todo{step.Step, step.Status})
	}
	list, _ := json.Marshal(todos) //nolint:errchkjson // texts
	return list
}

// withoutInstructions returns the first line of a transcript without the vendor's instructions for the model, or nil if the line
// has none. Codex CLI puts its own instructions in their place when it resumes a session.
func withoutInstructions(text []byte) []byte {
	var line map[string]json.RawMessage
	var payload map[string]json.RawMessage
	if json.Unmarshal(text, &line) != nil || json.Unmarshal(line["payload"], &payload) != nil || payload["base_instructions"] == nil {
		return nil
	}
	return bytes.Replace(text, payload["base_instructions"], []byte("null"), 1)
}

// resumeCodex is Resume of Codex CLI. It finds a session by the id in the name of the file.
func resumeCodex(c Course) (Resumed, error) {
	var out Resumed
	home, err := codexHome.folder(c.Env, "Codex")
	if err != nil {
		return out, err
	}
	var text []byte
	var began int64
	for i, l := range c.Lines {
		if began == 0 {
			began = l.AtMs
		}
		if l.Session != "" && i > 0 {
			continue // a fork's own header names the session whose lines are here
		}
		text = append(append(text, c.rewrite(l.Text)...), '\n')
	}
	at := time.UnixMilli(began).UTC()
	out.File = filepath.Join(home, "sessions", at.Format("2006"), at.Format("01"), at.Format("02"), "rollout-"+at.Format("2006-01-02T15-04-05")+"-"+c.Session+".jsonl")
	out.Size = int64(len(text))
	out.Command = withPrompt(c.Prompt, Codex, "resume", c.Session)
	return out, writeConversation(out.File, text)
}
