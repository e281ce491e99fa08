package fault

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Word returns s as one word of a shell command, for a hint. If s is not empty and has only characters without a
// special meaning to a shell, Word returns s unchanged. Otherwise, if all characters are printable, Word returns s
// in single quotes. In all other cases, Word escapes the characters and bytes that do not print, so that people
// can read and copy the command.
func Word(s string) string {
	// zsh expands a word that begins with "="
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

// isPlain reports whether a shell reads c as an ordinary character: a letter, a digit, or one of a few punctuation
// marks.
func isPlain(c rune) bool {
	return unicode.IsLetter(c) || unicode.IsDigit(c) || c < utf8.RuneSelf && strings.ContainsRune("-_./:@%+,=", c)
}

// escaped returns s in a shell's $'…' quotes. It puts a backslash before ' and \, and writes bytes that do not
// print as octal escapes.
func escaped(s string) string {
	var b strings.Builder
	b.WriteString("$'")
	for i := 0; i < len(s); {
		c, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case c == '\'' || c == '\\':
			fmt.Fprintf(&b, `\%c`, c)
		// An invalid byte decodes as a RuneError of size 1.
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

// Program is the command with which people call this program. The name of a subcommand follows Program.
const Program = "git smithers"

// CommandLine returns a shell command: name, which is not quoted, and args as words (see Word).
func CommandLine(name string, args ...string) string {
	words := []string{name}
	for _, arg := range args {
		words = append(words, Word(arg))
	}
	return strings.Join(words, " ")
}
