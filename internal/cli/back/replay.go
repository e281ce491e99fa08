package back

import (
	"context"
	"fmt"
	"slices"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/app"
	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/requests"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// replayDocument is the document of replay --json.
type replayDocument struct {
	requests.RunDocument
	ForkedRunID string  `json:"forkedRunId"`
	ParentRunID string  `json:"parentRunId"`
	ParentFrame int64   `json:"parentFrame"`
	BranchLabel *string `json:"branchLabel"`
	Started     bool    `json:"started"`
	VCSRestored bool    `json:"vcsRestored"`
	VCSPointer  *string `json:"vcsPointer"`
	Path        *string `json:"path"`
}

func replayCommand() *arg.Command {
	cmd := &arg.Command{
		Name:    "replay",
		Summary: "fork a run at a frame and run the fork",
		Usage: []string{
			"[<workflow>] <run>[:<frame>] [--restore-vcs [--to DIR]] [--set PATH=VALUE]... [--unset PATH]... [--node ID]... [--input JSON] [--label L] [--as ID] [--yes | --dry-run]",
			"<workflow> <run>[:<frame>] --engine smithers [--restore-vcs [--to DIR]] [--node ID]... [--input JSON] [--label L] [--as ID]",
		},
		About: `Forks the run at the frame, by default the newest one, and runs the fork. Finished tasks do
not run again, unless --node resets them. The fork uses the workflow stored in the frame, so
with --restore-vcs state, workflow and files are exactly those of the frame. If you name a
workflow file, the fork uses that file: tasks that the file no longer has are dropped, and
new tasks are pending. Commands that never ran in this clone are shown first, and run after
you confirm them; --yes confirms them in scripts. If this clone has not recorded the run, replay
asks before commands run on its files, and refuses to run it in your own; --trust-files RUN
allows both.

--set and --unset edit results of finished tasks as in fork: the tasks that need an edited task
run, with the new result.

The tasks work in the current working copy; a warning says if its files differ from those of
the frame. With --restore-vcs the fork gets a new working copy with the frame's files: a
linked git worktree or a jj workspace. It is created beside the current working copy and is
kept. resume continues the fork in this working copy, even if the workflow asks for a
worktree.

With --engine smithers, Smithers runs the fork, with one of its own workflows: the fork is
exported to Smithers' database in the current folder, or with --restore-vcs in the new
working copy; Smithers resumes it; and the result is imported. The command that starts
Smithers is --engine-command, the variable GIT_SMITHERS_ENGINE_COMMAND, the setting
smithers.engineCommand, the npm package installed beside the workflow, or smithers on PATH,
in this order. --db names the database if the workflow keeps it elsewhere.

--dry-run says task by task what the fork would do, as run --dry-run does, and makes none.

--as names the new run; --run-id is another way to name the run that is replayed. Prints the new run's id.`,
		MaxArgs: 2,
		Flags: append([]urfave.Flag{
			&urfave.BoolFlag{Name: "restore-vcs", Usage: "use the files of the frame, in a new working copy"},
			&urfave.StringFlag{Name: "to", Usage: "make the new working copy in `DIR`"},
			&urfave.StringFlag{Name: "as", Usage: "give the new run this `ID`"}, requests.ConfirmFlag(), requests.TrustFilesFlag(), requests.DryRunFlag(),
		}, slices.Concat(resetFlags(), arg.TargetFlags(), requests.EngineFlags(), foreignFlags())...),
		Exits: arg.Runs(),
		Examples: []arg.Example{
			{"try again with the same state, workflow and files", "git smithers replay triage-1:6 --restore-vcs"},
			{"fix the workflow, then try again from before the failure", "git smithers replay triage.yaml triage-1:6"},
			{"try again on the code of the frame", "git smithers replay triage.yaml triage-1:6 --restore-vcs"},
			{"try again with another input", `git smithers replay triage.yaml triage-1:6 --input '{"strict":false}' --label lenient`},
			{"see what would run again", "git smithers replay triage-1:6 --node fix --dry-run"},
			{"run what depends on a result, with another result", "git smithers replay triage-1:4 --set outputs.analyze.severity=low"},
			{"try again, and name the new run", "git smithers replay triage-1:6 --as triage-2"},
			{"try again with Smithers", "git smithers replay triage.tsx triage-1:6 --engine smithers"},
		},
	}
	cmd.Run = func(ctx context.Context, s *session.Session, c *urfave.Context) error {
		req, err := parseReplay(s, cmd, c)
		if err != nil {
			return err
		}
		foreign, err := parseSmithersReplay(s, c, req)
		if err != nil {
			return err
		}
		return s.WithStore(ctx, func(store *timeline.Store) error {
			switch {
			case foreign != nil:
				return runSmithersReplay(ctx, s, store, *foreign)
			case c.Bool("dry-run"):
				req.Settings, req.Effects = requests.DryRunSettings(req.Settings, c.Bool("yes")), requests.ConfirmEffects(s, true, false, false)
				plan, err := requests.Open(s, store).PlanReplay(ctx, req)
				return requests.TellPlan(s, plan, err)
			}
			return runReplay(ctx, s, store, req)
		})
	}
	return cmd
}

// parseReplay reads the request from the command line. The error is usage if --to is empty or given without
// --restore-vcs. The other errors are those of arg.ParseTarget, requests.ParseSettings and parseResets.
func parseReplay(s *session.Session, cmd *arg.Command, c *urfave.Context) (req app.ReplayRequest, err error) {
	of, err := arg.ParseTarget(s, cmd, c)
	if err != nil {
		return req, err
	}
	if to := c.String("to"); c.IsSet("to") && (to == "" || !c.Bool("restore-vcs")) {
		return req, fault.New(fault.Usage, "--to needs --restore-vcs").
			Hint("type both, for example --restore-vcs --to ../again")
	}
	req = app.ReplayRequest{
		From: of.Address, Workflow: of.Workflow, RestoreVCS: c.Bool("restore-vcs"), To: c.String("to"), BringFiles: bringByReplay(s),
	}
	if req.RunID, err = arg.NewRunID(c, "as"); err != nil {
		return req, err
	}
	if req.Settings, err = requests.ParseSettings(s, c); err != nil {
		return req, err
	}
	req.Resets, err = parseResets(s, c)
	return req, err
}

// runReplay forks a frame, runs the fork, and prints how the fork ended or why it waits. If the fork could not be run,
// it prints nothing and returns the error.
func runReplay(ctx context.Context, s *session.Session, store *timeline.Store, req app.ReplayRequest) error {
	done, err := requests.Open(s, store).Replay(ctx, req)
	if done == nil {
		return err
	}
	return requests.TellResult(s, done.Result, err, describeReplay(done, true))
}

// describeReplay returns the JSON document of a replay. started is true if an engine has begun to run the fork.
func describeReplay(done *app.ReplayResult, started bool) replayDocument {
	fork := describeParent(done.Run)
	doc := replayDocument{
		RunDocument: requests.DescribeResult("replay", done.Result), ForkedRunID: fork.ForkedRunID, ParentRunID: fork.ParentRunID,
		ParentFrame: fork.ParentFrame, BranchLabel: fork.BranchLabel, Started: started,
	}
	if done.Made != nil {
		doc.VCSRestored, doc.Path = true, new(done.Made.WorkingCopy.Root())
		doc.VCSPointer = new(done.Made.VCS.Pointer())
	}
	return doc
}

// bringByReplay returns the end of a warning, which says how to replay the frame on its own files. The text is the
// typed command with the flag --restore-vcs. If the typed command is unknown, the text names only the flag.
func bringByReplay(s *session.Session) string {
	command := s.TypedWith("--restore-vcs")
	if command == "" {
		return "add --restore-vcs to use the files of the frame"
	}
	return fmt.Sprintf("`%s` uses the files of the frame", command)
}
