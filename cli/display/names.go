package display

import (
	"fmt"
	"strings"

	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/snapshot"
)

// namesShown is how many of a list of names people see in talk.
const namesShown = 5

// List is a list for people, cut where it is long.
func List(names []string) string { return ListUpTo(namesShown, names) }

// ListUpTo is a list for people of the first names, at most that many, and how many there are besides.
func ListUpTo(most int, names []string) string {
	shown := make([]string, 0, most)
	for _, name := range names[:min(most, len(names))] {
		shown = append(shown, plain.Text(name))
	}
	if rest := len(names) - len(shown); rest > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(shown, ", "), rest)
	}
	return strings.Join(shown, ", ")
}

// LeftOutNames are the files that a capture left out, with the reason of each.
func LeftOutNames(list []snapshot.LeftOut) []string {
	names := make([]string, len(list))
	for i, f := range list {
		switch {
		case f.Path == "":
			names[i] = "untracked files (too many)"
		case f.Bytes > 0:
			names[i] = fmt.Sprintf("%s (%s, %d bytes)", f.Path, f.Reason, f.Bytes)
		default:
			names[i] = fmt.Sprintf("%s (%s)", f.Path, f.Reason)
		}
	}
	return names
}

// ValueShown is how much of a value people see in a list.
const ValueShown = 100
