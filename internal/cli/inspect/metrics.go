package inspect

import (
	"context"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/app/telemetry"
	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/requests"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/timeline"
)

func metricsCommand() *arg.Command {
	return &arg.Command{
		Name:    "metrics",
		Summary: "count what runs did, for Prometheus",
		About: `Prints numbers about all runs of the repository in the text format of Prometheus: runs by
status, frames, forks, attempts and how long they took, waits and their age, the queue, hits
of the cache, tool calls, scores, schedules and sandboxes, and the size of files. All but the
last come from the history, so they are the same whoever asks. scripting.md lists them.

To have them scraped, let git smithers supervise --metrics serve them, or write them to a file
for the textfile collector of the node exporter.`,
		Exits: arg.Reads(),
		Examples: []arg.Example{
			{"read the numbers", "git smithers metrics"},
			{"hand them to the node exporter every minute", "git smithers metrics >smithers.prom.new && mv smithers.prom.new /var/lib/node_exporter/smithers.prom"},
		},
		Run: func(ctx context.Context, s *session.Session, _ *urfave.Context) error {
			return s.WithStore(ctx, func(store *timeline.Store) error { return runMetrics(ctx, s, store) })
		},
	}
}

// runMetrics prints the metrics.
func runMetrics(ctx context.Context, s *session.Session, store *timeline.Store) error {
	families, err := requests.ReadMetrics(ctx, s, store)
	if err != nil {
		return err
	}
	if s.JSON {
		return s.WriteJSON(term.Document("metrics", term.Member("metrics", families)))
	}
	return telemetry.WriteMetrics(s.Out, families)
}
