package session

import (
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/git-smithers/git-smithers/timeline/fault"
)

// Retyped adds a hint to err if a command needs the whole id of a run, but the user has typed only its beginning. Such
// an error has the code run_not_found or nothing_pruned. The hint is the typed command line with the whole id. args has
// the words after the name of the program.
//
// Retyped adds no hint in these cases:
//   - Several ids have this beginning.
//   - The beginning occurs in no word of args, or in several.
//   - The hint would be longer than maxRetyped.
//
// Retyped always returns err.
func Retyped(args []string, err error) error {
	known, ok := errors.AsType[*fault.Error](err)
	if !ok || known.Code != fault.RunNotFound && known.Code != fault.NothingPruned {
		return err
	}
	given, _ := known.Details["run"].(string)
	similar, _ := known.Details["runs"].([]string)
	if given == "" || len(similar) != 1 {
		return err
	}
	words, replaced := slices.Clone(args), 0
	for i, word := range words {
		// The id may be the value of a flag, and :FRAME may follow it.
		flag := ""
		if name, value, ok := strings.Cut(word, "="); ok && strings.HasPrefix(name, "-") {
			flag, word = name+"=", value
		}
		if rest, ok := strings.CutPrefix(word, given); ok && (rest == "" || rest[0] == ':') {
			words[i] = flag + similar[0] + rest
			replaced++
		}
	}
	if command := fault.CommandLine(fault.Program, words...); replaced == 1 && utf8.RuneCountInString(command) <= maxRetyped {
		known.Hints = append(known.Hints, "`"+command+"`")
	}
	return err
}

// TypedWith returns the command line that the user has typed, with the words in more at its end. It returns "" if the
// result would be longer than maxRetyped. It also returns "" if the user has typed "--", because the words after it
// cannot be flags.
func (s *Session) TypedWith(more ...string) string {
	command := fault.CommandLine(fault.Program, slices.Concat(s.Args, more)...)
	if slices.Contains(s.Args, "--") || utf8.RuneCountInString(command) > maxRetyped {
		return ""
	}
	return command
}

// maxRetyped is the length in characters of the longest command line that a hint repeats.
const maxRetyped = 200
