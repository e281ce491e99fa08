package agents

import (
	"context"
	"time"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/app/telemetry"
	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/requests"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/peer/agent"
	"github.com/git-smithers/git-smithers/internal/peer/agent/retention"
	"github.com/git-smithers/git-smithers/timeline"
)

// hookTime is the time after which a hook gives up, so that the agent goes on.
const hookTime = 25 * time.Second

// hookGrace is the time in which a hook that has given up can close its store.
const hookGrace = 2 * time.Second

func hookCommand() *arg.Command {
	return &arg.Command{
		Name:    "hook",
		Summary: "record what a coding agent has just done; agents call it",
		Usage:   []string{"<agent> <event>"},
		About: `Reads the JSON that the agent hands to its hooks from standard input, and appends a frame to the
session's run. It prints nothing and exits with 0, whatever happens: agents obey what hooks say.
What went wrong is in git smithers session status.`,
		MaxArgs:  arg.AnyNumber,
		Flags:    []urfave.Flag{&urfave.BoolFlag{Name: "user", Usage: "the hook is in the user's settings for all repositories"}},
		Exits:    nil,
		Examples: []arg.Example{{"what Claude Code calls after each batch of tools", "git smithers session hook claude PostToolBatch"}},
		Run: func(ctx context.Context, s *session.Session, c *urfave.Context) error {
			ctx, stop := context.WithTimeout(ctx, hookTime)
			defer stop()
			hook := agent.Hook{
				Agent: c.Args().Get(0), Event: c.Args().Get(1), User: c.Bool("user"), Input: s.In, Dir: s.Dir, Env: s.Env, Now: s.Now,
				Recall: retention.Recall, Courier: requests.Courier(s), Retention: func(private string) { startRetention(s, private) },
			}
			if send := requests.Collector(s); send != nil {
				hook.Ended = func(store *timeline.Store, head *timeline.Head) error {
					if err := telemetry.EnqueueTrace(store, head); err != nil {
						return err
					}
					return send()
				}
			}
			callWithin(ctx, hookGrace, func() { hook.Run(ctx) })
			return nil
		},
	}
}

// callWithin calls f, and returns when f has returned or, at the latest, grace after the end of ctx. A read of the input or of a file
// does not end with ctx.
func callWithin(ctx context.Context, grace time.Duration, f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
		return
	case <-ctx.Done():
	}
	select {
	case <-done:
	case <-time.After(grace):
	}
}
