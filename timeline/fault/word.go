package fault

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Word is s as one word of a command that a hint names: as it is where a shell takes it
// so, and else in quotes. What does not print is escaped, so that the command can be shown
// and copied.
func Word(s string) string {
	plain, printed := s != "" && s[0] != '=', utf8.ValidString(s)
	for _, c := range s {
		plain = plain && isPlain(c)
		printed = printed && unicode.IsPrint(c)
	}
	switch {
	case plain && printed:
		return s
	case printed:
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	return escaped(s)
}

// isPlain reports whether c means nothing but itself to a shell.
func isPlain(c rune) bool {
	return unicode.IsLetter(c) || unicode.IsDigit(c) || c < utf8.RuneSelf && strings.ContainsRune("-_./:@%+,=", c)
}

// escaped is a text in the quotes of a shell that have escapes.
func escaped(s string) string {
	var b strings.Builder
	b.WriteString("$'")
	for i := 0; i < len(s); {
		c, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case c == '\'' || c == '\\':
			fmt.Fprintf(&b, `\%c`, c)
		case unicode.IsPrint(c) && (c != utf8.RuneError || size > 1):
			b.WriteRune(c)
		default:
			for _, one := range []byte(s[i : i+size]) {
				fmt.Fprintf(&b, `\%03o`, one)
			}
		}
		i += size
	}
	b.WriteString("'")
	return b.String()
}

// Program is what people type before the name of a command.
const Program = "git smithers"

// CommandLine is a command, or the part of one that begins with name, as a shell takes it.
func CommandLine(name string, args ...string) string {
	words := []string{name}
	for _, arg := range args {
		words = append(words, Word(arg))
	}
	return strings.Join(words, " ")
}
