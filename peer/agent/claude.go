package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// Claude is the name of Claude Code.
const Claude = "claude"

// claudeInput has the members that this package reads of what Claude Code hands to a hook.
type claudeInput struct {
	Session            string `json:"session_id"`
	Transcript         string `json:"transcript_path"`
	Folder             string `json:"cwd"`
	Event              string `json:"hook_event_name"`
	Source             string `json:"source"`
	Prompt             string `json:"prompt"`
	Subagent           string `json:"agent_id"`
	SubagentTranscript string `json:"agent_transcript_path"`
	Answer             string `json:"last_assistant_message"`
	Calls              []struct {
		Tool string `json:"tool_name"`
		ID   string `json:"tool_use_id"`
	} `json:"tool_calls"`
}

// claudeKinds maps Claude Code's events to ours. Other events are ignored.
var claudeKinds = map[string]Kind{
	"SessionStart": Started, "UserPromptSubmit": Prompted, "PostToolBatch": Called, "SubagentStop": Delegated,
	"PreCompact": Compacting, "Stop": Answered, "SessionEnd": Ended,
}

// ParseClaude returns the event in what Claude Code has handed to a hook. Unknown members and events are ignored. It
// returns an error if input is not a JSON object that names a session.
func ParseClaude(input []byte) (Event, error) {
	var in claudeInput
	if err := json.Unmarshal(input, &in); err != nil {
		return Event{}, fmt.Errorf("the input of the hook: %w", err)
	}
	if in.Session == "" {
		return Event{}, errors.New("the input of the hook names no session")
	}
	ev := Event{
		Kind: claudeKinds[in.Event], Session: in.Session, Folder: in.Folder, Transcript: in.Transcript,
		Subagent: in.Subagent, SubagentTranscript: in.SubagentTranscript, Prompt: in.Prompt, Answer: in.Answer,
	}
	for _, call := range in.Calls {
		ev.Calls = append(ev.Calls, Call{ID: call.ID, Tool: call.Tool})
	}
	switch {
	case ev.Kind == Started && in.Source == "compact":
		ev.Kind = Ignored // the session goes on
	case ev.Kind == Prompted && strings.HasPrefix(in.Prompt, "<task-notification>"):
		ev.Kind = Delegated // Claude Code's own words about a subagent in the background
	case ev.Kind == Delegated && in.Subagent == "":
		ev.Kind = Ignored
	}
	return ev, nil
}

// claudeVendor lists the types of lines in which Claude Code keeps its own long texts: prompts of the system,
// descriptions of tools, requests. They are not stored.
var claudeVendor = map[string]bool{
	"attachment": true, "api-request": true, "api-request-shape": true, "api-request-blob": true, "atis-latch": true, "tools-used": true,
}

// claudeLine has the members that this package reads of a line of Claude Code's transcript.
type claudeLine struct {
	Type    string `json:"type"`
	Time    string `json:"timestamp"`
	Message struct {
		ID      string          `json:"id"`
		Content json.RawMessage `json:"content"`
		Usage   *struct {
			Input         int64 `json:"input_tokens"`
			Output        int64 `json:"output_tokens"`
			CacheRead     int64 `json:"cache_read_input_tokens"`
			CacheCreation int64 `json:"cache_creation_input_tokens"`
		} `json:"usage"`
	} `json:"message"`
}

// claudeBlock is a part of a message in Claude Code's transcript.
type claudeBlock struct {
	Type    string          `json:"type"`
	ID      string          `json:"id"`
	Name    string          `json:"name"`
	Input   json.RawMessage `json:"input"`
	Of      string          `json:"tool_use_id"`
	IsError bool            `json:"is_error"`
}

// readClaude returns what a line of Claude Code's transcript says. A line that it does not understand is kept and says
// nothing.
func readClaude(text []byte) lineFacts {
	var line claudeLine
	if json.Unmarshal(text, &line) != nil {
		return lineFacts{}
	}
	facts := lineFacts{vendor: claudeVendor[line.Type], message: line.Message.ID, answers: line.Type == "assistant"}
	if at, err := time.Parse(time.RFC3339Nano, line.Time); err == nil {
		facts.atMs = at.UnixMilli()
	}
	if u := line.Message.Usage; u != nil {
		facts.usage = usage{Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheCreation: u.CacheCreation}
	}
	var blocks []claudeBlock
	if json.Unmarshal(line.Message.Content, &blocks) != nil {
		return facts // the content is one text
	}
	for _, b := range blocks {
		switch {
		case b.Type == "tool_use" && b.ID != "" && b.Name != "":
			facts.begun = append(facts.begun, Call{ID: b.ID, Tool: b.Name})
			if b.Name == "TodoWrite" {
				facts.todos = claudeTodos(b.Input)
			}
		case b.Type == "tool_result" && b.Of != "":
			facts.ended, facts.answers = append(facts.ended, result{id: b.Of, failed: b.IsError}), true
		}
	}
	return facts
}

// claudeTodos returns the list in the input of Claude Code's tool for todos, or nil if there is none.
func claudeTodos(input json.RawMessage) json.RawMessage {
	var in struct {
		Todos json.RawMessage `json:"todos"`
	}
	if json.Unmarshal(input, &in) != nil {
		return nil
	}
	return in.Todos
}

// claudeFile returns the path of the file in which Claude Code looks for a session of a folder.
func claudeFile(env []string, dir, session string) (string, error) {
	config, _ := gitexec.LookupEnv(env, "CLAUDE_CONFIG_DIR")
	if config == "" {
		home, _ := gitexec.LookupEnv(env, "HOME")
		if home == "" {
			return "", fault.New(fault.Usage, "HOME is not set, so Claude Code's folder is unknown")
		}
		config = filepath.Join(home, ".claude")
	}
	return filepath.Join(config, "projects", noLetters.ReplaceAllString(dir, "-"), session+".jsonl"), nil
}

// noLetters matches what Claude Code replaces in the name of a project's folder.
var noLetters = regexp.MustCompile(`[^a-zA-Z0-9]`)
