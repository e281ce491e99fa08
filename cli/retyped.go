package cli

import (
	"context"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// maxRetyped is the length of the longest command line that a hint repeats.
const maxRetyped = 200

// typedWith returns the command line as it was typed, with more words at its end; "" if it is too long to repeat, or ends
// its flags by "--".
func (s *session) typedWith(more ...string) string {
	command := fault.CommandLine(program, slices.Concat(s.args, more)...)
	if slices.Contains(s.args, "--") || utf8.RuneCountInString(command) > maxRetyped {
		return ""
	}
	return command
}

// retyped adds to an error about the beginning of one run's id the command line with the whole id.
func retyped(args []string, err error) error {
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
		flag := ""
		if name, value, ok := strings.Cut(word, "="); ok && strings.HasPrefix(name, "-") {
			flag, word = name+"=", value
		}
		if rest, ok := strings.CutPrefix(word, given); ok && (rest == "" || rest[0] == ':') {
			words[i] = flag + similar[0] + rest
			replaced++
		}
	}
	if command := fault.CommandLine(program, words...); replaced == 1 && utf8.RuneCountInString(command) <= maxRetyped {
		known.Hints = append(known.Hints, "`"+command+"`")
	}
	return err
}

// hintRunAsRemote adds to an error about a run that was named in the place of a remote the command line with a remote
// before the run.
func (s *session) hintRunAsRemote(ctx context.Context, store *timeline.Store, err error) error {
	known, ok := errors.AsType[*fault.Error](err)
	if !ok || known.Code != fault.RemoteNotFound {
		return err
	}
	named, _ := known.Details["remote"].(string)
	at := slices.Index(s.args, named)
	if at < 0 || !slices.Contains(s.args[:at], "push") && !slices.Contains(s.args[:at], "fetch") {
		return err
	}
	if run, notRun := store.ResolveRun(ctx, named); notRun != nil || run != named {
		return err
	}
	remote := "origin"
	if place, none := store.Place(""); none == nil {
		remote = place.Shown()
	}
	command := fault.CommandLine(program, slices.Insert(slices.Clone(s.args), at, remote)...)
	return known.Hint("%q is a run: `%s`", named, command)
}
