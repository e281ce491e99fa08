package sharing

import (
	"context"
	"strconv"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/internal/share"
	"github.com/git-smithers/git-smithers/timeline"
)

func pushCommand() *arg.Command {
	return &arg.Command{
		Name:    "push",
		Summary: "push runs to a remote",
		Usage:   []string{"[<remote>] [<run>...] [--frames] [--revive] [--allow DIGEST]... [--yes] [--dry-run]"},
		About: `Pushes the named runs with all of their history and captured code, and the runs that they have
called; without a name, all runs that the remote does not have in their newest state. Also
pushes the tombstones of runs that were pruned here, so that no other push or fetch brings these
runs back.

The default remote is smithers.remote, the branch's pushRemote, remote.pushDefault, the
branch's remote, the only remote, or origin, in this order; a URL or a path works, too. Runs go
where git would push (remote.<name>.pushurl, url.<base>.pushInsteadOf), and are compared with
what is there. git push does not push runs. Nothing at the remote is overwritten: a run that was
also continued at the remote is refused until you fetch it.

--frames also pushes a ref for each frame, for people who read frames there with plain git,
as long as the remote has fewer frame refs than smithers.remoteFrameRefs.

Before it sends anything, push searches what the remote lacks for secrets. If it finds one, it
lists all of them, and pushes nothing. --allow lets a finding through once; see scan. Of files that
git-lfs keeps elsewhere, push sends the pointers alone, and warns about the objects that the remote
lacks.

Captured files are pushed, too. If there are untracked files among them that the remote was not
asked about before, push lists them and asks; smithers.pushFiles=yes or no decides for every
remote.

Sessions of coding agents stay here unless they are named, or smithers.session.push is true: @session
names the newest session of this working copy. The first time that a session goes to a remote, push
shows what goes with it, and asks. Landings stay here unless they are named.

Prints each run that was pushed, refused or named, and the outcome.`,
		MaxArgs: arg.AnyNumber,
		Flags: []urfave.Flag{
			&urfave.BoolFlag{Name: "frames", Usage: "also push a ref for each frame"},
			&urfave.BoolFlag{Name: "revive", Usage: "push the named runs even if they were pruned at the remote"},
			&urfave.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "push captured untracked files and sessions without asking"},
			&urfave.BoolFlag{Name: "dry-run", Usage: "list the runs without pushing them"},
			allowFlag(),
		},
		Exits: arg.Writes(),
		Examples: []arg.Example{
			{"push all runs that the remote does not have", "git smithers push"},
			{"push one run to a colleague", "git smithers push colleague triage-1"},
			{"push the newest session of this working copy", "git smithers push @session"},
			{"see which runs would be pushed", "git smithers push --dry-run"},
		},
		Run: func(ctx context.Context, s *session.Session, c *urfave.Context) error {
			req := share.PushRequest{Frames: c.Bool("frames"), Revive: c.Bool("revive"), DryRun: c.Bool("dry-run"), Allow: arg.Texts(c, "allow")}
			req.Remote, req.Runs = arg.RemoteAndRuns(s, c.Args().Slice())
			req.Confirm = confirmFiles(s, c.Bool("yes"))
			err := s.WithStore(ctx, func(store *timeline.Store) error {
				if err := aboutSessions(ctx, s, store, &req, c.Bool("yes")); err != nil {
					return err
				}
				return leaveLandings(ctx, s, store, &req)
			})
			if err != nil {
				return err
			}
			return withSharer(ctx, s, func(_ *timeline.Store, sharer *share.Sharer) error { return runPush(ctx, s, sharer, req) })
		},
	}
}

// runPush pushes runs, and prints the outcome for each run, including the runs that the push refused. If the push
// failed before it reached any run, runPush prints nothing and returns the error.
func runPush(ctx context.Context, s *session.Session, sharer *share.Sharer, req share.PushRequest) error {
	pushed, err := sharer.Push(ctx, req)
	if pushed == nil || err != nil && len(pushed.Runs) == 0 {
		return err
	}
	// The runs are pushed: print that, even after Ctrl-C.
	if writeErr := writePushed(context.WithoutCancel(ctx), s, pushed, req); writeErr != nil {
		return writeErr
	}
	return err
}

// writePushed prints a table of the pushed runs, or the document with --json. If there are no runs, it prints a note.
// The table of a dry run says that the runs would be pushed.
func writePushed(ctx context.Context, s *session.Session, pushed *share.PushResult, req share.PushRequest) error {
	if s.JSON {
		return s.WriteJSON(term.Document("push", term.Member("dryRun", req.DryRun), pushed))
	}
	switch {
	case len(pushed.Runs) > 0:
	case len(req.Except) > 0:
		s.Note("%s already has every other run", plain.Text(pushed.Remote))
	default:
		s.Note("%s already has every run", plain.Text(pushed.Remote))
	}
	p := display.NewPainter(ctx, s)
	t := term.Table{Header: []string{"RUN", "STATE", "TIP", "FRAME REFS", "NOTE"}}
	for _, run := range pushed.Runs {
		state := run.State
		if req.DryRun && state == share.StatePushed {
			state = "would be pushed"
		}
		tip := ""
		if !run.Tip.IsZero() {
			tip = display.ShortID(run.Tip.String())
		}
		t.Add(
			term.Cell{Text: run.RunID}, term.Cell{Text: state}, term.Cell{Text: tip, Paint: p.Revision},
			term.Cell{Text: strconv.Itoa(run.Frames)}, term.Cell{Text: plain.OneLine(run.Reason)},
		)
	}
	return t.Write(s.Terminal)
}

// confirmFiles returns a function that reports whether untracked files may be pushed to a remote. If the parameter yes
// is true, the user has already agreed, and the function returns true. Otherwise the function asks the person at the
// terminal. If there is no terminal, confirmFiles returns nil, and the push refuses such files.
func confirmFiles(s *session.Session, yes bool) func(share.Question) (bool, error) {
	const shown = 50
	if yes {
		return func(share.Question) (bool, error) { return true, nil }
	}
	if !s.CanAsk() {
		return nil
	}
	return func(q share.Question) (bool, error) {
		paths := share.ByPath(q.Files)
		if q.First {
			s.Talk("Everything in the runs goes to %s: inputs, outputs, logs and messages.\n", plain.Text(q.Remote))
		}
		s.Talk("Frames hold %s that no commit of yours has:\n", plain.Count(len(paths), "file"))
		for _, path := range paths[:min(len(paths), shown)] {
			s.Talk("  %s: %s (%s)\n", plain.Text(path.InRuns()), plain.Text(path.Path), display.Size(path.Bytes))
		}
		if more := len(paths) - shown; more > 0 {
			s.Talk("  and %d more\n", more)
		}
		return s.Ask("Push them to " + plain.Text(q.Remote) + "?")
	}
}
