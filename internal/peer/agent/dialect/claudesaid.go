package dialect

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/plain"
)

// claudeOwnWords lists how texts begin that Claude Code itself writes in the name of the user.
var claudeOwnWords = []string{
	"<task-notification>", "<local-command-stdout>", "<local-command-stderr>", "<local-command-caveat>", "[Request interrupted by user",
	"<bash-stdout>", "<bash-stderr>", "<system-reminder>", "<ide_opened_file>", "<ide_selection>",
}

// claudeOwn reports whether Claude Code itself has written a text in the name of the user.
func claudeOwn(text string) bool {
	return slices.ContainsFunc(claudeOwnWords, func(begin string) bool { return strings.HasPrefix(text, begin) })
}

// claudeSaid returns what the texts of a line say, or nil if neither the user nor the model has said them: Claude Code writes
// summaries, notifications and words to subagents in the same form. beside means that the line has the result of a call: Claude Code writes words
// of its own there, too, in tags.
func claudeSaid(line *claudeLine, beside bool, texts ...string) []Saying {
	if line.Meta || line.Compact || line.Aside || line.Type != User && line.Type != Assistant {
		return nil
	}
	var said []Saying
	for _, text := range texts {
		if strings.TrimSpace(text) == "" || line.Type == User && claudeOwn(text) || beside && strings.HasPrefix(text, "<") {
			continue
		}
		saying := Saying{Role: line.Type, Text: text, Beside: beside}
		if line.Type == User && !beside {
			saying.Text, saying.Local = asTyped(text)
		}
		said = append(said, saying)
	}
	return said
}

// asTyped returns a text of the user as the user typed it: Claude Code writes commands in tags. local reports whether Claude Code did it itself: a
// command of the shell, or one of its own commands, which begin with their name. A command that is a prompt begins with its message.
func asTyped(text string) (typed string, local bool) {
	if command, ok := tagged(text, "bash-input"); ok && strings.HasPrefix(text, "<bash-input>") {
		return "!" + command, true
	}
	name, ok := tagged(text, "command-name")
	if !ok || !strings.HasPrefix(text, "<command-name>") && !strings.HasPrefix(text, "<command-message>") {
		return text, false
	}
	typed = name
	if args, ok := tagged(text, "command-args"); ok && args != "" {
		typed += " " + args
	}
	return typed, strings.HasPrefix(text, "<command-name>")
}

// tagged returns the text between a tag and its end.
func tagged(text, tag string) (string, bool) {
	_, after, found := strings.Cut(text, "<"+tag+">")
	inside, _, ended := strings.Cut(after, "</"+tag+">")
	return strings.TrimSpace(inside), found && ended
}

// imagesIn says for a prompt without words how many images it has.
func imagesIn(blocks []claudeBlock) string { return "[" + plain.Count(len(blocks), "image") + "]" }

// textsOf returns the texts of a message's parts.
func textsOf(blocks []claudeBlock) []string {
	var texts []string
	for _, b := range blocks {
		if b.Type == "text" {
			texts = append(texts, b.Text)
		}
	}
	return texts
}

// textOf returns the text of a content: a JSON string, or a list of parts. Parts that are not texts, such as images, are left out.
func textOf(content json.RawMessage) string {
	var text string
	if decodeText(content, &text) {
		return text
	}
	var blocks []claudeBlock
	if json.Unmarshal(content, &blocks) != nil {
		return ""
	}
	return strings.Join(textsOf(blocks), "\n")
}
