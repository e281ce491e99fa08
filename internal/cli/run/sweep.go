package run

import (
	"context"
	"errors"
	"io"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/app"
	"github.com/git-smithers/git-smithers/internal/app/group"
	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/requests"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/timeline"
)

// defaultVariants is how many variants work at once, unless --parallel is given.
const defaultVariants = 3

// sweepDocument is the document of sweep --json.
type sweepDocument struct {
	requests.RunDocument
	Group *group.Group `json:"group"`
}

func sweepCommand() *arg.Command {
	cmd := &arg.Command{
		Name:    "sweep",
		Summary: "run many variants of a workflow, or of a frame, as one group",
		Usage: []string{
			"<workflow> [--inputs FILE] [--matrix KEY=A,B,...]... [--times N] [--input JSON] [--parallel N] [--stop-when EXPR] [--budget LIMITS] [--by EXPR] [--group ID] [--in-place]",
			"[<workflow>] --from RUN[:FRAME] [--inputs FILE] [--matrix KEY=A,B,...]... [--times N] ...",
			"--resume <group>",
		},
		About: `Runs a workflow once for each variant, side by side, each in a worktree of its own that begins with
your files, uncommitted changes included. The variants are one group: Ctrl-C and cancel end all of
them, and resume continues all that have not ended and starts the others. Prints the id of the
group; the runs are <group>.1, <group>.2, ….

--inputs names a file with a JSON object a line: the input of a variant, merged over --input.
--matrix adds a member with each of its values to each variant, and --times repeats each variant.
With --from, each variant is a fork of the frame, as replay makes it: its members change the input
of the frame, and members such as outputs.plan.size edit results. All variants are checked before
the first starts: if one is flawed, all flaws are told and nothing starts.

--stop-when is a condition on the state of a variant that has ended. Once it holds, no other
variant starts; those that run go on to their end. --budget limits what the variants use together:
tokens=2M, usd=5 and time=2h (since this command began), separated by commas. When a limit is
reached, no other variant starts, those that run go on, and the group fails; resume with another
budget continues it. Tokens and cost are what tasks report as usage. An attempt that reports nothing
counts as unknown, and show says how many there are.

EXPR reads run, frame, status, input, outputs.TABLE, output('TABLE', 'TASK'), state('TASK') and
scores.NAME. show ranks the variants by --by, and so do compare --group and land --best.

--in-place lets the variants work in your own working copy, for workflows that change no files.`,
		MaxArgs: 1,
		Flags: append([]urfave.Flag{
			&urfave.StringFlag{Name: "from", Usage: "fork the frame `RUN:FRAME` for each variant"},
			&urfave.StringFlag{Name: "inputs", Usage: "read variants from `FILE`, a JSON object a line; - is standard input"},
			arg.TextsFlag("matrix", "add the member KEY with each value: `KEY=A,B,...` or KEY=[JSON, ...] (can be repeated)"),
			&urfave.IntFlag{Name: "times", Value: 1, Usage: "run each variant `N` times"},
			arg.InputFlag("the input of all variants: `JSON`, @FILE, or - for standard input"),
			&urfave.IntFlag{Name: "parallel", Value: defaultVariants, Usage: "run at most `N` variants side by side"},
			&urfave.StringFlag{Name: "stop-when", Usage: "start no other variant once `EXPR` holds for one that has ended"},
			arg.TextsFlag("budget", "start no other variant beyond `LIMITS`: tokens=2M,usd=5,time=2h"),
			&urfave.StringFlag{Name: "by", Usage: "the variant with the highest `EXPR` is best"},
			&urfave.StringFlag{Name: "group", Usage: "give the group this `ID`"},
			&urfave.BoolFlag{Name: "in-place", Usage: "work in this working copy, without worktrees"},
			&urfave.StringFlag{Name: "resume", Usage: "continue the group `ID`, as resume does"},
			requests.ConfirmFlag(), requests.TrustFilesFlag(),
		}, requests.EngineFlags()...),
		Exits: arg.Runs(),
		Examples: []arg.Example{
			{"try each prompt of a file", "git smithers sweep triage.yaml --inputs prompts.jsonl --by outputs.verdict.score"},
			{"try three models, twice each", "git smithers sweep triage.yaml --matrix model=small,medium,large --times 2"},
			{"try again from a frame, until one succeeds", `git smithers sweep --from triage-1:6 --times 5 --stop-when 'status == "finished"'`},
			{"stop at two million tokens", "git smithers sweep triage.yaml --inputs prompts.jsonl --budget tokens=2M"},
			{"continue after Ctrl-C", "git smithers sweep --resume sweep-k7q2abcd"},
		},
	}
	cmd.Run = func(ctx context.Context, s *session.Session, c *urfave.Context) error {
		if c.IsSet("resume") {
			return resumeSweep(ctx, s, cmd, c)
		}
		req, err := parseSweep(s, cmd, c)
		if err != nil {
			return err
		}
		return s.WithStore(ctx, func(store *timeline.Store) error { return runSweep(ctx, s, store, req) })
	}
	return cmd
}

// sweepSettings returns the settings of EngineFlags. Logs of variants begin with the ids of their runs.
func sweepSettings(s *session.Session, c *urfave.Context) (app.Settings, error) {
	set, err := requests.ParseSettings(s, c)
	if set.Logs != nil {
		painter := s.ErrPainter(c.Context)
		set.Logs = func(run string) io.Writer { return requests.NamedLogsOf(s, painter, run) }
	}
	return set, err
}

// resumeSweep continues a group.
func resumeSweep(ctx context.Context, s *session.Session, cmd *arg.Command, c *urfave.Context) error {
	for _, name := range []string{"from", "inputs", "matrix", "times", "input", "parallel", "stop-when", "budget", "by", "group", "in-place"} {
		if c.IsSet(name) || c.NArg() > 0 {
			return cmd.Misused("--resume continues a group as it was planned: it goes with no workflow and no other variant")
		}
	}
	req := app.ResumeRequest{Run: c.String("resume"), Change: requests.AskForChange(s)}
	var err error
	if req.Settings, err = sweepSettings(s, c); err != nil {
		return err
	}
	return s.WithStore(ctx, func(store *timeline.Store) error {
		id, err := store.ResolveRunToChange(ctx, req.Run)
		if err == nil {
			_, err = group.Open(ctx, store, id, s.Now())
		}
		if err != nil {
			return err
		}
		done, err := requests.Open(s, store).Resume(ctx, req)
		if done == nil {
			return err
		}
		return tellSweep(ctx, s, store, done.Result, err)
	})
}

// runSweep runs a sweep, and prints how its variants ended.
func runSweep(ctx context.Context, s *session.Session, store *timeline.Store, req app.SweepRequest) error {
	requests.NoteUnmasked(s, store)
	result, err := requests.Open(s, store).Sweep(ctx, req)
	if result == nil {
		return err
	}
	return tellSweep(ctx, s, store, result, err)
}

// tellSweep prints how the variants of a group ended: for people a table, for scripts the id of the group. err is the error of the run of the group.
func tellSweep(ctx context.Context, s *session.Session, store *timeline.Store, result *app.Result, err error) error {
	ctx = context.WithoutCancel(ctx)
	g, readErr := requests.OpenGroup(ctx, s, store, result.Run.ID, "")
	if readErr != nil {
		return errors.Join(err, readErr)
	}
	s.Note("%s", g.Count())
	if s.OutTTY && s.TalksToPerson() {
		readErr = requests.PrintGroup(ctx, s, g)
	}
	return errors.Join(readErr, requests.TellResult(s, result, err, sweepDocument{requests.DescribeResult("sweep", result), g}))
}
