package display

import (
	"fmt"
	"strings"

	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/snapshot"
)

// namesShown is how many names of a list people see.
const namesShown = 5

// List returns a list for people of the first few names, and how many more there are.
func List(names []string) string { return ListUpTo(namesShown, names) }

// ListUpTo returns a list for people of at most most names, and how many more there are.
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

// LeftOutNames returns the files that a capture left out, each with the reason.
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
