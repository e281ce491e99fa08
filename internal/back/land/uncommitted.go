package land

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// inTheWay returns land_refused for files whose uncommitted changes are in conflict with the landing, and for untracked
// files that are in its way. onFiles is the merge onto the files.
func (l *gitLanding) inTheWay(ctx context.Context, onFiles *jjbridge.Merged) error {
	var paths []string
	for _, path := range append(onFiles.Paths(), l.merged.Paths()...) {
		paths = append(paths, l.besideFolder(path))
	}
	slices.Sort(paths)
	paths = slices.Compact(paths)
	tracked, err := l.w.TrackedAt(ctx, paths)
	if err != nil {
		return timeline.Explain(err)
	}
	var reasons []jjbridge.Refusal
	untracked := 0
	for _, path := range paths {
		reason := "its uncommitted changes are in conflict with the landing"
		if !tracked[path] {
			reason = "it is untracked, and in the way of the landing"
			untracked++
		}
		reasons = append(reasons, jjbridge.Refusal{Path: path, Reason: reason})
	}
	refused, ok := errors.AsType[*fault.Error](refused(&jjbridge.RefusedError{Refused: reasons}))
	if !ok {
		return timeline.Explain(&jjbridge.RefusedError{Refused: reasons})
	}
	if untracked > 0 {
		return refused.Hint("move it away, or put it aside with `git stash --include-untracked`")
	}
	return refused.Hint("commit the changes, or put them aside with `git stash`")
}

// besideFolder returns the path of a file in conflict in the working copy. If a folder is in the place of the file, git's
// merge names the file after its side, and no file has such a name.
func (l *gitLanding) besideFolder(path string) string {
	for _, side := range []string{"HEAD", strings.ReplaceAll(l.req.Label, "/", "_")} {
		if short, ok := strings.CutSuffix(path, "~"+side); ok && l.w.Exists(short) && !l.w.Exists(path) {
			return short
		}
	}
	return path
}
