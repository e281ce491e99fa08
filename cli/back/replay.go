package back

import (
	"context"
	"fmt"
	"slices"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/app"
	"github.com/git-smithers/git-smithers/cli/arg"
	"github.com/git-smithers/git-smithers/cli/desk"
	"github.com/git-smithers/git-smithers/cli/session"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// replayDocument is what replay prints with --json.
type replayDocument struct {
	desk.RunDocument
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
		Summary: "fork a run at a frame and run it from there",
		Usage: []string{
			"[<workflow>] <run>[:<frame>] [--restore-vcs [--to DIR]] [--node ID]... [--input JSON] [--label L] [--yes]",
			"<workflow> <run>[:<frame>] --engine smithers [--restore-vcs [--to DIR]] [--node ID]... [--input JSON] [--label L]",
		},
		About: `Forks the run at the frame, or at its newest one, and runs the fork. Tasks that were
finished at that frame, and are not reset by --node, do not run again. The workflow is the
one that the frame keeps: with --restore-vcs, all is exactly as it was then. With a workflow
file in front it is that file as it is now: tasks that it no longer has are dropped, new
ones are pending. Commands of a frame that were never run in this clone are shown first,
and run when that is confirmed, by --yes for scripts.

The files are those of the working copy as it is; a warning says where these are not the
files of the frame. With --restore-vcs they are the frame's, in a new working copy: a
linked worktree of git, or a workspace of jj, which is made beside this one and stays for
you to look at. It is the fork's own: resume continues in it, wherever that is called, also
if the workflow asks for a worktree.

With --engine smithers, the fork is run by Smithers, with a workflow of its own: it is
exported to the database that Smithers uses in this folder, or with --restore-vcs in the
new working copy; Smithers is started to resume it; and what it did is imported. Smithers
is what --engine-command or the setting smithers.engineCommand says, else what npm has
installed for the workflow, else smithers on PATH. --db is for workflows that keep their
database elsewhere.

Prints the new run's id.`,
		MaxArgs: 2,
		Flags: append([]urfave.Flag{
			&urfave.BoolFlag{Name: "restore-vcs", Usage: "run on the files of the frame, in a new working copy"},
			&urfave.StringFlag{Name: "to", Usage: "make the new working copy in `DIR`"}, desk.ConfirmFlag(),
		}, slices.Concat(resetFlags(), arg.TargetFlags(), desk.EngineFlags(), foreignFlags())...),
		Exits: arg.Runs(),
		Examples: []arg.Example{
			{"try again exactly as it was: state, workflow and files", "git smithers replay triage-1:6 --restore-vcs"},
			{"mend the workflow, then try again from before the failure", "git smithers replay triage.yaml triage-1:6"},
			{"try again on the code as it was then", "git smithers replay triage.yaml triage-1:6 --restore-vcs"},
			{"try again with another input", `git smithers replay triage.yaml triage-1:6 --input '{"strict":false}' --label lenient`},
			{"have Smithers try again", "git smithers replay triage.tsx triage-1:6 --engine smithers"},
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
			if foreign != nil {
				return runSmithersReplay(ctx, s, store, *foreign)
			}
			return runReplay(ctx, s, store, req)
		})
	}
	return cmd
}

func parseReplay(s *session.Session, cmd *arg.Command, c *urfave.Context) (req app.ReplayRequest, err error) {
	of, err := arg.ParseTarget(s, cmd, c)
	if err != nil {
		return req, err
	}
	if to := c.String("to"); c.IsSet("to") && (to == "" || !c.Bool("restore-vcs")) {
		return req, fault.New(fault.Usage, "--to names the folder that --restore-vcs makes").
			Hint("give both, for example --restore-vcs --to ../again")
	}
	req = app.ReplayRequest{
		From: of.Address, Workflow: of.Workflow, RestoreVCS: c.Bool("restore-vcs"), To: c.String("to"), BringFiles: bringByReplay(s),
	}
	if req.Settings, err = desk.ParseSettings(s, c); err != nil {
		return req, err
	}
	req.Resets, err = parseResets(s, c)
	return req, err
}

// runReplay forks a frame and runs the fork.
func runReplay(ctx context.Context, s *session.Session, store *timeline.Store, req app.ReplayRequest) error {
	done, err := desk.Open(s, store).Replay(ctx, req)
	if done == nil {
		return err
	}
	return desk.TellResult(s, done.Result, err, describeReplay(done, true))
}

// describeReplay describes a fork that was executed.
func describeReplay(done *app.ReplayResult, started bool) replayDocument {
	fork := describeParent(done.Run)
	doc := replayDocument{
		RunDocument: desk.DescribeResult("replay", done.Result), ForkedRunID: fork.ForkedRunID, ParentRunID: fork.ParentRunID,
		ParentFrame: fork.ParentFrame, BranchLabel: fork.BranchLabel, Started: started,
	}
	if done.Made != nil {
		doc.VCSRestored, doc.Path = true, new(done.Made.WorkingCopy.Root())
		doc.VCSPointer = new(done.Made.VCS.Pointer())
	}
	return doc
}

// bringByReplay returns the command that replays the frame on its own files: the command that was typed, with one flag more.
func bringByReplay(s *session.Session) string {
	command := s.TypedWith("--restore-vcs")
	if command == "" {
		return "the same command with --restore-vcs runs on the files of the frame"
	}
	return fmt.Sprintf("`%s` runs on the files of the frame", command)
}
