package sqliteindex

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// snake is a name in snake_case: words that begin with a capital get a low line before
// them, and what is neither a letter nor a digit becomes one. It is never empty.
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

// names gives out names, each once. SQLite takes names that differ only in the case of
// ASCII letters for one.
type names map[string]bool

func newNames(taken ...string) names {
	n := make(names)
	for _, name := range taken {
		n[foldCase(name)] = true
	}
	return n
}

// take gives out the name, or tells that it is taken.
func (n names) take(name string) bool {
	folded := foldCase(name)
	if n[folded] {
		return false
	}
	n[folded] = true
	return true
}

// give gives out the name, with as many low lines behind it as it takes.
func (n names) give(name string) string {
	for !n.take(name) {
		name += "_"
	}
	return name
}

// foldCase makes the ASCII letters of a name small.
func foldCase(name string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, name)
}

// snakeNames are names in snake_case, each another one: what is in snake_case already keeps
// its name, so that which it is does not depend on an order. fit makes a name allowed.
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

// fitTable makes a table's name one that SQLite and the index leave to others.
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

// isViewName reports whether a view may be called so.
func isViewName(name string) bool {
	return name != "" && !isReserved(name) && !strings.ContainsFunc(name, unicode.IsControl)
}

// fitWorkflow is what stands for a workflow in the name of a table.
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

// quoted is a name as SQL text.
func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
