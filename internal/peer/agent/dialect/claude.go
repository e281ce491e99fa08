package dialect

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/internal/lazyregexp"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// Claude is the name of Claude Code.
const Claude = "claude"

// claude is how Claude Code speaks.
var claude = Dialect{
	Name: Claude, Parse: parseClaude, Read: readClaude, SubagentFile: claudeSubagentFile, Resume: resumeClaude, NamesFiles: true, UUIDs: true, Variable: "CLAUDECODE", CoAuthor: "Claude <noreply@anthropic.com>",
	Hooks: &Hooks{
		File: ".claude/settings.local.json", Shared: ".claude/settings.json", Strict: true, SharedAtTop: true, OwnInMain: true,
		User:   UserFile{"CLAUDE_CONFIG_DIR", ".claude", "settings.json"},
		Events: []string{"SessionStart", "UserPromptSubmit", "PostToolBatch", "SubagentStop", "PreCompact", "Stop", "StopFailure", "SessionEnd"},
		Entry: func(_, command string) any {
			return hookEntry{Hooks: []hookCommand{{Type: "command", Command: command, Timeout: HookSeconds}}}
		},
	},
}

// claudeReaders lists Claude Code's tools that never change a file.
var claudeReaders = map[string]bool{
	"Read": true, "Grep": true, "Glob": true, "LS": true, "WebFetch": true, "WebSearch": true, "web_search": true, "web_fetch": true,
}

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
	"PreCompact": Compacting, "Stop": Answered, "StopFailure": Answered, "SessionEnd": Ended,
}

// claudeSubagentFile is SubagentFile of Claude Code, which can write the result of a subagent's last call after its hook SubagentStop has read the file.
func claudeSubagentFile(transcript, subagent string) string {
	return filepath.Join(strings.TrimSuffix(transcript, ".jsonl"), "subagents", "agent-"+subagent+".jsonl")
}

