package dialect

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/internal/lazyregexp"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// treeLine has the members that Claude Code and agents of its kind give each line of a conversation that is a tree.
type treeLine struct {
	Type    string `json:"type"`
	Subtype string `json:"subtype"`
	Time    string `json:"timestamp"`
	Folder  string `json:"cwd"`
	Session string `json:"sessionId"`
	Aside   bool   `json:"isSidechain"`
	ID      string `json:"uuid"`
	Parent  string `json:"parentUuid"`
	Forked  struct {
		Session string `json:"sessionId"`
	} `json:"forkedFrom"`
}

// facts returns what the members say. text is the whole line, and vendor means that it has only texts of the agent's vendor.
func (l *treeLine) facts(text []byte, vendor bool) Facts {
	facts := Facts{
		Vendor: vendor, Answers: l.Type == Assistant, AtMs: timeOf(l.Time), Session: l.Session, Folder: l.Folder, Aside: l.Aside,
		ForkOf: l.Forked.Session, Copied: l.Forked.Session != "",
	}
	if l.ID == "" {
		return facts
	}
	if facts.Link = (&Link{ID: l.ID, Parent: l.Parent}); vendor { // later lines can follow it
		stub := map[string]string{"parentUuid": l.Parent, "type": l.Type, "uuid": l.ID}
		if l.Subtype != "" {
			stub["subtype"] = l.Subtype
		}
		facts.Slim, _ = json.Marshal(stub) //nolint:errchkjson // texts
		facts.LeftOut = bytes.Equal(facts.Slim, text)
	}
	return facts
}

// treeFile is where an agent looks for the conversation of a session, and how it goes on.
type treeFile struct {
	agent, title string
	home         UserFile
	chats        string // the folder of the conversations in a project's folder
	// start returns a command that begins with a prompt.
	start func(prompt string, command ...string) []string
	// left lists the types of lines that another session does not have.
	left map[string]bool
}

// noLetters matches what such agents replace in the name of a project's folder.
var noLetters = lazyregexp.New(`[^a-zA-Z0-9]`)

// resume is Resume of the agent. A line whose parent was not kept follows the line before it.
func (f treeFile) resume(c Course) (Resumed, error) {
	out := Resumed{Command: f.start(c.Prompt, f.agent, "--session-id", c.Session)}
	if len(c.Lines) == 0 {
		return out, nil
	}
	home, err := f.home.folder(c.Env, f.title)
	if err != nil {
		return out, err
	}
	text := f.relink(c)
	file := filepath.Join(home, "projects", noLetters.ReplaceAllString(c.Dir, "-"), f.chats, c.Session+".jsonl")
	out = Resumed{File: file, Size: int64(len(text)), Command: f.start(c.Prompt, f.agent, "--resume", c.Session)}
	return out, writeConversation(file, text)
}

// relink returns the rewritten lines, each with a line feed.
func (f treeFile) relink(c Course) []byte {
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
			if f.left[node.Type] {
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

// folder returns the folder of u for the agent with the name title. Code: usage if the environment names none.
func (u UserFile) folder(env []string, title string) (string, error) {
	if folder, _ := gitexec.LookupEnv(env, u.Variable); folder != "" {
		return folder, nil
	}
	home, _ := gitexec.LookupEnv(env, "HOME")
	if home == "" {
		return "", fault.New(fault.Usage, "HOME is not set, so %s's folder is unknown", title)
	}
	return filepath.Join(home, filepath.FromSlash(u.Folder)), nil
}
