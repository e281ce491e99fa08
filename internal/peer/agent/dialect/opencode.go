package dialect

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	_ "embed" // the program
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/internal/lazyregexp"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// Opencode is the name of opencode.
const Opencode = "opencode"

//go:embed programs/opencode.js
var opencodeProgram string

// opencode is how opencode speaks. It keeps its conversations in a database, so the program of ours keeps them as files of lines.
var opencode = Dialect{
	Name: Opencode, Parse: parseOpencode, Read: readOpencode, Resume: resumeOpencodeAs(Opencode), NewSession: newOpencodeSession,
	WithoutImages: slimOpencode, NamesFiles: true, Variable: "OPENCODE",
	Headless: opencodeHeadless,
	Hooks:    &Hooks{File: ".opencode/plugin/git-smithers.js", User: UserFile{"XDG_CONFIG_HOME", ".config", "opencode/plugin/git-smithers.js"}, Program: opencodeProgram},
}

// opencodeReaders lists opencode's tools that never change a file.
var opencodeReaders = map[string]bool{
	"read": true, "grep": true, "glob": true, "list": true, "lsp": true, "webfetch": true, "websearch": true, "codesearch": true,
	"question": true, "skill": true, "todoread": true,
}

// parseOpencode is Parse of opencode. The calls of a subagent are in no file of ours, so the event itself ends them: the program tells
// of no call that failed.
func parseOpencode(name string, input []byte) (Event, error) {
	ev, err := parseProgram(name, input)
	for i := range ev.Calls {
		call := &ev.Calls[i]
		call.ReadOnly = opencodeReaders[call.Tool]
		if ev.Subagent != "" {
			call.Result = &Result{ID: call.ID}
		}
	}
	return ev, err
}

// The types of the lines that the program writes. A later line about a session, a message or a part replaces the earlier ones.
const (
	opencodeSession        = "session"
	opencodeMessage        = "message"
	opencodePart           = "part"
	opencodeMessageRemoved = "message.removed"
	opencodePartRemoved    = "part.removed"
)

// opencodeLine has the members that this package reads of a line of the program.
type opencodeLine struct {
	Type      string       `json:"type"`
	Role      string       `json:"role"` // of the part's message
	Info      opencodeInfo `json:"info"`
	Part      opencodeBit  `json:"part"`
	MessageID string       `json:"messageID"`
	PartID    string       `json:"partID"`
}

// opencodeInfo has members of a session or of a message.
type opencodeInfo struct {
	ID        string `json:"id"`
	Directory string `json:"directory"`
	Role      string `json:"role"`
	Model     string `json:"modelID"`
	Path      struct {
		Folder string `json:"cwd"`
	} `json:"path"`
	Time struct {
		Created   float64 `json:"created"`
		Completed float64 `json:"completed"`
	} `json:"time"`
	Cost   float64 `json:"cost"`
	Tokens struct {
		Input     int64 `json:"input"`
		Output    int64 `json:"output"`
		Reasoning int64 `json:"reasoning"`
		Cache     struct {
			Read  int64 `json:"read"`
			Write int64 `json:"write"`
		} `json:"cache"`
	} `json:"tokens"`
}

// opencodeBit has members of a part of a message.
type opencodeBit struct {
	ID        string       `json:"id"`
	MessageID string       `json:"messageID"`
	Type      string       `json:"type"`
	Text      string       `json:"text"`
	Synthetic bool         `json:"synthetic"` // opencode itself has written the text
	Ignored   bool         `json:"ignored"`   // the model does not hear the text
	Time      opencodeSpan `json:"time"`
	Tool      string       `json:"tool"`
	CallID    string       `json:"callID"`
	State     struct {
		Status   string          `json:"status"`
		Input    json.RawMessage `json:"input"`
		Output   string          `json:"output"`
		Error    string          `json:"error"` // in the place of Output
		Metadata struct {
			Exit json.RawMessage `json:"exit"`
		} `json:"metadata"`
		Time opencodeSpan `json:"time"`
	} `json:"state"`
}

// opencodeSpan is a span of time, in milliseconds since 1970.
type opencodeSpan struct {
	Start float64 `json:"start"`
	End   float64 `json:"end"`
}

