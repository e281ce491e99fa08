package comparison

import (
	"context"
	"slices"

	"github.com/git-smithers/git-smithers/internal/app/summary"
	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/internal/peer/agent"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/timeline"
)

// files returns the paths that a step changed in one of the courses, and whose contents differ afterwards.
func (c *comparer) files(ctx context.Context, a, b *Step) ([]string, error) {
	afterA, afterB := c.a.filesAfter(a), c.b.filesAfter(b)
	if afterA.IsZero() || afterB.IsZero() || afterA == afterB {
		return nil, nil
	}
	beforeA, beforeB := c.a.filesBefore(a.Last()), c.b.filesBefore(b.Last())
	differ, err := c.changed(ctx, afterA, afterB)
	if err != nil {
		return nil, err
	}
	if beforeA.IsZero() && beforeB.IsZero() { // such as the first step in a worktree of its own
		return differ, nil
	}
	byStep := make(map[string]bool)
	for _, change := range [][2]objstore.ID{{beforeA, afterA}, {beforeB, afterB}} {
		if change[0].IsZero() {
			continue // unknown
		}
		paths, err := c.changed(ctx, change[0], change[1])
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			byStep[path] = true
		}
	}
	return slices.DeleteFunc(differ, func(path string) bool { return !byStep[path] }), nil
}

// changed returns the paths that differ between two trees, sorted.
func (c *comparer) changed(ctx context.Context, from, to objstore.ID) ([]string, error) {
	changes, err := files.ChangedFiles(ctx, c.s.Objects(), from, to, "")
	if err != nil {
		return nil, timeline.Explain(err)
	}
	paths := make([]string, len(changes))
	for i, change := range changes {
		paths[i] = change.Path
	}
	return paths, nil
}

// filesAfter returns the files that the last attempt of a step left; zero if they are unknown or the step has no attempt.
func (c *course) filesAfter(s *Step) objstore.ID {
	last := s.Last()
	switch {
	case last == nil:
		return objstore.ID{}
	case last.Tree.IsZero() && last.Frame != nil && !last.Inherited:
		return c.frames[*last.Frame].Tree()
	}
	return last.Tree
}

// filesBefore returns the files from which an attempt began: those that its worktree had before or, if the attempt had none
// to itself, those of the frame on which the frame of its end is based. Those of a turn are the files at its prompt. They are zero if they
// are unknown.
func (c *course) filesBefore(a *summary.Attempt) (before objstore.ID) {
	switch {
	case a.Worktree != "":
		for _, other := range c.Attempts {
			if other == a {
				break
			}
			if other.Worktree == a.Worktree && !other.Tree.IsZero() {
				before = other.Tree
			}
		}
	case c.Session: // a turn has many frames, and that of its prompt is the first
		for _, f := range c.Frames.Frames {
			if slices.Contains(f.IDs, agent.TurnID(a.Iteration)) {
				return f.Tree()
			}
		}
	case a.Frame != nil && !a.Inherited:
		if based := c.frames[*a.Frame].BasedOn; based != nil {
			before = c.frames[*based].Tree()
		}
	}
	return before
}