// parseClaude is Parse of Claude Code.
func parseClaude(_ string, input []byte) (Event, error) {
	var in claudeInput
	if err := parseInput(input, &in, &in.Session); err != nil {
		return Event{}, err
	}
	ev := Event{
		Kind: claudeKinds[in.Event], Session: in.Session, Folder: in.Folder, Transcript: in.Transcript,
		Subagent: in.Subagent, SubagentTranscript: in.SubagentTranscript, Prompt: in.Prompt, Answer: in.Answer, Forked: in.Source == "fork", Failed: in.Event == "StopFailure",
	}
	for _, call := range in.Calls {
		ev.Calls = append(ev.Calls, Call{ID: call.ID, Tool: call.Tool, ReadOnly: claudeReaders[call.Tool]})
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

// claudeNobody is the model of messages that Claude Code itself writes in the model's name, such as the errors of the API.
const claudeNobody = "<synthetic>"

// claudeLine has the members that this package reads of a line of Claude Code's transcript.
type claudeLine struct {
	Type    string `json:"type"`
	Time    string `json:"timestamp"`
	Folder  string `json:"cwd"`
	Session string `json:"sessionId"`
	Meta    bool   `json:"isMeta"`
	Compact bool   `json:"isCompactSummary"`
	Aside   bool   `json:"isSidechain"`
	Forked  struct {
		Session string `json:"sessionId"`
	} `json:"forkedFrom"`
	Worktree struct {
		Path string `json:"worktreePath"`
	} `json:"worktreeSession"`
	APIError  bool            `json:"isApiErrorMessage"`
	Operation string          `json:"operation"` // of the queue of what the user types meanwhile
	Content   json.RawMessage `json:"content"`
	ID        string          `json:"uuid"`
	Parent    string          `json:"parentUuid"`
	Compacted struct {
		Messages struct {
			IDs    []string `json:"uuids"`
			Anchor string   `json:"anchorUuid"`
		} `json:"preservedMessages"`
		Segment struct {
			Head   string `json:"headUuid"`
			Tail   string `json:"tailUuid"`
			Anchor string `json:"anchorUuid"`
		} `json:"preservedSegment"`
	} `json:"compactMetadata"`
	Data struct { // of progress: a message of a subagent
		Message struct {
			Message struct {
				Content json.RawMessage `json:"content"`
			} `json:"message"`
		} `json:"message"`
	} `json:"data"`
	Message struct {
		ID      string          `json:"id"`
		Model   string          `json:"model"`
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
	Text    string          `json:"text"`
	ID      string          `json:"id"`
	Name    string          `json:"name"`
	Input   json.RawMessage `json:"input"`
	Of      string          `json:"tool_use_id"`
	IsError bool            `json:"is_error"`
	Content json.RawMessage `json:"content"`
}

// readClaude is Read of Claude Code.
func readClaude(text []byte) Facts {
	var line claudeLine
	if decode(text, &line) != nil {
		return Facts{}
	}
	facts := Facts{Vendor: claudeVendor[line.Type], Message: line.Message.ID, Answers: line.Type == "assistant", Folder: line.Folder, Aside: line.Aside}
	facts.Session, facts.Summary = line.Session, line.Compact
	facts.AtMs = timeOf(line.Time)
	facts.ForkOf, facts.Copied = line.Forked.Session, line.Forked.Session != ""
	if line.Worktree.Path != "" {
		facts.Folder, facts.Worktree = line.Worktree.Path, true
	}
	if facts.Link = line.link(); facts.Vendor && facts.Link != nil {
		facts.Slim = line.stub()
		facts.LeftOut = bytes.Equal(facts.Slim, text)
	}
	if u := line.Message.Usage; u != nil {
		facts.Usage = Usage{Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheCreation: u.CacheCreation}
		facts.Model = modelName(line.Message.Model)
	}
	if line.Message.Model == claudeNobody {
		facts.Failed, facts.Notice, facts.Usage, facts.Message = line.APIError, textOf(line.Message.Content), Usage{}, ""
		return facts
	}
	if line.Type == "queue-operation" {
		facts.Queued = line.queued()
		return facts
	}
	if said := line.Data.Message.Message.Content; line.Type == "progress" && said != nil { // its tokens are those of when the answer began
		line.Message.Content, line.Aside, facts.Aside = said, true, true
	}
	var one string
	if json.Unmarshal(line.Message.Content, &one) == nil {
		facts.Said = claudeSaid(&line, false, one)
		return facts
	}
	var blocks []claudeBlock
	if decode(line.Message.Content, &blocks) != nil {
		return facts
	}
	for _, b := range blocks {
		switch {
		case (b.Type == "tool_use" || b.Type == "server_tool_use") && b.ID != "" && b.Name != "":
			facts.Begun = append(facts.Begun, Call{ID: b.ID, Tool: b.Name, Input: b.Input, ReadOnly: claudeReaders[b.Name]})
			if b.Name == "TodoWrite" {
				facts.Todos = claudeTodos(b.Input)
			}
		case strings.HasSuffix(b.Type, "tool_result") && b.Of != "":
			facts.Ended, facts.Answers = append(facts.Ended, Result{ID: b.Of, Failed: b.IsError, Output: textOf(b.Content)}), true
		}
	}
	texts := textsOf(blocks)
	if line.Type == User && !slices.ContainsFunc(blocks, func(b claudeBlock) bool { return b.Type != "image" }) && len(blocks) > 0 {
		texts = []string{imagesIn(blocks)}
	}
	facts.Said = claudeSaid(&line, len(facts.Ended) > 0 && line.Type == User, texts...)
	return facts
}

// queued returns what a line says of the words that the user typed while the agent worked.
func (l *claudeLine) queued() *Queued {
	switch l.Operation {
	case "enqueue":
		if text := textOf(l.Content); text != "" && !claudeOwn(text) {
			return &Queued{Text: text}
		}
		return nil
	case "remove":
		return &Queued{Heard: true}
	case "dequeue":
		return &Queued{}
	case "popAll":
		return &Queued{Cleared: true}
	}
	return nil
}

// link returns the place of a line in the conversation, or nil if it has none.
func (l *claudeLine) link() *Link {
	if l.ID == "" {
		return nil
	}
	link := &Link{ID: l.ID, Parent: l.Parent}
	if kept := l.Compacted.Messages; len(kept.IDs) > 0 {
		link.Kept, link.Anchor = kept.IDs, kept.Anchor
	} else {
		link.Head, link.Tail, link.Anchor = l.Compacted.Segment.Head, l.Compacted.Segment.Tail, l.Compacted.Segment.Anchor
	}
	return link
}

// stub returns what is stored of a line of the vendor that has a place in the conversation: later lines can follow it.
func (l *claudeLine) stub() []byte {
	stub, _ := json.Marshal(map[string]string{"parentUuid": l.Parent, "type": l.Type, "uuid": l.ID}) //nolint:errchkjson // texts
	return stub
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
var noLetters = lazyregexp.New(`[^a-zA-Z0-9]`)

// resumeClaude is Resume of Claude Code. A line whose parent was not kept follows the line before it.
func resumeClaude(c Course) (Resumed, error) {
	out := Resumed{Command: withPrompt(c.Prompt, Claude, "--session-id", c.Session)}
	if len(c.Lines) == 0 {
		return out, nil
	}
	text := relinkClaude(c)
	file, err := claudeFile(c.Env, c.Dir, c.Session)
	if err != nil {
		return out, err
	}
	out = Resumed{File: file, Size: int64(len(text)), Command: withPrompt(c.Prompt, Claude, "--resume", c.Session)}
	return out, writeConversation(file, text)
}

// relinkClaude returns the rewritten lines, each with a line feed. Lines about the worktree that the agent had entered are left out: the
// course has a worktree of its own.
func relinkClaude(c Course) []byte {
	var out []byte
	nodes := newNodes()
	for _, l := range c.Lines {
		if l.LeftOut {
			nodes.pass(l.Link)
			continue
		}
		text := c.rewrite(l.Text)
		var node struct {
			Type   string  `json:"type"`
			ID     string  `json:"uuid"`
			Parent *string `json:"parentUuid"`
			Leaf   string  `json:"leafUuid"`
		}
		if json.Unmarshal([]byte(text), &node) == nil {
			if node.Type == "worktree-state" || node.Type == "relocated" {
				continue
			}
			if node.Leaf != "" && !nodes.seen[node.Leaf] && nodes.last != "" {
				text = strings.Replace(text, `"leafUuid":"`+node.Leaf+`"`, `"leafUuid":"`+inJSON(nodes.last)+`"`, 1)
			}
			text = nodes.add(text, "parentUuid", node.ID, node.Parent)
		}
		out = append(append(out, text...), '\n')
	}
	return out
}
