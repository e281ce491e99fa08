package source

import (
	"slices"
	"strings"
)

// created returns the kind and the name of the object that a CREATE statement creates. kind is TABLE, INDEX or TRIGGER.
// name is spelled as in the statement, perhaps in quotes. For any other statement, both are "".
func created(statement string) (kind, name string) {
	words := tokens(statement)
	if len(words) < 3 || !strings.EqualFold(words[0], "CREATE") {
		return "", ""
	}
	words = words[1:]
	if strings.EqualFold(words[0], "UNIQUE") {
		words = words[1:]
	}
	kind = strings.ToUpper(words[0])
	if len(words) < 2 || words[1] == "" || !slices.Contains([]string{"TABLE", "INDEX", "TRIGGER"}, kind) {
		return "", "" // words[1] is "" if a quoted name has no end
	}
	return kind, words[1]
}

// isTable reports whether statement creates a table with the given name from a list of columns, and does nothing
// else. The statement may come from another user, so isTable also returns false for a statement that it does not
// understand.
func isTable(statement, name string) bool {
	words := tokens(statement)
	kind, written := created(statement)
	// words[1] excludes CREATE UNIQUE TABLE. words[3] excludes IF NOT EXISTS and AS SELECT. The last two conditions
	// exclude a second statement and a token without an end.
	return kind == "TABLE" && strings.EqualFold(words[1], "TABLE") && equalName(unquote(written), name) &&
		len(words) > 3 && words[3] == "(" && !slices.Contains(words, ";") && !slices.Contains(words, "")
}

// tokens returns the tokens of sql, without white space and comments. It follows SQLite as far as necessary to
// find the ends of strings, names and comments. If a token has no end, the last element is "".
func tokens(sql string) []string {
	var list []string
	for sql != "" {
		n, ok := tokenLength(sql)
		switch {
		case !ok:
			return append(list, "")
		case !isSpace(sql[0]) && !strings.HasPrefix(sql, "--") && !strings.HasPrefix(sql, "/*"):
			list = append(list, sql[:n])
		}
		sql = sql[n:]
	}
	return list
}

// tokenLength returns the length in bytes of the first token of sql. sql must not be empty. White space and
// comments count as tokens. ok is false if the token is a NUL, or a string, name or comment without an end.
func tokenLength(sql string) (n int, ok bool) {
	switch c := sql[0]; {
	case strings.HasPrefix(sql, "--"):
		if n := strings.IndexByte(sql, '\n'); n >= 0 {
			return n + 1, true
		}
		return len(sql), true
	case strings.HasPrefix(sql, "/*"):
		n := strings.Index(sql[2:], "*/")
		return n + 4, n >= 0
	case c == '[':
		n := strings.IndexByte(sql, ']')
		return n + 1, n >= 0
	case c == '\'' || c == '"' || c == '`':
		return quotedLength(sql)
	case isWord(c):
		for n < len(sql) && isWord(sql[n]) {
			n++
		}
		return n, true
	}
	return 1, sql[0] != 0
}

// quotedLength returns the length in bytes of the quoted string or name at the start of sql, with its quotes. Two
// quotes in a row mean one quote inside the string. ok is false if the closing quote is missing.
func quotedLength(sql string) (n int, ok bool) {
	for i := 1; i < len(sql); i++ {
		switch {
		case sql[i] != sql[0]:
		case i+1 < len(sql) && sql[i+1] == sql[0]:
			i++
		default:
			return i + 1, true
		}
	}
	return 0, false
}

// unquote returns the name in identifier, a token of tokens, without quotes. identifier must not be "".
func unquote(identifier string) string {
	switch quote := identifier[:1]; quote {
	case `"`, "`", "'":
		return strings.ReplaceAll(identifier[1:len(identifier)-1], quote+quote, quote)
	case "[":
		return identifier[1 : len(identifier)-1]
	}
	return identifier
}

// isSpace reports whether SQLite treats c as white space.
func isSpace(c byte) bool { return strings.IndexByte(" \t\n\r\f\v", c) >= 0 }

// isWord reports whether c can be part of a word: a keyword, an unquoted name or a number.
func isWord(c byte) bool {
	// The bit 0x20 makes capital letters small. Bytes from 0x80 belong to letters in UTF-8.
	return 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || c == '_' || c == '$' || c >= 0x80
}

// isType reports whether declared, the declared type of a column, is safe to copy into a statement: it has no
// quotes, semicolons or other special characters, and as many opening as closing parentheses.
func isType(declared string) bool {
	return !strings.ContainsFunc(declared, func(r rune) bool {
		return r >= 0x80 || !isWord(byte(r)) && !strings.ContainsRune(" (),+-.", r)
	}) && strings.Count(declared, "(") == strings.Count(declared, ")")
}
