package program

import (
	"context"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/cli/arg"
	"github.com/git-smithers/git-smithers/cli/desk"
	"github.com/git-smithers/git-smithers/cli/session"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/notify"
)

// notifyCommand returns the hidden command that runs the user's command for the notices that wait. This program starts
// it, see desk.Courier.
func notifyCommand() *arg.Command {
	return &arg.Command{
		Name:    desk.NotifyCommand,
		Summary: "run the command in smithers.notify for the notices that wait",
		Hidden:  true,
		Run: func(ctx context.Context, s *session.Session, _ *urfave.Context) error {
			return s.WithStore(ctx, func(store *timeline.Store) error { return notify.Deliver(ctx, store, notify.Patience) })
		},
	}
}
