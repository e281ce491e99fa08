package dialect

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
)

// Gemini is the name of Gemini CLI.
const Gemini = "gemini"

// gemini is how Gemini CLI speaks. Gemini CLI runs hooks unless a user has switched them off (hooksConfig.enabled), so no other
// setting is needed. The events of the model have the whole conversation in their inputs, and PreCompress comes before each request,
// so there are no hooks for them.
var gemini = Dialect{
	Name: Gemini, Parse: geminiHooks.parse, Read: readGemini, Unfold: unfoldGemini, Resume: resumeGemini, Variable: "GEMINI_CLI",
	Headless: geminiHeadless,
	Hooks: &Hooks{
		File: ".gemini/settings.json", OwnAtTop: true,
		User:   geminiHome,
		Events: []string{"SessionStart", "BeforeAgent", "AfterTool", "AfterAgent", "SessionEnd"},
		Entry:  entryOf("*", 1000), // Gemini CLI counts milliseconds
		Trust:  "Gemini CLI runs hooks only in a folder that you trust: say so when it asks, or by /permissions",
	},
}

// geminiReaders lists Gemini CLI's tools that never change a file.
var geminiReaders = map[string]bool{
	"read_file": true, "read_many_files": true, "list_directory": true, "glob": true, "grep_search": true, "search_file_content": true,
	"google_web_search": true, "web_fetch": true, "get_internal_docs": true, "list_mcp_resources": true, "read_mcp_resource": true,
	"ask_user": true, "update_topic": true, "write_todos": true,
}

// geminiHome is the folder with Gemini CLI's folder.
var geminiHome = UserFile{"GEMINI_CLI_HOME", "", ".gemini/settings.json"}

// geminiHooks is the schema of Gemini CLI's hooks. They have no ids of calls.
var geminiHooks = &schema{
	kinds: map[string]Kind{
		"SessionStart": Started, "BeforeAgent": Prompted, "AfterTool": Called, "AfterAgent": Answered, "SessionEnd": Ended,
	},
	readers: geminiReaders,
	fit: func(_ *hookInput, input []byte, ev *Event) {
		var in struct {
			Answer string          `json:"prompt_response"`
			Input  json.RawMessage `json:"tool_input"`
		}
		_ = decode(input, &in) // it was decoded before
		switch ev.Kind {
		case Answered:
			ev.Answer = in.Answer
		case Called:
			for i, call := range ev.Calls {
				ev.Calls[i].Alias = geminiAlias(call.Tool, in.Input)
			}
		case Ignored, Calling, Started, Prompted, Delegated, Compacting, Ended, Labelled:
		}
	},
}

// geminiAlias returns what stands for a call in hooks, which have no ids of calls: a digest of the tool and of its input.
func geminiAlias(tool string, input json.RawMessage) string {
	const size = 8 // bytes of the digest
	sum := sha256.Sum256(append([]byte(tool+"\x00"), canonical(input)...))
	return hex.EncodeToString(sum[:size])
}

// canonical returns JSON with sorted keys and without spaces. Text that is not JSON stays as it is.
func canonical(text json.RawMessage) []byte {
	value, err := decodeTree(text)
	if err != nil {
		return text
	}
	return encodeTree(value)
}

// decodeTree decodes JSON into maps, lists and strings. Numbers keep their digits.
func decodeTree(text []byte) (value any, err error) {
	in := json.NewDecoder(bytes.NewReader(text))
	in.UseNumber()
	err = in.Decode(&value)
	return value, err
}

