package requests

import (
	"context"
	"slices"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// YesRemoves is the hint after a person has refused to remove untracked files.
const YesRemoves = "--yes saves the files in a frame and removes them"

// RemovalFlag returns the flag --yes for a command that may remove untracked files.
func RemovalFlag() urfave.Flag {
	return &urfave.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "remove untracked files without asking; they are saved in a frame"}
}

// ConfirmRemoval returns a function that asks the person at the terminal whether untracked files may be removed. The
// function returns nil if the person agrees, and unconfirmed if the person refuses. Without a terminal, it returns
// unconfirmed if restored files take the place of new files, and otherwise nil. hint is the end of the hint of this error:
// the command to type. If yes is true, the function returns nil without a question.
func ConfirmRemoval(s *session.Session, yes bool, hint string) files.ConfirmRemoval {
	const shown = 50
	if yes {
		return func(context.Context, []files.Removal) error { return nil }
	}
	return func(_ context.Context, removals []files.Removal) error {
		var all, news []string
		for _, removal := range removals {
			all, news = slices.Concat(all, removal.Paths, removal.New), append(news, removal.New...)
		}
		if !s.CanAsk() {
			if len(news) == 0 {
				return nil
			}
			return fault.New(fault.Unconfirmed, "new untracked files that no frame has are in the way: %s", display.List(news)).
				Hint("nothing was changed; %s", hint).Detail("files", news)
		}
		for _, removal := range removals {
			paths := slices.Concat(removal.Paths, removal.New)
			s.Talk("Untracked files that would be removed from %s:\n", plain.Text(removal.Root))
			for _, path := range paths[:min(len(paths), shown)] {
				s.Talk("  %s\n", plain.Text(path))
			}
			if more := len(paths) - shown; more > 0 {
				s.Talk("  and %d more\n", more)
			}
		}
		yes, err := s.Ask("Remove them? They are saved in a frame.")
		if err != nil || yes {
			return err
		}
		return fault.New(fault.Unconfirmed, "you did not confirm the removal of %s", plain.Count(len(all), "untracked file")).
			Hint("nothing was changed; %s", hint).Detail("files", all)
	}
}
