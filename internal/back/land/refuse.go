package land

import (
	"errors"
	"fmt"

	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// mostNamed is how many files an error names.
const mostNamed = 5

// inConflict returns merge_conflict for the given paths.
func inConflict(paths []string, format string, args ...any) *fault.Error {
	err := fault.New(fault.MergeConflict, "%s: %s", fmt.Sprintf(format, args...), plain.Count(len(paths), "file")+" in conflict").Detail("conflicts", paths)
	for _, path := range paths[:min(mostNamed, len(paths))] {
		err = err.Hint("in conflict: %s", path)
	}
	if more := len(paths) - mostNamed; more > 0 {
		err = err.Hint("and %d more", more)
	}
	return err
}

// stepConflict returns merge_conflict for a step that is not the last. Nothing was changed.
func stepConflict(one change, paths []string) error {
	at := one.step.To
	if at.Worktree == "" {
		return inConflict(paths, "%s was not landed", at.Address).
			Hint("nothing was changed; land the turns as one, without --each-turn, to resolve the conflicts")
	}
	return inConflict(paths, "the worktree of task %q was not landed", at.Worktree).Hint("nothing was changed; `git smithers land %s --worktree %s` lands this worktree alone, to resolve the conflicts",
		fault.Word(at.Address.String()), fault.Word(at.Worktree))
}

// mergeError returns the error of a merge with a code.
func mergeError(s *timeline.Store, err error) error {
	if errors.Is(err, jjbridge.ErrCollides) {
		return fault.New(fault.LandRefused, "%w", err).Hint("git 2.38 or newer can merge the two sides")
	}
	return missing(s, err)
}

// refused returns land_refused for reasons that jjbridge has found, and otherwise err with a code.
func refused(err error) error {
	found, ok := errors.AsType[*jjbridge.RefusedError](err)
	if !ok || len(found.Refused) == 0 {
		err = timeline.Explain(err)
		if known, ok := errors.AsType[*fault.Error](err); ok && known.Code == fault.RestoreRefused {
			known.Code = fault.LandRefused
		}
		return err
	}
	first := found.Refused[0]
	text := first.Reason
	if first.Path != "" {
		text = first.Path + ": " + first.Reason
	}
	out := fault.New(fault.LandRefused, "nothing was landed: %s", text).Detail("refused", found.Refused)
	for _, one := range found.Refused[1:min(mostNamed, len(found.Refused))] {
		out = out.Hint("%s: %s", one.Path, one.Reason)
	}
	if more := len(found.Refused) - mostNamed; more > 0 {
		out = out.Hint("and %d more files", more)
	}
	return out
}
