package dialect

import (
	"encoding/json"
	"slices"
	"strings"
)

// claudeOwnWords lists how texts begin that Claude Code itself writes in the name of the user.
var claudeOwnWords = []string{"<task-notification>", "<local-command-stdout>", "<local-command-stderr>", "[Request interrupted by user"}

// claudeSaid returns what the texts of a line say, or nil if neither the user nor the model has said them: Claude Code writes
// summaries, notifications and words to subagents in the same form.
func claudeSaid(line *claudeLine, texts ...string) []Saying {
	if line.Meta || line.Compact || line.Aside || line.Type != User && line.Type != Assistant {
		return nil
	}
	var said []Saying
	for _, text := range texts {
		own := line.Type == User && slices.ContainsFunc(claudeOwnWords, func(begin string) bool { return strings.HasPrefix(text, begin) })
		if text != "" && !own {
			said = append(said, Saying{line.Type, text})
		}
	}
	return said
}

// textsOf returns the texts of a message's parts. The words beside the result of a tool are Claude Code's own, so that a message with
// a result has no texts.
func textsOf(blocks []claudeBlock) []string {
	var texts []string
	for _, b := range blocks {
		switch b.Type {
		case "tool_result":
			return nil
		case "text":
			texts = append(texts, b.Text)
		}
	}
	return texts
}

// textOf returns the text of a content: a JSON string, or a list of parts. Parts that are not texts, such as images, are left out.
func textOf(content json.RawMessage) string {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return text
	}
	var blocks []claudeBlock
	if json.Unmarshal(content, &blocks) != nil {
		return ""
	}
	return strings.Join(textsOf(blocks), "\n")
}