// encodeTree encodes what decodeTree returned, with sorted keys.
func encodeTree(value any) []byte {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(value) //nolint:errchkjson // only maps, lists, strings and numbers
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

// geminiRecord has the members that this package reads of a line of Gemini CLI's file. A line is a record: the session, a message, a
// change of the session, or a way back to a message.
type geminiRecord struct {
	geminiMessage

	Session     string   `json:"sessionId"`
	Directories []string `json:"directories"`
	Rewind      *string  `json:"$rewindTo"`
	Set         *struct {
		Messages    []geminiMessage `json:"messages"` // replace all messages so far; nil if they stay
		Directories []string        `json:"directories"`
	} `json:"$set"`
}

// geminiMessage is a message of the conversation. A later message with the same id replaces the earlier: Gemini CLI writes an answer
// when it comes, and once more with the calls when these have ended.
type geminiMessage struct {
	ID      string          `json:"id"`
	Time    string          `json:"timestamp"`
	Type    string          `json:"type"` // user, gemini, or one that the model does not hear
	Content json.RawMessage `json:"content"`
	Calls   []geminiCall    `json:"toolCalls"`
	Model   string          `json:"model"`
	Tokens  *struct {
		Input    int64 `json:"input"` // with those of the cache
		Output   int64 `json:"output"`
		Cached   int64 `json:"cached"`
		Thoughts int64 `json:"thoughts"`
	} `json:"tokens"`
}

// geminiCall is a tool call of a message.
type geminiCall struct {
	ID     string          `json:"id"`
	Name   string          `json:"name"`
	Args   json.RawMessage `json:"args"`
	Result json.RawMessage `json:"result"` // a text, a part, or a list of parts
	Status string          `json:"status"`
	Time   string          `json:"timestamp"` // when the call ended
}

// readGemini is Read of Gemini CLI.
func readGemini(text []byte) Facts {
	var r geminiRecord
	if decode(text, &r) != nil {
		return Facts{}
	}
	facts := Facts{Slim: slimGemini(text), AtMs: timeOf(r.Time)}
	switch {
	case r.Rewind != nil:
		facts.Answers, facts.Undo = true, &Undo{From: *r.Rewind} // a cut before the next prompt keeps the way back
	case r.Set != nil:
		if r.Set.Messages != nil {
			facts.Undo = &Undo{All: true}
			facts.Summary = slices.ContainsFunc(r.Set.Messages, func(m geminiMessage) bool { return !m.isContext() })
		}
		facts.Folder = firstOf(r.Set.Directories)
		for _, m := range r.Set.Messages {
			facts.Answers = facts.Answers || m.Type == Gemini
			if folder := geminiFolder(m.text()); facts.Folder == "" {
				facts.Folder = folder
			}
		}
	case r.ID != "":
		r.read(&facts)
	case r.Session != "":
		facts.Header, facts.Folder, facts.Session = true, firstOf(r.Directories), r.Session
	}
	return facts
}

// read adds what a message says to the facts of its line.
func (m *geminiMessage) read(facts *Facts) {
	text := m.text()
	facts.Folder, facts.Part = geminiFolder(text), m.ID
	facts.Answers = m.Type == Gemini || m.hasResults()
	if m.Type == Gemini && m.Tokens != nil {
		t := m.Tokens
		facts.Message, facts.Model = m.ID, modelName(m.Model)
		facts.Usage = Usage{Input: max(0, t.Input-t.Cached), Output: t.Output + t.Thoughts, CacheRead: t.Cached}
	}
	for _, c := range m.Calls {
		if c.ID == "" || c.Name == "" {
			continue
		}
		facts.Begun = append(facts.Begun, Call{ID: c.ID, Tool: c.Name, Input: c.Args, Alias: geminiAlias(c.Name, c.Args), ReadOnly: geminiReaders[c.Name]})
		switch c.Status {
		case "success", "error", "cancelled":
			facts.Ended = append(facts.Ended, Result{ID: c.ID, Failed: c.Status != "success", AtMs: timeOf(c.Time), Output: geminiOutput(c.Result)})
		}
		if c.Name == "write_todos" {
			facts.Todos = claudeTodos(c.Args)
		}
	}
	switch {
	case text == "" || len(m.Calls) > 0 || m.isContext(): // a message with calls was written without them before
	case m.Type == Gemini:
		facts.Said = []Saying{{Role: Assistant, Text: text}}
	case m.Type == User:
		facts.Said = []Saying{{Role: User, Text: text}}
	}
}

// geminiOutput returns the texts of a call's result. A response that is no text is JSON.
func geminiOutput(result json.RawMessage) string {
	var texts []string
	for _, p := range geminiParts(result) {
		text := p.Text
		if p.Response != nil {
			text = p.Response.text()
		}
		if text != "" {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "\n")
}

// geminiResponse is the result of a call in a part.
type geminiResponse struct {
	ID       string          `json:"id"`
	Response json.RawMessage `json:"response"`
}

// outcome returns what the tool has answered, and how it has failed.
func (r *geminiResponse) outcome() (output, failure *string) {
	var response struct {
		Output *string `json:"output"`
		Error  *string `json:"error"`
	}
	_ = json.Unmarshal(r.Response, &response) // a response of another form is JSON for the reader
	return response.Output, response.Error
}

// failed reports whether the response is an error.
func (r *geminiResponse) failed() bool {
	output, failure := r.outcome()
	return output == nil && failure != nil
}

// text returns the response as a text.
func (r *geminiResponse) text() string {
	if output, failure := r.outcome(); output != nil || failure != nil {
		return *cmp.Or(output, failure)
	}
	return string(r.Response)
}

// geminiPart is a part of a message.
type geminiPart struct {
	Text     string          `json:"text"`
	Thought  json.RawMessage `json:"thought"`
	Response *geminiResponse `json:"functionResponse"`
	Call     *struct {
		ID   string          `json:"id"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	} `json:"functionCall"`
}

// said reports whether the text of the part was said, and is not a thought of the model.
func (p *geminiPart) said() bool { return p.Thought == nil || string(p.Thought) == "false" }

// parts returns the parts of a message.
func (m *geminiMessage) parts() []geminiPart { return geminiParts(m.Content) }

// geminiParts returns the parts of a content: a text, a part, or a list of parts.
func geminiParts(content json.RawMessage) []geminiPart {
	var text string
	if decodeText(content, &text) {
		return []geminiPart{{Text: text}}
	}
	var parts []geminiPart
	if json.Unmarshal(content, &parts) == nil {
		return parts
	}
	var part geminiPart
	if json.Unmarshal(content, &part) == nil {
		return []geminiPart{part}
	}
	return nil
}

// text returns what a message says in words, without the model's thoughts.
func (m *geminiMessage) text() string {
	var texts []string
	for _, p := range m.parts() {
		if p.Text != "" && p.said() {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// hasResults reports whether a message has results of calls.
func (m *geminiMessage) hasResults() bool {
	return slices.ContainsFunc(m.parts(), func(p geminiPart) bool { return p.Response != nil })
}

// isContext reports whether a message is of Gemini CLI itself: the model hears it, and a resumed session has another.
func (m *geminiMessage) isContext() bool {
	text := strings.TrimSpace(m.text())
	return strings.HasPrefix(text, geminiContext) || strings.HasPrefix(text, "<hook_context>")
}

// firstOf returns the first text, or "" if there is none.
func firstOf(texts []string) string {
	if len(texts) == 0 {
		return ""
	}
	return texts[0]
}
