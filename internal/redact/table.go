package redact

import (
	_ "embed" // for the table
	"strconv"
	"strings"
	"sync"
)

// table is the data of the rules. Its first lines describe its form.
//
//go:embed rules.txt
var table string

// checks are the functions that the table names.
var checks = map[string]func(secret []byte) bool{
	"basic": isUserPassword, "bearer": isBearer, "discord": isDiscordToken, "drawn": isDrawn, "example": notExample, "jwt": secretJWT, "mixed": mixed, "mixed-end": isMixedEnd, "password": isPassword,
	"random": isRandom, "said": isSaid, "sasl": isSASL, "scrambled": isScrambled, "session": isSession, "slack": slackToken, "strong": isStrong, "typed": isTyped, "unpublished": unpublished, "varied": variedEnd,
}

// letters replaces the names of alphabets in the patterns of the table.
var letters = sync.OnceValue(func() *strings.Replacer {
	return strings.NewReplacer("<B>", `[0-9A-Za-z]`, "<T>", `[0-9A-Za-z_-]`, "<H>", `[0-9a-f]`, "<S>", `[0-9A-Za-z+/]`)
})

// shape is a rule for secrets with a recognizable form, from the table. The search looks for a literal first, and tries the
// pattern only around it.
type shape struct {
	name     string
	literals []string // lower-case; each match of the pattern has one of them
	exact    string   // the literal as the pattern has it, or "" if it may have any case
	pattern  string   // of the view, with names of alphabets; group 1 is the secret if there is a group, otherwise the whole match
	back     int      // how many bytes of the view before the literal a match may begin; 0 means at the literal
	ahead    int      // how many bytes of the text after the literal the pattern may need; 0 means window
	spaced   bool     // white space follows the literal
	body     int      // how many bytes that may be in a secret follow the literal at least
	prefix   bool     // the letters, digits, '_' and '-' before the match belong to the secret
	free     bool     // the secret may touch letters, digits, '_' and '-' at both ends
	check    func(secret []byte) bool
}

// readTable returns the rules of a table. It compiles no pattern.
func readTable(text string) []shape {
	const about = 200
	rules := make([]shape, 0, about)
	for line := range strings.SplitSeq(text, "\n") {
		switch {
		case line == "" || line[0] == '#' || strings.HasPrefix(line, "  from "): // sources are for people
		case line[0] != ' ':
			name, pattern, _ := strings.Cut(line, " ")
			rules = append(rules, shape{name: name, pattern: pattern, check: notExample, body: leastBody})
		case strings.HasPrefix(line, "  at "):
			rules[len(rules)-1].setLiterals(line[len("  at "):])
		default:
			for word := range strings.SplitSeq(strings.TrimPrefix(line, "  with "), " ") {
				rules[len(rules)-1].set(word)
			}
		}
	}
	for i := range rules {
		if r := &rules[i]; r.literals == nil {
			r.exact = literalStart(r.pattern)
			r.literals = []string{strings.ToLower(r.exact)}
		}
	}
	return rules
}

// setLiterals sets the literals of a rule. A literal with a space is also one with %20.
func (s *shape) setLiterals(list string) {
	s.literals = strings.Split(list, " ")
	if strings.Contains(list, "·") {
		spaced := strings.ReplaceAll(list, "·", "%20")
		for i, word := range strings.Split(spaced, " ") {
			if word != s.literals[i] {
				s.literals[i] = strings.ReplaceAll(s.literals[i], "·", " ")
				s.literals = append(s.literals, word)
			}
		}
	}
}

// set sets a property of a rule.
func (s *shape) set(property string) {
	name, value, _ := strings.Cut(property, "=")
	n, _ := strconv.Atoi(value)
	switch name {
	case "back":
		s.back, s.body = n, 0
	case "ahead":
		s.ahead = n
	case "body":
		s.body = n
	case "prefix":
		s.prefix = true
	case "spaced":
		s.spaced = true
	case "free":
		s.free, s.body = true, 0
	case "check":
		s.check = checks[value]
	}
}

// literalStart returns the letters with which each match of the pattern begins.
func literalStart(pattern string) string {
	var start []byte
	for i := 0; i < len(pattern); i++ {
		if pattern[i] == '\\' && i+1 < len(pattern) && pattern[i+1] == '.' {
			i++
		} else if !isToken(pattern[i]) {
			break
		}
		start = append(start, pattern[i])
	}
	return string(start)
}
