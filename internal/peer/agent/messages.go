package agent

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/peer/agent/dialect"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// The roles of messages.
const (
	roleUser      = "user"
	roleAssistant = "assistant"
	roleTool      = "tool"
)

// Chat is the conversation of a session in the form in which chat models are trained.
type Chat struct {
	Session  string    `json:"session_id"` // the agent's own id
	Agent    string    `json:"agent"`
	Run      string    `json:"run"`
	Messages []Message `json:"messages"` // never nil
}

// Message is a message of a Chat.
type Message struct {
	Role    string     `json:"role"`
	Content *string    `json:"content"` // nil if the model has called tools and said nothing
	Calls   []ChatCall `json:"tool_calls,omitempty"`
	CallID  string     `json:"tool_call_id,omitempty"` // of a result
	Within  bool       `json:"-"`                      // the user said it within a turn
}

// ChatCall is a tool call in a Message.
type ChatCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"` // always "function"
	Function ChatFunction `json:"function"`
}

// ChatFunction is what a ChatCall calls.
type ChatFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"` // JSON
}

// Messages returns the conversation of a session up to an entry. Secrets stay placeholders. If the agent's lines say nothing, the
// messages are the prompts and the answers. Code: invalid_input if the run is not a session.
func Messages(at *timeline.LoadedEntry) (*Chat, error) {
	mem, speaks, err := sessionAt(at)
	if err != nil {
		return nil, err
	}
	rows, err := at.Entry.Transcript()
	if err != nil {
		return nil, timeline.Explain(err)
	}
	lines, _, err := mem.storedLines(rows, speaks, nil)
	if err != nil {
		return nil, err
	}
	var j chatJob
	for _, line := range lines {
		if !line.Aside {
			j.take(line)
		}
	}
	chat := &Chat{mem.session(), mem.Agent, at.Address.Run, j.messages()}
	if len(chat.Messages) > 0 {
		return chat, nil
	}
	state, err := at.Entry.State()
	if err == nil {
		chat.Messages, err = promptMessages(state, mem.Turn)
	}
	return chat, timeline.Explain(err)
}

// promptMessages returns the prompts and the answers of the first turns.
func promptMessages(state *snapshot.State, turns int) ([]Message, error) {
	messages := []Message{}
	for turn := 1; turn <= turns; turn++ {
		prompt, answer, err := PromptOf(state, turn)
		if err != nil {
			return nil, err
		}
		if prompt != "" {
			messages = append(messages, Message{Role: roleUser, Content: &prompt})
		}
		if answer != "" {
			messages = append(messages, Message{Role: roleAssistant, Content: &answer})
		}
	}
	return messages, nil
}

// chatJob collects the messages of a conversation.
type chatJob struct {
	parts []*chatPart
	of    map[string]*chatPart // by the ids of calls
	queue queue[string]
	heard map[string]int // words that came out of the queue, and how often no line has said them
}

// chatPart is a message of the user, or one of the model with the results of its calls: the form wants the results right behind the
// message, although agents write a result as soon as it is there.
type chatPart struct {
	role    string
	within  bool   // it is of the user, and begins no turn
	id      string // of the message; "" if unknown
	texts   []string
	calls   []dialect.Call
	results map[string]dialect.Result
}

// take takes in a line.
func (j *chatJob) take(line dialect.Line) {
	var prompt *chatPart
	if heard, ok := j.queue.take(line, queuedIn(line)); ok {
		if j.heard == nil {
			j.heard = make(map[string]int)
		}
		j.heard[heard]++
		j.parts = append(j.parts, &chatPart{role: roleUser, texts: []string{heard}, within: true})
	}
	for _, said := range line.Said {
		part := prompt
		switch {
		case said.Local:
			if strings.HasPrefix(said.Text, "!") { // the model reads it with the next prompt
				j.parts = append(j.parts, &chatPart{role: roleUser, texts: []string{said.Text}, within: true})
			}
			continue
		case said.Beside && j.heard[said.Text] > 0:
			j.heard[said.Text]--
			continue
		case said.Role != dialect.User:
			part = j.part(line)
		case part == nil:
			part = j.promptPart(line)
			prompt, part.within = part, said.Beside
		}
		part.say(line, said.Text)
	}
	for _, call := range line.Begun {
		if j.of[call.ID] != nil || call.ID == "" {
			continue
		}
		part := j.part(line)
		part.calls = append(part.calls, call)
		if j.of == nil {
			j.of = make(map[string]*chatPart)
		}
		j.of[call.ID] = part
	}
	for _, result := range line.Ended {
		if part := j.of[result.ID]; part != nil {
			part.results[result.ID] = result
		}
	}
}

// say adds a text. Some agents write a part of a message again.
func (p *chatPart) say(line dialect.Line, text string) {
	if messageOf(line) == "" || !slices.Contains(p.texts, text) {
		p.texts = append(p.texts, text)
	}
}

// messageOf returns the id of the message that a line is a part of, or "" if the line does not say it.
func messageOf(line dialect.Line) string { return cmp.Or(line.Part, line.Message) }

// promptPart returns the user's message that the line is a part of.
func (j *chatJob) promptPart(line dialect.Line) *chatPart {
	id := messageOf(line)
	if len(j.parts) > 0 && id != "" {
		if last := j.parts[len(j.parts)-1]; last.role == roleUser && last.id == id {
			return last
		}
	}
	part := &chatPart{role: roleUser, id: id}
	j.parts = append(j.parts, part)
	return part
}

// part returns the model's message that the line is a part of. A line without the id of an answer goes on with the message before,
// as long as this has no result yet.
func (j *chatJob) part(line dialect.Line) *chatPart {
	id := messageOf(line)
	if len(j.parts) > 0 {
		last := j.parts[len(j.parts)-1]
		if last.role == roleAssistant && last.id == id && (id != "" || len(last.results) == 0) {
			return last
		}
	}
	part := &chatPart{role: roleAssistant, id: id, results: make(map[string]dialect.Result)}
	j.parts = append(j.parts, part)
	return part
}

// messages returns the messages. A call without a result is left out: no model accepts one.
func (j *chatJob) messages() []Message {
	messages := []Message{}
	for _, part := range j.parts {
		part.calls = slices.DeleteFunc(part.calls, func(c dialect.Call) bool { _, ended := part.results[c.ID]; return !ended })
		message := Message{Role: part.role, Within: part.within}
		if len(part.texts) > 0 {
			text := strings.Join(part.texts, betweenTexts)
			message.Content = &text
		}
		for _, call := range part.calls {
			message.Calls = append(message.Calls, ChatCall{call.ID, "function", ChatFunction{call.Tool, argumentsOf(call.Input)}})
		}
		if message.Content == nil && message.Calls == nil {
			continue
		}
		messages = append(messages, message)
		for _, call := range part.calls {
			output := part.results[call.ID].Output
			messages = append(messages, Message{Role: roleTool, Content: &output, CallID: call.ID})
		}
	}
	return messages
}

// argumentsOf returns the input of a call as JSON, an empty object if it is unknown.
func argumentsOf(input json.RawMessage) string {
	if len(input) == 0 {
		return "{}"
	}
	return string(input)
}
