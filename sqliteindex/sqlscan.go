package sqliteindex

import (
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/git-smithers/git-smithers/internal/sqliteindex/columns"
)

// checkQuery returns an error if query is anything but one SELECT, WITH or VALUES statement, or EXPLAIN of such a
// statement. Parameters and NUL characters are errors, too. An accepted statement may still write, so it must run on a
// connection that refuses writes.
func checkQuery(query string) error {
	if strings.ContainsRune(query, 0) {
		return errors.New("NUL characters are not allowed")
	}
	var first []string // the first four words: EXPLAIN QUERY PLAN and the word after it
	ended := false
	for token := range tokens(query) {
		switch {
		case token == ";":
			ended = ended || len(first) > 0
		case ended:
			return errors.New("more than one statement is not allowed")
		case strings.ContainsRune("?:@$", rune(token[0])):
			return errors.New("parameters (?, :name, @name and $name) are not allowed")
		case len(first) < 4:
			first = append(first, strings.ToUpper(token))
		}
	}
	if len(first) > 0 && first[0] == "EXPLAIN" {
		first = first[1:]
		if len(first) > 1 && first[0] == "QUERY" && first[1] == "PLAN" {
			first = first[2:]
		}
	}
	switch {
	case len(first) == 0:
		return errors.New("no statement found")
	case first[0] == "SELECT", first[0] == "WITH", first[0] == "VALUES":
		return nil
	}
	return errors.New("only SELECT, WITH and VALUES statements, and EXPLAIN of these, are allowed")
}

// queryWords returns the set of tokens of a query, without double quotes, backquotes and brackets, and with
// ASCII letters in lower case. The set contains all names in the query.
func queryWords(query string) map[string]bool {
	words := make(map[string]bool)
	for token := range tokens(query) {
		if n := len(token); n > 1 && strings.ContainsRune("\"`[", rune(token[0])) {
			token = token[1 : n-1]
		}
		words[columns.FoldCase(token)] = true
	}
	return words
}

// tokens yields the words, quoted texts and other characters of a query, as SQLite splits the query. It
// leaves out space and comments.
func tokens(query string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for query != "" {
			n, space := nextToken(query)
			token := query[:n]
			query = query[n:]
			if !space && !yield(token) {
				return
			}
		}
	}
}

// nextToken returns the length of the token at the start of text, in bytes. space is true if the token is
// space or a comment. text must not be empty.
func nextToken(text string) (n int, space bool) {
	switch text[0] {
	case '\'', '"', '`':
		return quotedLength(text), false
	case '[':
		return until(text, "]"), false
	case '-':
		if strings.HasPrefix(text, "--") {
			return until(text, "\n"), true
		}
	case '/':
		if strings.HasPrefix(text, "/*") {
			return 2 + until(text[2:], "*/"), true
		}
	case ' ', '\t', '\n', '\f', '\r':
		return 1, true
	}
	// A word consists of letters, digits, "_", "$" and all characters beyond ASCII. Any other character is a token.
	word := strings.IndexFunc(text, func(r rune) bool {
		return r != '_' && r != '$' && r < utf8.RuneSelf && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	switch {
	case word < 0:
		return len(text), false
	case word == 0:
		return 1, false
	}
	return word, false
}

// quotedLength returns the length of the quoted text at the start of text, in bytes. Two quotes in a row are one quote
// character inside the quoted text. A text without a closing quote extends to the end.
func quotedLength(text string) int {
	quote := text[:1]
	n := 1
	for {
		n += until(text[n:], quote)
		if n >= len(text) || text[n:n+1] != quote {
			return n
		}
		n++
	}
}

// until returns the length in bytes of text up to and including the first occurrence of end. If text does not
// contain end, it returns the length of text.
func until(text, end string) int {
	if i := strings.Index(text, end); i >= 0 {
		return i + len(end)
	}
	return len(text)
}