// readOpencode is Read of opencode.
func readOpencode(text []byte) Facts {
	var line opencodeLine
	if decode(text, &line) != nil {
		return Facts{}
	}
	switch line.Type {
	case opencodeSession:
		return Facts{Header: true, AtMs: int64(line.Info.Time.Created), Folder: line.Info.Directory, Session: line.Info.ID}
	case opencodeMessage:
		return line.Info.facts()
	case opencodePart:
		return line.Part.facts(line.Role)
	case opencodeMessageRemoved:
		return Facts{Undo: &Undo{Message: line.MessageID}}
	case opencodePartRemoved:
		return Facts{Answers: true} // a cut before the next prompt keeps the line
	}
	return Facts{}
}

// facts returns what the line of a message says. The tokens are known when the message is complete. A copy has the time of the message, and another id.
func (m *opencodeInfo) facts() Facts {
	facts := Facts{Answers: m.Role == Assistant, AtMs: int64(m.Time.Created), Folder: m.Path.Folder, Part: m.ID}
	facts.ID = strconv.FormatInt(facts.AtMs, 10)
	if m.Role == Assistant && m.Time.Completed > 0 {
		facts.AtMs, facts.Message, facts.Model = int64(m.Time.Completed), m.ID, modelName(m.Model)
		facts.Usage = Usage{
			Cost: roundCost(m.Cost), Input: m.Tokens.Input, Output: m.Tokens.Output + m.Tokens.Reasoning, CacheRead: m.Tokens.Cache.Read,
			CacheCreation: m.Tokens.Cache.Write,
		}
	}
	return facts
}

// facts returns what the line of a part says. role is the role of its message.
func (p *opencodeBit) facts(role string) Facts {
	facts := Facts{Answers: role == Assistant, AtMs: int64(p.Time.End), Part: p.MessageID}
	switch {
	case p.Type == "text" && p.Text != "" && !p.Synthetic && !p.Ignored && (role == User || role == Assistant):
		facts.Said = []Saying{{Role: role, Text: p.Text}}
	case p.Type == "tool" && p.CallID != "" && p.Tool != "":
		facts.Answers, facts.AtMs = true, int64(p.State.Time.End)
		facts.Begun = []Call{{ID: p.CallID, Tool: p.Tool, Input: p.State.Input, ReadOnly: opencodeReaders[p.Tool]}}
		exit := string(p.State.Metadata.Exit)
		failed := p.State.Status == "error" || exit != "" && exit != "0" && exit != "null"
		facts.Ended = []Result{{ID: p.CallID, Failed: failed, Output: cmp.Or(p.State.Output, p.State.Error)}}
		if p.Tool == "todowrite" && p.State.Status == "completed" {
			facts.Todos = claudeTodos(p.State.Input)
		}
	}
	return facts
}

// slimOpencode returns the line of a part with a note in the place of each file in it, or nil if no file is in it.
func slimOpencode(text []byte) []byte {
	if !bytes.Contains(text, []byte(`"data:`)) {
		return nil
	}
	var line map[string]any
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if dec.Decode(&line) != nil {
		return nil
	}
	part, _ := line["part"].(map[string]any)
	changed := false
	if note, ok := noteOfFile(part); ok {
		line["part"] = map[string]any{
			"id": part["id"], "messageID": part["messageID"], "sessionID": part["sessionID"], "type": "text", "text": note, "synthetic": true,
		}
		changed = true
	}
	state, _ := part["state"].(map[string]any)
	files, _ := state["attachments"].([]any)
	kept := []any{}
	for _, file := range files {
		attachment, _ := file.(map[string]any)
		note, ok := noteOfFile(attachment)
		if !ok {
			kept = append(kept, file)
			continue
		}
		output, _ := state["output"].(string)
		state["output"], changed = strings.TrimPrefix(output+"\n"+note, "\n"), true
	}
	if !changed {
		return nil
	}
	if files != nil {
		state["attachments"] = kept
	}
	slim, err := json.Marshal(line)
	if err != nil {
		return nil
	}
	return slim
}

