package dialect

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
)

// Claude is the name of Claude Code.
const Claude = "claude"

// claude is how Claude Code speaks.
var claude = Dialect{
	Name: Claude, Parse: claudeHooks.parse, Read: readClaude, SubagentFile: claudeSubagentFile, Resume: claudeFile.resume, NamesFiles: true, UUIDs: true,
	Variable: "CLAUDECODE", CoAuthor: "Claude <noreply@anthropic.com>",
	Headless: claudeHeadless,
	Hooks: &Hooks{
		File: ".claude/settings.local.json", Shared: ".claude/settings.json", Strict: true, SharedAtTop: true, OwnInMain: true,
		User:   claudeHome,
		Events: []string{"SessionStart", "UserPromptSubmit", "PostToolBatch", "SubagentStop", "PreCompact", "Stop", "StopFailure", "SessionEnd"},
		Entry:  entryOf("", 1),
	},
}

// claudeHome is Claude Code's folder.
var claudeHome = UserFile{"CLAUDE_CONFIG_DIR", ".claude", "settings.json"}

// claudeHooks is the schema of Claude Code's hooks.
var claudeHooks = &schema{
	kinds: map[string]Kind{
		"SessionStart": Started, "UserPromptSubmit": Prompted, "PostToolBatch": Called, "SubagentStop": Delegated,
		"PreCompact": Compacting, "Stop": Answered, "StopFailure": Answered, "SessionEnd": Ended,
	},
	readers: claudeReaders,
}

// claudeFile is where Claude Code looks for a conversation. Lines about the worktree that the agent had entered are left out of a course, which has a
// worktree of its own.
var claudeFile = treeFile{
	agent: Claude, title: "Claude Code", home: claudeHome, start: withPrompt, left: map[string]bool{"worktree-state": true, "relocated": true},
}

// claudeReaders lists Claude Code's tools that never change a file.
var claudeReaders = map[string]bool{
	"Read": true, "Grep": true, "Glob": true, "LS": true, "WebFetch": true, "WebSearch": true, "web_search": true, "web_fetch": true,
}

// claudeSubagentFile is SubagentFile of Claude Code, which can write the result of a subagent's last call after its hook SubagentStop has read the file.
func claudeSubagentFile(transcript, subagent string) string {
	return filepath.Join(strings.TrimSuffix(transcript, ".jsonl"), "subagents", "agent-"+subagent+".jsonl")
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
	treeLine

	Meta     bool `json:"isMeta"`
	Compact  bool `json:"isCompactSummary"`
	Worktree struct {
		Path string `json:"worktreePath"`
	} `json:"worktreeSession"`
	APIError  bool            `json:"isApiErrorMessage"`
	Operation string          `json:"operation"` // of the queue of what the user types meanwhile
	Content   json.RawMessage `json:"content"`
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
	facts := line.facts(text, claudeVendor[line.Type])
	facts.Message, facts.Summary = line.Message.ID, line.Compact
	if line.Worktree.Path != "" {
		facts.Folder, facts.Worktree = line.Worktree.Path, true
	}
	if facts.Link != nil {
		line.keep(facts.Link)
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
	if decodeText(line.Message.Content, &one) {
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

// keep sets which older lines stay in the conversation that the line begins again.
func (l *claudeLine) keep(link *Link) {
	if kept := l.Compacted.Messages; len(kept.IDs) > 0 {
		link.Kept, link.Anchor = kept.IDs, kept.Anchor
	} else {
		link.Head, link.Tail, link.Anchor = l.Compacted.Segment.Head, l.Compacted.Segment.Tail, l.Compacted.Segment.Anchor
	}
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
