package dialect

import (
	"cmp"
	_ "embed" // the program
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// Pi is the name of pi.
const Pi = "pi"

// piProgram is the extension that pi loads.
//
//go:embed programs/pi.ts
var piProgram string

// pi is how pi speaks.
var pi = Dialect{
	Name: Pi, Parse: parseProgram, Read: readPi, Resume: resumePi, Variable: "PI_CODING_AGENT",
	Headless: piHeadless,
	Hooks: &Hooks{
		File: ".pi/extensions/git-smithers.ts", Program: piProgram, OwnAtTop: true,
		User:  UserFile{"PI_CODING_AGENT_DIR", ".pi/agent", "extensions/git-smithers.ts"},
		Trust: "pi 0.79 and newer asks whether you trust the folder, and runs no hooks before you do, or with --approve",
	},
}

// piReaders lists pi's tools that never change a file.
var piReaders = map[string]bool{"read": true, "grep": true, "find": true, "ls": true}

// piHeaders lists the types of lines that pi writes before the first prompt: the session, its model, its name. A later line of these
// types holds for what is said after it.
var piHeaders = map[string]bool{"session": true, "model_change": true, "thinking_level_change": true, "session_info": true}

// piLine has the members that this package reads of a line of pi's session file.
type piLine struct {
	Type    string          `json:"type"`
	ID      string          `json:"id"`
	Parent  string          `json:"parentId"`
	Former  string          `json:"parentSession"` // the file of the session from which this one was forked
	Time    string          `json:"timestamp"`
	Folder  string          `json:"cwd"`
	Model   string          `json:"modelId"` // of all answers, in the first line of the first version
	Content json.RawMessage `json:"content"` // of a custom_message
	Message struct {
		Role    string          `json:"role"`
		Model   string          `json:"model"`
		Content json.RawMessage `json:"content"`
		Stop    string          `json:"stopReason"`
		Of      string          `json:"toolCallId"`
		IsError bool            `json:"isError"`
		Usage   *piUsage        `json:"usage"`
	} `json:"message"`
	Usage *piUsage `json:"usage"` // of a summary, or of a line about tokens alone
	By    string   `json:"model"` // that used these
}

// piUsage has the tokens of an answer.
type piUsage struct {
	Input      int64 `json:"input"`
	Output     int64 `json:"output"`
	CacheRead  int64 `json:"cacheRead"`
	CacheWrite int64 `json:"cacheWrite"`
	Cost       struct {
		Total float64 `json:"total"`
	} `json:"cost"`
}

// piSpends lists the types of lines whose own tokens count.
var piSpends = map[string]bool{"compaction": true, "branch_summary": true, "usage": true}

// piBlock is a part of a message in pi's session file.
type piBlock struct {
	Type  string          `json:"type"`
	Text  string          `json:"text"`
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"arguments"` // of a call
}

// readPi is Read of pi.
func readPi(text []byte) Facts {
	var line piLine
	if decode(text, &line) != nil {
		return Facts{}
	}
	m := line.Message
	facts := Facts{
		Header: piHeaders[line.Type], Folder: line.Folder, AtMs: timeOf(line.Time),
		Answers: line.Type == "compaction" || line.Type == "branch_summary" || line.Type == "message" && m.Role != "" && m.Role != User && m.Role != "system",
	}
	if line.ID != "" && line.Type != "session" {
		facts.Link = &Link{ID: line.ID, Parent: line.Parent}
	}
	switch line.Type {
	case "session":
		facts.Session = line.ID
		name := strings.TrimSuffix(filepath.Base(line.Former), ".jsonl")
		if former := name[strings.LastIndexByte(name, '_')+1:]; line.Former != "" && IsSessionID(former) {
			facts.ForkOf = former
		}
		facts.Model = modelName(line.Model)
	case "message":
		facts.Part = line.ID
	case "custom_message":
		m.Content = line.Content
	}
	u, model := m.Usage, m.Model
	if piSpends[line.Type] {
		u, model, m.Role = line.Usage, line.By, Assistant
	}
	if u != nil && m.Role == Assistant {
		facts.Message = cmp.Or(line.ID, line.Time) // lines of the first version have no ids
		facts.Model = modelName(model)
		facts.Usage = Usage{
			Cost: roundCost(u.Cost.Total), Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheCreation: u.CacheWrite,
		}
	}
	if m.Role == "toolResult" && m.Of != "" {
		facts.Ended = []Result{{ID: m.Of, Failed: m.IsError, Output: textOf(m.Content)}}
	}
	for _, b := range piBlocks(m.Content) {
		switch {
		case b.Type == "text" && b.Text != "" && (m.Role == User || m.Role == Assistant):
			facts.Said = append(facts.Said, Saying{Role: m.Role, Text: b.Text})
		case b.Type == "toolCall" && b.ID != "" && b.Name != "" && m.Stop != "error" && m.Stop != "aborted": // pi has run the call
			facts.Begun = append(facts.Begun, Call{ID: b.ID, Tool: b.Name, Input: b.Input, ReadOnly: piReaders[b.Name]})
		}
	}
	return facts
}

// piBlocks returns the parts of a message.
func piBlocks(content json.RawMessage) (blocks []piBlock) {
	var one string
	if decodeText(content, &one) {
		return []piBlock{{Type: "text", Text: one}}
	}
	_ = json.Unmarshal(content, &blocks) // without content, there are no parts
	return blocks
}

// piFile returns the path of the file in which pi looks for a session.
func piFile(env []string, head piHeader) (string, error) {
	home, _ := gitexec.LookupEnv(env, "HOME")
	folder := func(name string) string {
		value, _ := gitexec.LookupEnv(env, name)
		if rest, ok := strings.CutPrefix(value, "~"); ok && home != "" && (rest == "" || rest[0] == '/') {
			return home + rest
		}
		return value
	}
	sessions := folder("PI_CODING_AGENT_SESSION_DIR")
	if sessions == "" {
		config := folder("PI_CODING_AGENT_DIR")
		if config == "" {
			if home == "" {
				return "", fault.New(fault.Usage, "HOME is not set, so pi's folder is unknown")
			}
			config = filepath.Join(home, ".pi", "agent")
		}
		name := strings.NewReplacer("/", "-", `\`, "-", ":", "-").Replace(strings.TrimPrefix(head.Folder, "/"))
		sessions = filepath.Join(config, "sessions", "--"+name+"--")
	}
	return filepath.Join(sessions, strings.NewReplacer(":", "-", ".", "-").Replace(head.Time)+"_"+head.ID+".jsonl"), nil
}

// piVersion is the version of the form of session files that this package writes itself.
const piVersion = 3

// piHeader is the first line of a session file.
type piHeader struct {
	Type    string `json:"type"`
	Version int    `json:"version,omitempty"`
	ID      string `json:"id"`
	Time    string `json:"timestamp"`
	Folder  string `json:"cwd"`
}

// headerOf returns the header of the new session. pi works in the folder that the header names, which must not be the former one.
func (c Course) headerOf() piHeader {
	head := piHeader{Version: piVersion}
	if len(c.Lines) > 0 {
		var former piHeader
		if json.Unmarshal([]byte(c.rewrite(c.Lines[0].Text)), &former) == nil && former.Type == "session" {
			head = former
		}
	}
	if head.Folder != c.Dir && !strings.HasPrefix(head.Folder, c.Dir+"/") {
		head.Folder = c.Dir
	}
	head.Type, head.ID, head.Time = "session", c.Session, time.UnixMilli(c.AtMs).UTC().Format("2006-01-02T15:04:05.000Z")
	return head
}

// resumePi is Resume of pi. The file begins with a header also if nothing was said before: from there, pi knows the id of the session.
func resumePi(c Course) (Resumed, error) {
	head := c.headerOf()
	text, err := json.Marshal(head)
	if err != nil {
		return Resumed{}, fmt.Errorf("the header of the session: %w", err)
	}
	text = append(append(text, '\n'), relinkPi(c)...)
	file, err := piFile(c.Env, head)
	if err != nil {
		return Resumed{}, err
	}
	prompt := c.Prompt
	if strings.HasPrefix(prompt, "-") || strings.HasPrefix(prompt, "@") {
		prompt = " " + prompt // pi takes such an argument for an option or a file
	}
	return Resumed{File: file, Size: int64(len(text)), Command: withPrompt(prompt, Pi, "--session", file)}, writeConversation(file, text)
}

// relinkPi returns the rewritten lines without headers of a session, each with a line feed. pi writes the first lines of a session twice if
// the session was resumed before its first answer: the second copy is left out.
func relinkPi(c Course) []byte {
	var out []byte
	nodes := newNodes()
	for _, l := range c.Lines {
		text := c.rewrite(l.Text)
		var node struct {
			Type   string  `json:"type"`
			ID     string  `json:"id"`
			Parent *string `json:"parentId"`
		}
		if json.Unmarshal([]byte(text), &node) == nil {
			if node.Type == "session" || nodes.seen[node.ID] {
				continue
			}
			text = nodes.add(text, "parentId", node.ID, node.Parent)
		}
		out = append(append(out, text...), '\n')
	}
	return out
}
