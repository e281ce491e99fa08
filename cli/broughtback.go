package cli

import (
	"context"

	"github.com/git-smithers/git-smithers/app"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/code"
)

// tellBroughtBack tells what a restore did that was not the command's whole business.
func (s *session) tellBroughtBack(ctx context.Context, store *timeline.Store, done *code.Restored) {
	in := ""
	if done.Name != "" {
		in = "worktree of " + plain.Text(done.Name) + ": "
	}
	s.Note("%s%s", in, restoredSummary(done, false))
	s.notePaths(done.Changes)
	if len(done.Stayed) > 0 {
		s.Note("%sthe workflow file stays as you have it: %s", in, listNames(done.Stayed))
	}
	s.noteIncomplete(done.VCS)
	s.noteEdited(ctx, store, done, in, "")
	if before := app.FrameBefore(done); before != nil {
		s.Note("%swhat was there before is %s: `%s` brings it back", in, plain.Text(before.String()), bringBackCommand(*before, done.Name))
	}
}
