package dialect

import (
	"bytes"
	"encoding/json"
)

// unfoldGemini returns the lines of a session that an older Gemini CLI wrote as one JSON document, or nil for another file. The lines are those of
// newer versions: the session without its messages, then each message. A message with words and calls is two lines, as there.
func unfoldGemini(file []byte) []byte {
	first, rest, _ := bytes.Cut(file, []byte{'\n'})
	if len(bytes.TrimSpace(rest)) > 0 && json.Valid(first) {
		return nil // each line is a value of its own
	}
	var session map[string]json.RawMessage
	if json.Unmarshal(file, &session) != nil || session["sessionId"] == nil {
		return nil
	}
	var messages []map[string]json.RawMessage
	if json.Unmarshal(session["messages"], &messages) != nil {
		return nil
	}
	delete(session, "messages")
	var out bytes.Buffer
	write := func(value any) {
		text, _ := json.Marshal(value) //nolint:errchkjson // it was JSON
		out.Write(append(text, '\n'))
	}
	write(session)
	for _, m := range messages {
		if calls := m["toolCalls"]; len(calls) > 0 {
			delete(m, "toolCalls")
			write(m)
			m["toolCalls"] = calls
		}
		write(m)
	}
	return out.Bytes()
}
