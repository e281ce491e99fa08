package cli

import (
	"context"
	"fmt"
	"slices"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/app"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// replayDocument is what replay prints with --json.
type replayDocument struct {
	runResult
	ForkedRunID string  `json:"forkedRunId"`
	ParentRunID string  `json:"parentRunId"`
	ParentFrame int64   `json:"parentFrame"`
	BranchLabel *string `json:"branchLabel"`
	Started     bool    `json:"started"`
	VCSRestored bool    `json:"vcsRestored"`
	VCSPointer  *string `json:"vcsPointer"`
	Path        *string `json:"path"`
}

func replayCommand() *command {
	cmd := &command{
		name:    "replay",
		summary: "fork a run at a frame and run it from there",
		usage: []string{
			"[<workflow>] <run>[:<frame>] [--restore-vcs [--to DIR]] [--node ID]... [--input JSON] [--label L] [--yes]",
			"<workflow> <run>[:<frame>] --engine smithers [--restore-vcs [--to DIR]] [--node ID]... [--input JSON] [--label L]",
		},
		about: `Forks the run at the frame, or at its newest one, and runs the fork. Tasks that were
finished at that frame, and are not reset by --node, do not run again. The workflow is the
one that the frame keeps: with --restore-vcs, all is exactly as it was then. With a workflow
file in front it is that file as it is now: tasks that it no longer has are dropped, new
ones are pending. Commands of a frame that were never run in this clone are shown first,
and run when that is confirmed, by --yes for scripts.

The files are those of the working copy as it is; a warning says where these are not the
files of the frame. With --restore-vcs they are the frame's, in a new working copy: a
linked worktree of git, or a workspace of jj, which is made beside this one and stays for
you to look at. It is the fork's own: resume goes on in it, wherever that is called, also
if the workflow asks for a worktree.

With --engine smithers, the fork is run by Smithers, with a workflow of its own: it is
exported to the database that Smithers uses in this folder, or with --restore-vcs in the
new working copy; Smithers is started to resume it; and what it did is imported. Smithers
is what --engine-command or the setting smithers.engineCommand says, else what npm has
installed for the workflow, else smithers on PATH. --db is for workflows that keep their
database elsewhere.

Prints the new run's id.`,
		maxArgs: 2,
		flags: append([]urfave.Flag{
			&urfave.BoolFlag{Name: "restore-vcs", Usage: "run on the files of the frame, in a new working copy"},
			&urfave.StringFlag{Name: "to", Usage: "make the new working copy in `DIR`"}, confirmFlag(),
		}, slices.Concat(resetFlags(), targetFlags(), engineFlags(), foreignFlags())...),
		exits: runs(),
		examples: []example{
			{"try again exactly as it was: state, workflow and files", "git smithers replay triage-1:6 --restore-vcs"},
			{"mend the workflow, then try again from before the failure", "git smithers replay triage.yaml triage-1:6"},
			{"try again on the code as it was then", "git smithers replay triage.yaml triage-1:6 --restore-vcs"},
			{"try again with another input", `git smithers replay triage.yaml triage-1:6 --input '{"strict":false}' --label lenient`},
			{"have Smithers try again", "git smithers replay triage.tsx triage-1:6 --engine smithers"},
		},
	}
	cmd.run = func(ctx context.Context, s *session, c *urfave.Context) error {
		req, err := parseReplay(s, cmd, c)
		if err != nil {
			return err
		}
		foreign, err := s.parseSmithersReplay(c, req)
		if err != nil {
			return err
		}
		return s.withStore(ctx, func(store *timeline.Store) error {
			if foreign != nil {
				return runSmithersReplay(ctx, s, store, *foreign)
			}
			return runReplay(ctx, s, store, req)
		})
	}
	return cmd
}

func parseReplay(s *session, cmd *command, c *urfave.Context) (req app.ReplayRequest, err error) {
	of, err := parseTarget(s, cmd, c)
	if err != nil {
		return req, err
	}
	if to := c.String("to"); c.IsSet("to") && (to == "" || !c.Bool("restore-vcs")) {
		return req, fault.New(fault.Usage, "--to names the folder that --restore-vcs makes").
			Hint("give both, for example --restore-vcs --to ../again")
	}
	req = app.ReplayRequest{
		From: of.address, Workflow: of.workflow, RestoreVCS: c.Bool("restore-vcs"), To: c.String("to"), BringFiles: s.bringByReplay(),
	}
	if req.Settings, err = s.parseEngine(c); err != nil {
		return req, err
	}
	req.Resets, err = parseResets(s, c)
	return req, err
}

// runReplay forks a frame and runs the fork.
func runReplay(ctx context.Context, s *session, store *timeline.Store, req app.ReplayRequest) error {
	done, err := s.desk(store).Replay(ctx, req)
	if done == nil {
		return err
	}
	return s.tellResult(done.Result, err, describeReplay(done, true))
}

// describeReplay describes a fork that was executed.
func describeReplay(done *app.ReplayResult, started bool) replayDocument {
	fork := describeParent(done.Run)
	doc := replayDocument{
		runResult: describeResult("replay", done.Result), ForkedRunID: fork.ForkedRunID, ParentRunID: fork.ParentRunID,
		ParentFrame: fork.ParentFrame, BranchLabel: fork.BranchLabel, Started: started,
	}
	if done.Made != nil {
		doc.VCSRestored, doc.Path = true, new(done.Made.WorkingCopy.Root())
		doc.VCSPointer = new(done.Made.VCS.Pointer())
	}
	return doc
}

// bringByReplay says by which command the frame is replayed on its own files: the one that was typed, with a flag more.
func (s *session) bringByReplay() string {
	command := s.typedWith("--restore-vcs")
	if command == "" {
		return "the same command with --restore-vcs runs on the files of the frame"
	}
	return fmt.Sprintf("`%s` runs on the files of the frame", command)
}
