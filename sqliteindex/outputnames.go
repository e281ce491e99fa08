package sqliteindex

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// snake returns a name in snake_case: an underscore before each word that begins with a capital, and
// in place of every other character than a letter or a digit. It is never empty.
func snake(name string) string {
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

// names hands out unique names. SQLite ignores the case of ASCII letters in names.
type names map[string]bool

func newNames(taken ...string) names {
	n := make(names)
	for _, name := range taken {
		n[foldCase(name)] = true
	}
	return n
}

// take takes a name, and reports whether it was free.
func (n names) take(name string) bool {
	folded := foldCase(name)
	if n[folded] {
		return false
	}
	n[folded] = true
	return true
}

// give returns the name, with as many underscores as it needs to be unique.
func (n names) give(name string) string {
	for !n.take(name) {
		name += "_"
	}
	return name
}

// foldCase returns a name with lower-case ASCII letters.
func foldCase(name string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, name)
}

// snakeNames returns unique names in snake_case. Names that are in snake_case already are
// unchanged, so that the result does not depend on the order. fit makes a name valid.
func snakeNames(of []string, given names, fit func(string) string) map[string]string {
	sorted := slices.Sorted(slices.Values(of))
	out := make(map[string]string, len(sorted))
	for _, keeps := range []bool{true, false} {
		for _, name := range sorted {
			if snaked := fit(snake(name)); (snaked == name) == keeps {
				out[name] = given.give(snaked)
			}
		}
	}
	return out
}

// fitTable returns a table name that neither SQLite nor the index reserves.
func fitTable(name string) string {
	if isReserved(name) {
		return "output_" + name
	}
	return name
}

func isReserved(name string) bool {
	name = foldCase(name)
	return name == "input" || strings.HasPrefix(name, "sqlite_") ||
		strings.HasPrefix(name, "_smithers_") || strings.HasPrefix(name, "_index_")
}

// isViewName reports whether name is valid for a view.
func isViewName(name string) bool {
	return name != "" && !isReserved(name) && !strings.ContainsFunc(name, unicode.IsControl)
}

// fitWorkflow returns a workflow's part of a table name.
func fitWorkflow(name string) string {
	const most = 100
	if len(name) > most {
		cut := most
		for !utf8.RuneStart(name[cut]) {
			cut--
		}
		name = name[:cut]
	}
	return snake(name)
}
