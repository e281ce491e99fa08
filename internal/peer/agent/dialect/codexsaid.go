package dialect

import (
	"encoding/json"
	"slices"
	"strings"
)

// codexOwnWords lists how texts begin that Codex CLI itself writes in the name of the user.
var codexOwnWords = []string{
	"<environment_context>", "<user_instructions>", "<INSTRUCTIONS>", "# AGENTS.md instructions", "<turn_aborted>", "<user_shell_command>",
	"<subagent_notification>", "<subagents>", "<skill>", "<plugins>", "<hook_prompt", "<image>", "<image name=", "</image>",
}

// codexContent is a part of a message or of a result.
type codexContent struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// said returns what a message says in words: the texts of the model, or those of a person. Newer versions of Codex CLI name the kind
// of each text; the texts of older versions are told apart by how they begin.
func (p *codexPayload) said() []Saying {
	var parts []codexContent
	if p.Type != "message" || p.Role != User && p.Role != Assistant || json.Unmarshal(p.Content, &parts) != nil {
		return nil
	}
	kinds := p.Passthrough.Kinds
	var said []Saying
	for i, part := range parts {
		switch {
		case part.Text == "":
		case p.Role == Assistant && part.Type == "output_text":
			said = append(said, Saying{Role: Assistant, Text: part.Text})
		case p.Role == User && part.Type == "input_text":
			kind := ""
			if len(kinds) == len(parts) && kinds[i] != "unknown" {
				kind = kinds[i]
			}
			if strings.HasPrefix(kind, "user.") || kind == "" && !isCodexOwn(part.Text) {
				said = append(said, Saying{Role: User, Text: part.Text})
			}
		}
	}
	return said
}

// isCodexOwn reports whether a text in the name of the user is of Codex CLI itself.
func isCodexOwn(text string) bool {
	text = strings.TrimSpace(text)
	return slices.ContainsFunc(codexOwnWords, func(begin string) bool { return strings.HasPrefix(text, begin) })
}

// input returns what a call asks its tool to do. A custom tool takes a text, which is the member input.
func (p *codexPayload) input() json.RawMessage {
	switch {
	case p.Type == "custom_tool_call" && p.Input != nil:
		input, _ := json.Marshal(map[string]json.RawMessage{"input": p.Input}) //nolint:errchkjson // it was decoded
		return input
	case p.Arguments == "":
		return p.Action
	case json.Valid([]byte(p.Arguments)):
		return json.RawMessage(p.Arguments)
	}
	text, _ := json.Marshal(p.Arguments) //nolint:errchkjson // a text: the model has written no JSON
	return text
}

// codexOutput returns the text of a call's output: a text, a list of parts, or an object with one of these as its content.
func codexOutput(output json.RawMessage) string {
	var text string
	if decodeText(output, &text) {
		return text
	}
	var parts []codexContent
	if json.Unmarshal(output, &parts) == nil {
		var texts []string
		for _, part := range parts {
			if part.Text != "" {
				texts = append(texts, part.Text)
			}
		}
		return strings.Join(texts, "\n")
	}
	var whole struct {
		Content json.RawMessage `json:"content"`
	}
	if json.Unmarshal(output, &whole) != nil || len(whole.Content) == 0 {
		return ""
	}
	return codexOutput(whole.Content)
}
