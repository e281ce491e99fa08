// Package modeltest is a model for tests of real coding agents. It answers from a script. What it answers follows from the request alone,
// so that a cut conversation is answered as a whole one.
//
// It speaks Anthropic's Messages API, OpenAI's Responses and Chat Completions APIs, and Gemini's API, each as much as the agents need.
package modeltest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// Rule is what the model answers to a prompt with the text Match: one step after the other, the next with each round of results of
// tools.
type Rule struct {
	Match string
	Steps []Step
}

// Aside is the Match of the rule for requests without tools, by which agents make titles and summaries.
const Aside = "(without tools)"

// Step is an answer: a text and calls of tools.
type Step struct {
	Text  string
	Calls []Call
	// Tokens is the size of the conversation, as the Chat Completions API says it, in tokens; 10 if it is 0.
	Tokens int
}

// Call is a call of a tool.
type Call struct {
	Name  string
	Input json.RawMessage
}

// Model is a server of a model.
type Model struct {
	rules []Rule
	log   io.Writer
	mu    sync.Mutex
	calls int
}

// Heard is what the log has of each request with tools, as a line of JSON.
type Heard struct {
	Said   []string // the matches of the prompts, in their order
	Items  int      // the parts of the conversation
	Rounds int      // the rounds of results since the newest prompt
}

// New returns a model with the script in a file: a list of rules as JSON. It appends to the log what it hears.
func New(script, log string) (*Model, error) {
	data, err := os.ReadFile(script)
	if err != nil {
		return nil, err
	}
	m := new(Model)
	if err := json.Unmarshal(data, &m.rules); err != nil {
		return nil, err
	}
	m.log, err = os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	return m, err
}

// item is a part of a conversation.
type item struct {
	role string // "user", "tool" for results of tools, or anything else
	text string
}

// dialect is an API of models.
type dialect struct {
	suffix string // of the path
	stream func(r *http.Request, asks bool) bool
	read   func(body map[string]any) []item
	write  func(out answer, id string, step Step)
}

// asked returns what the request itself says about streaming.
func asked(_ *http.Request, asks bool) bool { return asks }

// dialects lists the APIs.
var dialects = []dialect{
	{"/messages", asked, readMessages, writeMessages},
	{"/responses", asked, readResponses, writeResponses},
	{"/chat/completions", asked, readChat, writeChat},
	{":generateContent", func(*http.Request, bool) bool { return false }, readGemini, writeGemini},
	{":streamGenerateContent", func(*http.Request, bool) bool { return true }, readGemini, writeGemini},
}

// ServeHTTP answers a request. A request without tools is answered with "ok", or the first step of the rule for it.
func (m *Model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body map[string]any
	_ = json.NewDecoder(r.Body).Decode(&body)
	for _, d := range dialects {
		if !strings.HasSuffix(r.URL.Path, d.suffix) {
			continue
		}
		step := Step{Text: "ok"}
		if i := slices.IndexFunc(m.rules, func(r Rule) bool { return r.Match == Aside }); i >= 0 {
			step = m.rules[i].Steps[0]
		}
		if tools, _ := body["tools"].([]any); len(tools) > 0 {
			step = m.choose(d.read(body))
		}
		m.mu.Lock()
		m.calls++
		id := fmt.Sprintf("%d_%04d", time.Now().UnixMilli(), m.calls)
		m.mu.Unlock()
		asks, _ := body["stream"].(bool)
		d.write(answer{w, d.stream(r, asks)}, id, step)
		return
	}
	switch {
	case strings.HasSuffix(r.URL.Path, "count_tokens"), strings.HasSuffix(r.URL.Path, ":countTokens"):
		answer{w, false}.whole(object{"input_tokens": 100, "totalTokens": 100})
	case strings.HasSuffix(r.URL.Path, "/models"):
		answer{w, false}.whole(object{"object": "list", "data": []any{object{"id": "fake-1", "object": "model"}}, "models": []any{}})
	default:
		http.NotFound(w, r)
	}
}

// choose returns the step for a conversation, and notes in the log what was said.
func (m *Model) choose(items []item) Step {
	heard := Heard{Items: len(items), Said: []string{}}
	step := Step{Text: "ok"}
	for i, it := range items {
		if it.role == "tool" && (i == 0 || items[i-1].role != "tool") {
			heard.Rounds++
		}
		for _, rule := range m.rules {
			if it.role == "user" && strings.Contains(it.text, rule.Match) {
				heard.Said, heard.Rounds = append(heard.Said, rule.Match), 0
			}
		}
	}
	for _, rule := range m.rules {
		if len(heard.Said) == 0 || rule.Match != heard.Said[len(heard.Said)-1] {
			continue
		}
		step = Step{Text: "That is all."}
		if heard.Rounds < len(rule.Steps) {
			step = rule.Steps[heard.Rounds]
		}
	}
	line, _ := json.Marshal(heard)
	m.mu.Lock()
	defer m.mu.Unlock()
	_, _ = m.log.Write(append(line, '\n'))
	return step
}

// object is an object of JSON.
type object = map[string]any

// answer is where an answer goes.
type answer struct {
	w      http.ResponseWriter
	stream bool
}

// whole writes an answer as one document.
func (a answer) whole(v any) {
	a.w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(a.w).Encode(v)
}

// event writes an event of a stream. name can be "".
func (a answer) event(name string, v any) {
	a.w.Header().Set("Content-Type", "text/event-stream")
	data, _ := json.Marshal(v)
	if name != "" {
		_, _ = fmt.Fprintf(a.w, "event: %s\n", name)
	}
	_, _ = fmt.Fprintf(a.w, "data: %s\n\n", data)
	if f, ok := a.w.(http.Flusher); ok {
		f.Flush()
	}
}

// objects returns the objects in the list that is a member of an object.
func objects(of object, name string) []object {
	list, _ := of[name].([]any)
	var out []object
	for _, e := range list {
		if o, ok := e.(object); ok {
			out = append(out, o)
		}
	}
	return out
}

// textOf returns the member of an object: a text, or the texts of its parts.
func textOf(of object, name string) string {
	if text, ok := of[name].(string); ok {
		return text
	}
	var texts []string
	for _, part := range objects(of, name) {
		if text, ok := part["text"].(string); ok {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "\n")
}
