package redact

import (
	_ "embed" // for the table
	"strconv"
	"strings"
)

// table is the data of the rules. Its first lines describe its form.
//
//go:embed rules.txt
var table string

// checks are the functions that the table names.
var checks = map[string]func(secret []byte) bool{
	"basic": isUserPassword, "bearer": isBearer, "drawn": isDrawn, "example": notExample, "jwt": secretJWT, "mixed": mixed, "mixed-end": isMixedEnd, "password": isPassword,
	"random": isRandom, "slack": slackToken, "unpublished": unpublished, "varied": variedEnd,
}

// letters replaces the names of alphabets in the patterns of the table.
var letters = strings.NewReplacer("<B>", `[0-9A-Za-z]`, "<T>", `[0-9A-Za-z_-]`, "<H>", `[0-9a-f]`, "<S>", `[0-9A-Za-z+/]`)

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
	free     bool     // the secret may touch letters, digits, '_' and '-' at both ends
	check    func(secret []byte) bool
}

// readTable returns the rules of a table. It compiles no pattern.
func readTable(text string) []shape {
	var rules []shape
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		key, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch {
		case key == "" || key[0] == '#':
		case line[0] != ' ':
			rules = append(rules, shape{name: key, pattern: rest, check: notExample, body: leastBody})
		default:
			rules[len(rules)-1].set(key, strings.Fields(rest))
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

// set sets the properties of a rule that a line of the table lists.
func (s *shape) set(key string, words []string) {
	for _, word := range words {
		name, value, _ := strings.Cut(word, "=")
		n, _ := strconv.Atoi(value)
		switch {
		case key == "at":
			s.literals = append(s.literals, strings.ReplaceAll(word, "·", " "))
			if strings.Contains(word, "·") {
				s.literals = append(s.literals, strings.ReplaceAll(word, "·", "%20"))
			}
		case key != "with": // from: a source, for people
		case name == "back":
			s.back, s.body = n, 0
		case name == "ahead":
			s.ahead = n
		case name == "body":
			s.body = n
		case name == "spaced":
			s.spaced = true
		case name == "free":
			s.free, s.body = true, 0
		case name == "check":
			s.check = checks[value]
		}
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