// noteOfFile returns the note that stands for a part with a whole file in it, or false if the part has none.
func noteOfFile(part map[string]any) (string, bool) {
	url, _ := part["url"].(string)
	head, data, found := strings.Cut(url, ",")
	if part["type"] != "file" || !found || !strings.HasPrefix(head, "data:") {
		return "", false
	}
	content := []byte(data)
	if strings.HasSuffix(head, ";base64") {
		if decoded, err := base64.StdEncoding.DecodeString(data); err == nil {
			content = decoded
		}
	}
	mime, _ := part["mime"].(string)
	return fmt.Sprintf("[a file that was not kept: %s, %d bytes, SHA-256 %x]", mime, len(content), sha256.Sum256(content)), true
}

// newOpencodeSession is NewSession of opencode. Its ids sort by time, the newest first.
func newOpencodeSession() string {
	const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	var tail [14]byte
	_, _ = rand.Read(tail[:]) // never fails
	for i, b := range tail {
		tail[i] = digits[int(b)%len(digits)]
	}
	now := time.Now().UnixMilli()              //nolint:forbidigo // opencode has the time in the id
	at := ^(uint64(now)<<12 | 1) & (1<<48 - 1) //nolint:gosec // a time after 1970
	return fmt.Sprintf("ses_%012x%s", at, tail[:])
}

// opencodeFolder returns the folder of the files that the program writes for the agent with the name.
func opencodeFolder(env []string, name string) (string, error) {
	data, _ := gitexec.LookupEnv(env, "XDG_DATA_HOME")
	if data == "" {
		home, _ := gitexec.LookupEnv(env, "HOME")
		if home == "" {
			return "", fault.New(fault.Usage, "HOME is not set, so the folder of %s is unknown", name)
		}
		data = filepath.Join(home, ".local", "share")
	}
	return filepath.Join(data, name, "git-smithers"), nil
}

// resumeOpencodeAs returns Resume of opencode, or of a fork of it with the name. `opencode import` puts the conversation into the database. The
// program goes on with the file of lines.
func resumeOpencodeAs(name string) func(Course) (Resumed, error) {
	return func(c Course) (Resumed, error) {
		dir, err := opencodeFolder(c.Env, name)
		if err != nil {
			return Resumed{}, err
		}
		session := newOpencodeCourse(c)
		document, err := session.document()
		if err != nil {
			return Resumed{}, fault.New(fault.InvalidInput, "the conversation: %w", err)
		}
		document = append(document, '\n')
		out := Resumed{File: filepath.Join(dir, c.Session+".json"), Size: int64(len(session.lines))}
		goOn := name + ` import "$1" && exec ` + name + ` --session "$2"`
		if c.Prompt != "" {
			// As an argument, opencode would put a prompt of several words in quotation marks. Its terminal program takes no prompt for a
			// session that has begun.
			goOn = name + ` import "$1" && printf %s "$3" | ` + name + ` run --session "$2"`
		}
		out.Command = withPrompt(c.Prompt, "sh", "-c", goOn, name, out.File, c.Session)
		lines := filepath.Join(dir, c.Session+".jsonl")
		out.More = []string{lines}
		if err := writeConversation(out.File, document); err != nil {
			return out, err
		}
		return out, writeConversation(lines, session.lines)
	}
}

// object is an object of JSON whose members are kept as they are.
type object map[string]json.RawMessage

// set sets a member.
func (o object) set(name string, value any) {
	o[name], _ = json.Marshal(value) //nolint:errchkjson // texts and numbers
}

// opencodeCourse is a conversation as another session of opencode.
type opencodeCourse struct {
	course   Course
	lines    []byte // the rewritten lines
	info     object // of the session
	order    []string
	messages map[string]*opencodeTurn // by the messages' ids
}

// opencodeTurn is a message with its parts.
type opencodeTurn struct {
	info     object
	order    []string // the ids of the parts
	parts    map[string]object
	open     bool    // the message is the model's, and not complete
	lastedTo float64 // the end of the last call
}

// newOpencodeCourse reads the lines of a course.
func newOpencodeCourse(c Course) *opencodeCourse {
	s := &opencodeCourse{course: c, messages: make(map[string]*opencodeTurn)}
	s.info = make(object)
	for _, l := range c.Lines {
		text := renameOpencode(c.Session, c.rewrite(l.Text))
		s.lines = append(append(s.lines, text...), '\n')
		s.take([]byte(text))
	}
	return s
}

