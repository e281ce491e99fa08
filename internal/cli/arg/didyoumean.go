package arg

import (
	"strings"

	"github.com/git-smithers/git-smithers/internal/plain"
)

// otherWords maps what people type, because another program calls it so, to the commands that do it here. They stay errors: a script must not
// depend on two names of one command. Of the commands, a hint names those that the group has. A name of a command is in no key.
var otherWords = map[string][]string{
	"abort": {"cancel"}, "apply": {"land"}, "back": {"travel", "undo"}, "brief": {"session replay"}, "checkout": {"restore", "travel"}, "clean": {"prune"}, "clone": {"fetch"},
	"continue": {"resume"}, "course": {"session what-if"}, "delete": {"prune", "remove"}, "describe": {"show"}, "disable": {"session disable", "cron disable"},
	"enable": {"session enable", "cron enable"}, "gc": {"prune"}, "hooks": {"session enable"}, "history": {"timeline"}, "info": {"show"}, "inspect": {"show"},
	"install": {"session enable"}, "kill": {"cancel"}, "lint": {"check"}, "list": {"runs"}, "log": {"timeline", "logs"}, "ls": {"runs", "list"},
	"merge": {"land"}, "ps": {"status", "runs"}, "pull": {"fetch"}, "reject": {"deny"}, "remove": {"prune"}, "rerun": {"replay"}, "retry": {"resume", "replay"},
	"rewind": {"travel", "restore"}, "rm": {"prune", "remove"}, "rollback": {"travel", "restore"}, "save": {"session checkpoint"}, "send": {"signal"},
	"sessions": {"runs --sessions"}, "setup": {"session enable"}, "start": {"run"}, "stats": {"metrics"}, "steps": {"timeline"}, "stop": {"cancel"}, "tail": {"logs"}, "timetravel": {"travel"}, "top": {"tui"},
	"ui": {"tui"}, "up": {"run", "resume"}, "update": {"fetch"}, "validate": {"check"}, "view": {"tui"}, "whatif": {"session what-if"},
}

// meant returns the command lines after the name of the program that a person may mean by a word that is not a command of the group c: those of
// otherWords, the command with the most similar name, or the command of that name in a group below.
func (c *Command) meant(word string) []string {
	var lines []string
	for _, line := range otherWords[strings.ToLower(word)] {
		if name, _, _ := strings.Cut(line, " "); c.Child(name) != nil {
			lines = append(lines, line)
		}
	}
	if len(lines) > 0 {
		return lines
	}
	var names []string
	for _, child := range c.visible() {
		names = append(names, child.Name)
	}
	if near, ok := plain.Nearest(word, names); ok {
		return []string{near}
	}
	if command := c.grandchild(word); command != "" {
		return []string{command}
	}
	return nil
}

// alternatives joins commands to "`git smithers a`, or `git smithers b`". command is the command line before each.
func alternatives(command string, lines []string) string {
	return "`" + command + " " + strings.Join(lines, "`, or `"+command+" ") + "`"
}
