package dialect

import (
	"cmp"
	"path/filepath"
	"strings"

	"github.com/git-smithers/git-smithers/internal/gitexec"
)

// Qwen is the name of Qwen Code.
const Qwen = "qwen"

// qwen is how Qwen Code speaks: its hooks and the tree of its lines are those of Claude Code, the messages in the lines those of Gemini CLI.
var qwen = Dialect{
	Name: Qwen, Parse: qwenHooks.parse, Read: readQwen, SubagentFile: qwenSubagentFile, Resume: resumeQwen, NamesFiles: true, UUIDs: true,
	Variable: "QWEN_CODE", CoAuthor: "Qwen-Coder <qwen-coder@alibabacloud.com>",
	Hooks: &Hooks{
		File: ".qwen/settings.json", OwnAtTop: true,
		User:   qwenHome,
		Events: []string{"SessionStart", "UserPromptSubmit", "PostToolBatch", "SubagentStop", "PreCompact", "Stop", "StopFailure", "SessionEnd"},
		Entry:  entryOf("", 1),
		Trust:  "Qwen Code runs hooks only in a folder that you trust, if you have turned on security.folderTrust",
	},
}

// qwenHome is Qwen Code's folder.
var qwenHome = UserFile{"QWEN_HOME", ".qwen", "settings.json"}

// qwenHooks is the schema of Qwen Code's hooks.
var qwenHooks = &schema{
	kinds: claudeHooks.kinds, readers: qwenReaders,
	fit: func(_ *hookInput, input []byte, ev *Event) {
		if ev.Kind != Prompted {
			return
		}
		var in struct {
			Typed string `json:"submitted_prompt"`
		}
		_ = decode(input, &in) // it was decoded before
		if ev.Prompt = cmp.Or(in.Typed, ev.Prompt); ev.Prompt == "" {
			ev.Kind = Ignored // the results of tools go to the model
		}
	},
}

// qwenReaders lists Qwen Code's tools that never change a file.
var qwenReaders = map[string]bool{
	"read_file": true, "zoom_image": true, "grep_search": true, "glob": true, "list_directory": true, "lsp": true, "web_fetch": true, "web_search": true,
	"todo_write": true, "task_list": true, "list_agents": true, "tool_search": true, "read_mcp_resource": true, "ask_user_question": true,
}

// qwenVendor lists the subtypes of lines in which Qwen Code keeps figures for itself.
var qwenVendor = map[string]bool{"ui_telemetry": true, "attribution_snapshot": true, "file_history_snapshot": true}

// qwenLine has the members that this package reads of a line of Qwen Code's file.
type qwenLine struct {
	treeLine

	Model   string `json:"model"`
	Message struct {
		Parts []geminiPart `json:"parts"`
	} `json:"message"`
	Result struct {
		Status string `json:"status"`
	} `json:"toolCallResult"`
	Usage *struct {
		Prompt  int64 `json:"promptTokenCount"` // with those of the cache
		Answer  int64 `json:"candidatesTokenCount"`
		Thought int64 `json:"thoughtsTokenCount"` // some models count them in Answer, too
		Cached  int64 `json:"cachedContentTokenCount"`
		Total   int64 `json:"totalTokenCount"`
	} `json:"usageMetadata"`
}

// readQwen is Read of Qwen Code.
func readQwen(text []byte) Facts {
	var line qwenLine
	if decode(text, &line) != nil {
		return Facts{}
	}
	facts := line.facts(text, qwenVendor[line.Subtype])
	facts.Summary = line.Subtype == "chat_compression"
	if u := line.Usage; u != nil {
		facts.Message, facts.Model = line.ID, modelName(line.Model)
		facts.Usage = Usage{Input: max(0, u.Prompt-u.Cached), Output: u.Answer, CacheRead: u.Cached}
		if thought := u.Total - u.Prompt - u.Answer; thought > 0 {
			facts.Usage.Output += min(thought, u.Thought)
		}
	}
	for _, p := range line.Message.Parts {
		switch {
		case p.Call != nil && p.Call.ID != "" && p.Call.Name != "":
			facts.Begun = append(facts.Begun, Call{ID: p.Call.ID, Tool: p.Call.Name, Input: p.Call.Args, ReadOnly: qwenReaders[p.Call.Name]})
			if p.Call.Name == "todo_write" {
				facts.Todos = claudeTodos(p.Call.Args)
			}
		case p.Response != nil && p.Response.ID != "":
			failed := line.Result.Status != "success" && (line.Result.Status != "" || p.Response.failed())
			facts.Ended, facts.Answers = append(facts.Ended, Result{ID: p.Response.ID, Failed: failed, Output: p.Response.text()}), true
		}
	}
	facts.Said = line.said()
	return facts
}

// said returns what the user or the model says in words. Qwen Code writes notifications and the prompts of schedules in the form of the user's words, with
// a subtype.
func (l *qwenLine) said() []Saying {
	beside := l.Subtype == "mid_turn_user_message"
	if l.Aside || l.Type != Assistant && l.Type != User || l.Subtype != "" && !beside {
		return nil
	}
	var texts []string
	for _, p := range l.Message.Parts {
		if own := l.Type == User && strings.HasPrefix(p.Text, "<system-reminder>"); p.Text != "" && !own && p.said() {
			texts = append(texts, p.Text)
		}
	}
	if texts == nil {
		return nil
	}
	return []Saying{{Role: l.Type, Text: strings.Join(texts, "\n"), Beside: beside}}
}

// qwenSubagentFile is SubagentFile of Qwen Code.
func qwenSubagentFile(transcript, subagent string) string {
	project, session := filepath.Dir(filepath.Dir(transcript)), strings.TrimSuffix(filepath.Base(transcript), ".jsonl")
	return filepath.Join(project, "subagents", session, "agent-"+subagent+".jsonl")
}

// resumeQwen is Resume of Qwen Code, which can keep its conversations apart from its settings.
func resumeQwen(c Course) (Resumed, error) {
	file := treeFile{agent: Qwen, title: "Qwen Code", home: qwenHome, chats: "chats", start: withGeminiPrompt}
	if folder, _ := gitexec.LookupEnv(c.Env, "QWEN_RUNTIME_DIR"); folder != "" {
		file.home.Variable = "QWEN_RUNTIME_DIR"
	}
	return file.resume(c)
}
