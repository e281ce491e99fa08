package columns

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Snake returns a name in snake_case, in lower case: "dueDate" becomes "due_date", and "HTTPServer" becomes
// "http_server". It inserts an underscore before each later word that begins with a capital. It replaces each
// character that is not a letter, digit or mark by an underscore. For an empty name, Snake returns "_".
func Snake(name string) string {
	runes := []rune(name)
	var b strings.Builder
	for i, r := range runes {
		switch {
		case unicode.IsUpper(r):
			afterWord := i > 0 && (unicode.IsLower(runes[i-1]) || unicode.IsDigit(runes[i-1]))
			afterCapitals := i > 0 && i+1 < len(runes) && unicode.IsUpper(runes[i-1]) && unicode.IsLower(runes[i+1])
			if afterWord || afterCapitals {
				b.WriteByte('_')
			}
			b.WriteRune(unicode.ToLower(r))
		case unicode.IsLetter(r), unicode.IsDigit(r), unicode.IsMark(r):
			b.WriteRune(unicode.ToLower(r))
		default:
			b.WriteByte('_')
		}
	}
	if b.Len() == 0 {
		return "_"
	}
	return b.String()
}

// NameSet holds the names that are taken, with lower-case ASCII letters, because SQLite ignores the case of
// ASCII letters in names.
type NameSet map[string]bool

// NewNameSet returns a set that holds the given names.
func NewNameSet(taken ...string) NameSet {
	n := make(NameSet)
	for _, name := range taken {
		n[FoldCase(name)] = true
	}
	return n
}

// Take adds name to the set and returns true. If the set already has the name, Take returns false.
func (n NameSet) Take(name string) bool {
	folded := FoldCase(name)
	if n[folded] {
		return false
	}
	n[folded] = true
	return true
}

// Give appends underscores to name until the set does not have the name. It then adds the name to the set and returns
// the name.
func (n NameSet) Give(name string) string {
	for !n.Take(name) {
		name += "_"
	}
	return name
}

// FoldCase returns name with its ASCII letters in lower case.
func FoldCase(name string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, name)
}

// SnakeNames gives each name a unique name in snake_case. It returns a map from the names to the new names. given holds
// the names that are taken; SnakeNames adds the new names to given. fit changes a name so that it is valid. A name that
// is already valid and in snake_case comes first, so it is unchanged unless given has it. The order of names does not
// matter.
func SnakeNames(names []string, given NameSet, fit func(string) string) map[string]string {
	sorted := slices.Sorted(slices.Values(names))
	out := make(map[string]string, len(sorted))
	// First the names that stay unchanged, then the others.
	for _, keeps := range []bool{true, false} {
		for _, name := range sorted {
			if snaked := fit(Snake(name)); (snaked == name) == keeps {
				out[name] = given.Give(snaked)
			}
		}
	}
	return out
}

// FitTable returns name, a name for an output table. If SQLite or the index reserves name for other tables, FitTable
// returns name with the prefix output_.
func FitTable(name string) string {
	if isReserved(name) {
		return "output_" + name
	}
	return name
}

// isReserved reports whether SQLite or the index reserves name for a table of its own.
func isReserved(name string) bool {
	name = FoldCase(name)
	return name == "input" || strings.HasPrefix(name, "sqlite_") ||
		strings.HasPrefix(name, "_smithers_") || strings.HasPrefix(name, "_index_")
}

// IsViewName reports whether name is valid for a view: not empty, not reserved and without control
// characters.
func IsViewName(name string) bool {
	return name != "" && !isReserved(name) && !strings.ContainsFunc(name, unicode.IsControl)
}

// FitWorkflow returns name, the name of a workflow, in the form that is part of a table name: at most the first 100
// bytes of name, in snake_case. It does not cut within a character.
func FitWorkflow(name string) string {
	const most = 100
	if len(name) > most {
		cut := most
		for !utf8.RuneStart(name[cut]) {
			cut--
		}
		name = name[:cut]
	}
	return Snake(name)
}
