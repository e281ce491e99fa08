package columns

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Snake returns a name in snake_case: an underscore before each word that begins with a capital, and
// in place of every other character than a letter or a digit. It is never empty.
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

// NameSet has the names that are taken, and hands out unique ones. SQLite ignores the case of ASCII letters in names.
type NameSet map[string]bool

// NewNameSet returns a set in which some names are taken.
func NewNameSet(taken ...string) NameSet {
	n := make(NameSet)
	for _, name := range taken {
		n[FoldCase(name)] = true
	}
	return n
}

// Take takes a name, and reports whether it was free.
func (n NameSet) Take(name string) bool {
	folded := FoldCase(name)
	if n[folded] {
		return false
	}
	n[folded] = true
	return true
}

// Give returns the name, with as many underscores as it needs to be unique.
func (n NameSet) Give(name string) string {
	for !n.Take(name) {
		name += "_"
	}
	return name
}

// FoldCase returns a name with lower-case ASCII letters.
func FoldCase(name string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, name)
}

// SnakeNames returns unique names in snake_case. Names that are in snake_case already are
// unchanged, so that the result does not depend on the order. fit makes a name valid.
func SnakeNames(of []string, given NameSet, fit func(string) string) map[string]string {
	sorted := slices.Sorted(slices.Values(of))
	out := make(map[string]string, len(sorted))
	for _, keeps := range []bool{true, false} {
		for _, name := range sorted {
			if snaked := fit(Snake(name)); (snaked == name) == keeps {
				out[name] = given.Give(snaked)
			}
		}
	}
	return out
}

// FitTable returns a table name that neither SQLite nor the index reserves.
func FitTable(name string) string {
	if isReserved(name) {
		return "output_" + name
	}
	return name
}

func isReserved(name string) bool {
	name = FoldCase(name)
	return name == "input" || strings.HasPrefix(name, "sqlite_") ||
		strings.HasPrefix(name, "_smithers_") || strings.HasPrefix(name, "_index_")
}

// IsViewName reports whether name is valid for a view.
func IsViewName(name string) bool {
	return name != "" && !isReserved(name) && !strings.ContainsFunc(name, unicode.IsControl)
}

// FitWorkflow returns a workflow's part of a table name.
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
