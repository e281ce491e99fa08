package display

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/snapshot"
)

// namesShown is the largest number of names that List shows.
const namesShown = 5

// List returns a list for people: the first namesShown names, separated by commas, and the number of the other names.
func List(names []string) string { return ListUpTo(namesShown, names) }

// ListUpTo returns a list for people: names separated by commas, without control characters. If there are more than
// limit names, the list has the first limit names and the number of the other names.
func ListUpTo(limit int, names []string) string {
	shown := make([]string, 0, limit)
	for _, name := range names[:min(limit, len(names))] {
		shown = append(shown, plain.Text(name))
	}
	if rest := len(names) - len(shown); rest > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(shown, ", "), rest)
	}
	return strings.Join(shown, ", ")
}

// leftOutWords has the reasons why a capture leaves out a file, as people say them. Other reasons are their own words.
var leftOutWords = map[string]string{
	snapshot.LeftTooLarge: "too large",
	snapshot.LeftEmbedded: "a repository of its own",
	snapshot.LeftByJJ:     "left out by jj",
	snapshot.LeftDirty:    "a submodule with changes",
}

// LeftOutNames returns the paths of the files that a capture left out, each with the reason and, if it is known, the
// size. An entry without a path becomes a text that says that too many files were untracked.
func LeftOutNames(list []snapshot.LeftOut) []string {
	names := make([]string, len(list))
	for i, f := range list {
		why := cmp.Or(leftOutWords[f.Reason], f.Reason)
		switch {
		case f.Path == "":
			names[i] = "untracked files (too many)"
		case f.Bytes > 0:
			names[i] = fmt.Sprintf("%s (%s, %s)", f.Path, why, Size(f.Bytes))
		default:
			names[i] = fmt.Sprintf("%s (%s)", f.Path, why)
		}
	}
	return names
}

// ValueShown is the largest number of characters of a value that a list at a terminal shows.
const ValueShown = 100
