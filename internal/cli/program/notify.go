package program

import (
	"context"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/requests"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/notify"
	"github.com/git-smithers/git-smithers/timeline"
)

// notifyCommand returns the hidden command that runs the user's command for the notices that wait. This program starts
// it, see requests.Courier.
func notifyCommand() *arg.Command {
	return &arg.Command{
		Name:    requests.NotifyCommand,
		Summary: "run the command in smithers.notify for the notices that wait",
		Hidden:  true,
		Run: func(ctx context.Context, s *session.Session, _ *urfave.Context) error {
			return s.WithStore(ctx, func(store *timeline.Store) error { return notify.Deliver(ctx, store, notify.Patience) })
		},
	}
}
