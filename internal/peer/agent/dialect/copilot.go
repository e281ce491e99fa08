package dialect

import (
	"cmp"
	"encoding/json"
	"path/filepath"
	"slices"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/internal/lazyregexp"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// Copilot is the name of GitHub Copilot CLI.
const Copilot = "copilot"

// copilot is how GitHub Copilot CLI speaks. The names of its events in lower case choose the input that its own file has, too: with the names of
// Claude Code's events, it calls tools by other names.
var copilot = Dialect{
	Name: Copilot, Parse: parseCopilot, Read: readCopilot, Resume: resumeCopilot, FileOf: copilotFile, Shortens: true, Variable: "COPILOT_CLI",
	CoAuthor: "Copilot <223556219+Copilot@users.noreply.github.com>",
	Hooks: &Hooks{
		File:   ".github/hooks/git-smithers.json",
		User:   UserFile{"COPILOT_HOME", ".copilot", "hooks/git-smithers.json"},
		Events: []string{"sessionStart", "userPromptSubmitted", "postToolUse", "postToolUseFailure", "subagentStop", "preCompact", "agentStop", "sessionEnd"},
		Entry: func(_, command string) any {
			return hookEntry{Hooks: []hookCommand{{Type: "command", Command: command, Timeout: HookSeconds}}}
		},
		Trust: "GitHub Copilot CLI runs hooks of a repository only in a folder that you trust: say so when it asks",
	},
}

// copilotReaders lists the tools of GitHub Copilot CLI that never change a file.
var copilotReaders = map[string]bool{
	"view": true, "grep": true, "glob": true, "rg": true, "web_fetch": true, "web_search": true, "ask_user": true, "report_intent": true,
	"fetch_copilot_cli_documentation": true, "list_bash": true, "list_agents": true, "sql": true, "session_store_sql": true, "skill": true,
}

// copilotInput has the members that this package reads of what GitHub Copilot CLI hands to a hook.
type copilotInput struct {
	Session    string          `json:"sessionId"` // or the id of a subagent
	Subagent   string          `json:"agentId"`
	Parent     string          `json:"parentAgentId"` // of a subagent: the session, or another subagent
	Transcript string          `json:"transcriptPath"`
	Folder     string          `json:"cwd"`
	Time       json.Number     `json:"timestamp"`
	Prompt     string          `json:"prompt"`
	Tool       string          `json:"toolName"`
	Args       json.RawMessage `json:"toolArgs"`
}

// copilotKinds maps the events of GitHub Copilot CLI to ours. Other events are ignored.
var copilotKinds = map[string]Kind{
	"sessionStart": Started, "userPromptSubmitted": Prompted, "postToolUse": Called, "postToolUseFailure": Called, "subagentStop": Delegated,
	"preCompact": Compacting, "agentStop": Answered, "sessionEnd": Ended,
}

// parseCopilot is Parse of GitHub Copilot CLI. The input does not name the event. A subagent has hooks of its own, with its own id as the session. The
// file repeats the input, a moment later. A wait for it is worth while at the end of a turn: there may be no later hook.
func parseCopilot(name string, input []byte) (Event, error) {
	var in copilotInput
	if err := parseInput(input, &in, &in.Session); err != nil {
		return Event{}, err
	}
	ev := Event{Kind: copilotKinds[name], Session: in.Session, Folder: in.Folder, Transcript: in.Transcript, Prompt: in.Prompt, Subagent: in.Subagent}
	if ev.Kind == Called {
		ev.Calls = []Call{{Tool: in.Tool, Alias: geminiAlias(in.Tool, copilotArgs(in.Args)), ReadOnly: copilotReaders[in.Tool]}}
	}
	if in.Subagent != "" && in.Subagent == in.Session {
		if ev.Session = cmp.Or(copilotSession(in.Transcript), in.Parent); ev.Kind != Called {
			ev.Kind = Ignored // subagentStop tells of it
		}
	}
	if in.Time != "" && (ev.Kind == Answered || ev.Kind == Ended) {
		ev.Mark = `"timestamp":` + in.Time.String()
	}
	return ev, nil
}

// copilotArgs returns the arguments of a call. Some versions hand them over as a text of JSON.
func copilotArgs(args json.RawMessage) json.RawMessage {
	var text string
	if json.Unmarshal(args, &text) == nil && json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	return args
}

// copilotEvents is the name of the file with the conversation of a session, in the folder of the session.
const copilotEvents = "events.jsonl"

// copilotSession returns the id of the session whose file has the path, or "".
func copilotSession(path string) string {
	if filepath.Base(path) != copilotEvents {
		return ""
	}
	return filepath.Base(filepath.Dir(path))
}

// copilotFile is FileOf of GitHub Copilot CLI.
func copilotFile(env []string, session string) string {
	home, _ := gitexec.LookupEnv(env, "COPILOT_HOME")
	if home == "" {
		user, _ := gitexec.LookupEnv(env, "HOME")
		if user == "" {
			return ""
		}
		home = filepath.Join(user, ".copilot")
	}
	return filepath.Join(home, "session-state", session, copilotEvents)
}

// copilotLine has the members that this package reads of a line of GitHub Copilot CLI's file: an event.
type copilotLine struct {
	Type     string      `json:"type"`
	ID       string      `json:"id"`
	Time     string      `json:"timestamp"`
	Subagent string      `json:"agentId"`
	Data     copilotData `json:"data"`
}

// copilotData has the members that this package reads of an event.
type copilotData struct {
	Session string `json:"sessionId"`
	Folder  string `json:"cwd"`
	Context struct {
		Folder string `json:"cwd"`
	} `json:"context"`
	Model     string `json:"selectedModel"`
	NewModel  string `json:"newModel"`
	Content   string `json:"content"`
	Source    string `json:"source"`   // of a prompt that no person has sent
	Delivery  string `json:"delivery"` // "steering" if the agent worked
	Autopilot bool   `json:"isAutopilotContinuation"`
	Requests  []struct {
		ID   string          `json:"toolCallId"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"arguments"`
	} `json:"toolRequests"`
	Call    string `json:"toolCallId"`
	Success bool   `json:"success"`
	Result  struct {
		Content string `json:"content"`
	} `json:"result"`
	Error struct {
		Message string `json:"message"`
	} `json:"error"`
	Shell struct {
		Exit int `json:"exitCode"`
	} `json:"shellExecution"`
	Usage struct {
		Model      string `json:"model"`
		Input      int64  `json:"inputTokens"` // with those of the cache
		Output     int64  `json:"outputTokens"`
		CacheRead  int64  `json:"cacheReadTokens"`
		CacheWrite int64  `json:"cacheWriteTokens"`
	} `json:"usage"`
	Message string `json:"message"`
	Kind    string `json:"infoType"`
	UpTo    string `json:"upToEventId"`
}

// copilotFork matches what GitHub Copilot CLI says about the session from which another one was forked.
var copilotFork = lazyregexp.New(`^Forked from ".*" \(([0-9A-Za-z_-]{1,128})\) as "`)

// readCopilot is Read of GitHub Copilot CLI. Each event names the one before, also behind a rewind, so the conversation is a list. The events of hooks
// repeat what they were handed.
func readCopilot(text []byte) Facts {
	var line copilotLine
	if decode(text, &line) != nil {
		return Facts{}
	}
	d := &line.Data
	facts := Facts{AtMs: timeOf(line.Time), ID: line.ID, Part: line.ID, Aside: line.Subagent != ""}
	switch line.Type {
	case "session.start":
		facts.Header, facts.Session, facts.Folder, facts.Model = true, d.Session, d.Context.Folder, modelName(d.Model)
	case "session.resume":
		facts.Folder = d.Context.Folder
	case "session.context_changed":
		facts.Folder = d.Folder
	case "session.model_change":
		facts.Model = modelName(d.NewModel)
	case "system.message", "hook.start", "hook.end":
		facts.Vendor = true
	case "user.message":
		if d.Content != "" && d.Source == "" && !d.Autopilot {
			facts.Said = []Saying{{Role: User, Text: d.Content, Beside: d.Delivery == "steering"}}
		}
	case "assistant.message":
		d.answer(&facts)
	case "tool.execution_complete":
		facts.Answers = true
		if d.Call != "" {
			facts.Ended = []Result{{ID: d.Call, Failed: !d.Success || d.Shell.Exit != 0, Output: cmp.Or(d.Result.Content, d.Error.Message)}}
		}
	case "session.usage_record":
		u := d.Usage
		facts.Answers, facts.Message, facts.Model = true, line.ID, modelName(u.Model)
		facts.Usage = Usage{Input: max(0, u.Input-u.CacheRead-u.CacheWrite), Output: u.Output, CacheRead: u.CacheRead, CacheCreation: u.CacheWrite}
	case "session.compaction_complete":
		facts.Summary = d.Success
	case "session.info":
		if of := copilotFork.FindStringSubmatch(d.Message); of != nil && d.Kind == "fork" {
			facts.ForkOf = of[1]
		}
	case "session.error":
		facts.Failed, facts.Notice = true, d.Message
	case "session.snapshot_rewind":
		facts.Answers, facts.Undo = true, &Undo{From: d.UpTo} // a cut before the next prompt keeps the way back
	}
	return facts
}

// answer adds what an answer of the model says to the facts of its line.
func (d *copilotData) answer(facts *Facts) {
	facts.Answers = true
	if d.Content != "" {
		facts.Said = []Saying{{Role: Assistant, Text: d.Content}}
	}
	for _, r := range d.Requests {
		if r.ID != "" && r.Name != "" {
			args := copilotArgs(r.Args)
			facts.Begun = append(facts.Begun, Call{ID: r.ID, Tool: r.Name, Input: args, Alias: geminiAlias(r.Name, args), ReadOnly: copilotReaders[r.Name]})
		}
	}
}

// resumeCopilot is Resume of GitHub Copilot CLI. It finds a session by the folder that is named for it. The events of subagents belong to no
// conversation that goes on.
func resumeCopilot(c Course) (Resumed, error) {
	prompt := []string{}
	if c.Prompt != "" {
		prompt = []string{"--interactive=" + c.Prompt} // a prompt can begin with a hyphen
	}
	if !slices.ContainsFunc(c.Lines, func(l Line) bool { return l.Answers }) {
		return Resumed{Command: append([]string{Copilot, "--session-id=" + c.Session}, prompt...)}, nil
	}
	file := copilotFile(c.Env, c.Session)
	if file == "" {
		return Resumed{}, fault.New(fault.Usage, "HOME is not set, so Copilot's folder is unknown")
	}
	var text []byte
	events := newNodes()
	for _, l := range c.Lines {
		var event struct {
			ID     string  `json:"id"`
			Parent *string `json:"parentId"`
		}
		line := c.rewrite(l.Text)
		if l.Aside || l.Session != "" && len(text) > 0 || json.Unmarshal([]byte(line), &event) != nil {
			continue
		}
		text = append(append(text, events.add(line, "parentId", event.ID, event.Parent)...), '\n')
	}
	out := Resumed{File: file, Size: int64(len(text)), Command: append([]string{Copilot, "--resume=" + c.Session}, prompt...)}
	return out, writeConversation(file, text)
}
