package see

import (
	"context"
	"strconv"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/cli/arg"
	"github.com/git-smithers/git-smithers/cli/display"
	"github.com/git-smithers/git-smithers/cli/session"
	"github.com/git-smithers/git-smithers/cli/term"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/list"
)

// runDocument is one line of runs --json.
type runDocument struct {
	Kind string `json:"kind"`
	list.RunInfo
	Stale bool `json:"stale,omitempty"` // the run's row says running, and no live process owns the run
}

func runsCommand() *arg.Command {
	return &arg.Command{
		Name:    "runs",
		Summary: "list the runs of this repository",
		About: `Lists every run, the newest first: its id, status, newest frame, workflow, time of creation,
and the frame from which it was forked. A run is stale if its status is running but no
process on this machine runs it: resume continues the run. With --json, prints one object
per line.`,
		Flags: []urfave.Flag{&urfave.BoolFlag{Name: "sessions", Usage: "list the sessions of coding agents, with their first prompts"}},
		Exits: arg.Reads(),
		Examples: []arg.Example{
			{"list the runs", "git smithers runs"},
			{"list the sessions of coding agents", "git smithers runs --sessions"},
			{"list the ids of the runs that failed", `git smithers runs --json | jq -r 'select(.status == "failed").runId'`},
		},
		Run: func(ctx context.Context, s *session.Session, c *urfave.Context) error {
			return s.WithStore(ctx, func(store *timeline.Store) error {
				if c.Bool("sessions") {
					return runSessions(ctx, s, store)
				}
				return runRuns(ctx, s, store)
			})
		},
	}
}

// runRuns prints a line for each run, the newest run first. It marks a run as stale if list.Stale returns true.
func runRuns(ctx context.Context, s *session.Session, store *timeline.Store) error {
	runs, err := list.Runs(ctx, store)
	if err != nil {
		return err
	}
	if s.JSON {
		for _, run := range runs {
			if err := s.WriteJSON(runDocument{"run", run, list.Stale(store, run)}); err != nil {
				return err
			}
		}
		return nil
	}
	if len(runs) == 0 && s.OutTTY {
		s.Note("no runs yet: `git smithers run WORKFLOW` starts a run")
	}
	p := display.NewPainter(ctx, s)
	t := term.Table{Header: []string{"RUN", "STATUS", "FRAME", "WORKFLOW", "CREATED", "FORKED FROM"}}
	for _, run := range runs {
		if list.Stale(store, run) {
			run.Status += " (stale)"
		}
		created := display.ClockTime(run.CreatedAtMs)
		if s.IsTerminalOut() {
			created = display.Ago(s.Now(), run.CreatedAtMs)
		}
		t.Add(
			term.Cell{Text: run.RunID}, term.Cell{Text: run.Status, Paint: p.Status}, term.Cell{Text: strconv.FormatInt(run.LatestFrame, 10)},
			term.Cell{Text: run.WorkflowName}, term.Cell{Text: created}, term.Cell{Text: parentAddress(run)},
		)
	}
	return t.Write(s.Terminal)
}

// parentAddress returns the address of the frame from which a run was forked, or "" if the run is not a fork.
func parentAddress(run list.RunInfo) string {
	if run.ParentRunID == nil || run.ParentFrameNo == nil {
		return ""
	}
	return timeline.Address{Run: *run.ParentRunID, Frame: *run.ParentFrameNo}.String()
}