// opencodeID matches the id of a message or of a part, as a whole text of JSON.
var opencodeID = lazyregexp.New(`"(?:msg|prt)_[0-9a-f]{12}[0-9A-Za-z]{14}"`)

// renameOpencode returns a line with other ids of messages and parts: an import leaves out what has an id that the database knows.
// An id begins with the time, so that the order stays.
func renameOpencode(session, line string) string {
	const kept = len(`"msg_`) + 12
	return opencodeID.ReplaceAllStringFunc(line, func(id string) string {
		sum := sha256.Sum256([]byte(session + id))
		return id[:kept] + hex.EncodeToString(sum[:7]) + `"`
	})
}

// take takes in a line.
func (s *opencodeCourse) take(text []byte) {
	var line opencodeLine
	var whole struct{ Info, Part object }
	if json.Unmarshal(text, &line) != nil || json.Unmarshal(text, &whole) != nil {
		return
	}
	switch line.Type {
	case opencodeSession:
		s.info = whole.Info
	case opencodeMessage:
		m := s.message(line.Info.ID)
		m.info, m.open = whole.Info, line.Info.Role == Assistant && line.Info.Time.Completed == 0
	case opencodePart:
		m := s.message(line.Part.MessageID)
		if m.parts[line.Part.ID] == nil {
			m.order = append(m.order, line.Part.ID)
		}
		m.parts[line.Part.ID] = whole.Part
		m.lastedTo = max(m.lastedTo, line.Part.State.Time.End)
	case opencodeMessageRemoved:
		delete(s.messages, line.MessageID)
	case opencodePartRemoved:
		delete(s.message(line.MessageID).parts, line.PartID)
	}
}

// message returns the message with the id.
func (s *opencodeCourse) message(id string) *opencodeTurn {
	m := s.messages[id]
	if m == nil {
		m = &opencodeTurn{parts: make(map[string]object)}
		s.messages[id] = m
		s.order = append(s.order, id)
	}
	return m
}

// opencodeExport is what `opencode import` reads.
type opencodeExport struct {
	Info     object          `json:"info"`
	Messages []opencodeEntry `json:"messages"`
}

// opencodeEntry is a message in an opencodeExport.
type opencodeEntry struct {
	Info  object   `json:"info"`
	Parts []object `json:"parts"`
}

// document returns the file for `opencode import`.
func (s *opencodeCourse) document() ([]byte, error) {
	now := time.Now() //nolint:forbidigo // opencode lists its sessions by their times
	for name, value := range map[string]any{
		"slug": "what-if", "projectID": "global", "version": "0", "directory": s.course.Dir,
		// opencode gives such a session a title of its own.
		"title": "New session - " + now.UTC().Format("2006-01-02T15:04:05.000Z"),
	} {
		if s.info[name] == nil {
			s.info.set(name, value)
		}
	}
	s.info.set("id", s.course.Session)
	s.info.set("time", map[string]int64{"created": now.UnixMilli(), "updated": now.UnixMilli()})
	out := opencodeExport{Info: s.info, Messages: []opencodeEntry{}}
	for _, id := range s.order {
		m := s.messages[id]
		if m == nil || m.info == nil {
			continue // it was removed, or began before the recording
		}
		delete(s.messages, id) // the id can be in the order twice
		out.Messages = append(out.Messages, m.entry())
	}
	return json.Marshal(out)
}

// entry returns the message as an import has it. A message that was cut ends with its last call.
func (m *opencodeTurn) entry() opencodeEntry {
	if m.open {
		var at opencodeInfo
		whole, _ := json.Marshal(m.info) //nolint:errchkjson // it was decoded
		_ = json.Unmarshal(whole, &at)   // it was decoded before
		m.info.set("finish", "tool-calls")
		m.info.set("time", map[string]float64{"created": at.Time.Created, "completed": max(at.Time.Created, m.lastedTo)})
	}
	entry := opencodeEntry{m.info, []object{}}
	for _, id := range m.order {
		part := m.parts[id]
		delete(m.parts, id)
		if part == nil || string(part["type"]) == `"patch"` || string(part["type"]) == `"snapshot"` {
			continue // it names a snapshot of the former folder
		}
		delete(part, "snapshot")
		entry.Parts = append(entry.Parts, part)
	}
	return entry
}
