package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/app"
	"github.com/git-smithers/git-smithers/internal/app/bisect"
	"github.com/git-smithers/git-smithers/internal/app/stateexpr"
	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/requests"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

func bisectCommand() *arg.Command {
	cmd := &arg.Command{
		Name:    "bisect",
		Summary: "find the frame or the turn at which a run broke",
		Usage: []string{
			"<run> [GOOD [BAD]] [--parallel N] [--repeat N] [--again] [--replay FILE] -- COMMAND [ARGUMENT...]",
			"<run> [GOOD [BAD]] --when EXPR [--again] [--replay FILE]",
			"<run> --log",
		},
		About: `Runs the command on the files and the state of some frames, and finds the first bad one: of 1,000
frames with at most 11 probes. The command ends with 0 if the frame is good, with 125 if it cannot be
probed, and with another status below 126 if it is bad; 126 or more ends the bisect. A single word is
a line for the shell. --when runs nothing: a frame is bad if the expression over its state is true.

GOOD and BAD are numbers of frames, turn:N for the end of a turn, or addresses, also of the run from
which a fork comes. Without BAD the newest frame is probed first, and without GOOD no frame counts as
good. Dropped frames are left out.

The command works in a worktree that is made for the bisect, reads the state as a line of JSON, and
has SMITHERS_RUN_ID and SMITHERS_FRAME. What it prints goes to standard error, or nowhere with --json.
The verdicts are in a log, so the same command line goes on after Ctrl-C; --log prints that of the
newest bisect of the run. ` + "`git smithers help bisecting`" + ` tells more.`,
		MinArgs: 1, MaxArgs: arg.AnyNumber,
		Flags: []urfave.Flag{
			&urfave.StringFlag{Name: "when", Usage: "a frame is bad if `EXPR` is true"},
			&urfave.IntFlag{Name: "parallel", Value: 1, Usage: "make `N` probes at once"},
			&urfave.IntFlag{Name: "repeat", Value: 1, Usage: "run the command `N` times for each frame: if the results differ, it is flaky"},
			&urfave.BoolFlag{Name: "again", Usage: "forget the verdicts that the same command has found before"},
			&urfave.StringFlag{Name: "replay", Usage: "take the verdicts of the log `FILE`, as --log prints it"},
			&urfave.BoolFlag{Name: "log", Usage: "print the log of the newest bisect of the run"},
			requests.TrustFilesFlag(),
		},
		Exits: arg.Writes(),
		Examples: []arg.Example{
			{"find the turn that broke the tests", "git smithers bisect @session -- go test ./..."},
			{"it worked at frame 3 and is broken at frame 47", "git smithers bisect triage-1 3 47 --repeat 3 -- npm test"},
			{"ask the state", "git smithers bisect triage-1 --when 'outputs.verdict.approved == false'"},
		},
	}
	cmd.Run = func(ctx context.Context, s *session.Session, c *urfave.Context) error {
		if c.Bool("log") {
			if c.NArg() != 1 {
				return cmd.Misused("--log takes a run alone")
			}
			return s.WithStore(ctx, func(store *timeline.Store) error {
				log, err := requests.Open(s, store).BisectLog(ctx, c.Args().First())
				return cmp.Or(err, s.Printf("%s", log))
			})
		}
		req, err := parseBisect(cmd, s, c)
		if err != nil {
			return err
		}
		return s.WithStore(ctx, func(store *timeline.Store) error { return runBisect(ctx, s, store, req) })
	}
	return cmd
}

// maxAtOnce is the largest value of --parallel and --repeat.
const maxAtOnce = 100

// parseBisect returns the request of a command line.
func parseBisect(cmd *arg.Command, s *session.Session, c *urfave.Context) (req *app.BisectRequest, err error) {
	req = &app.BisectRequest{
		Parallel: c.Int("parallel"), Repeat: c.Int("repeat"), Again: c.Bool("again"), FilesTrust: requests.FilesTrust(s, c), Output: s.Err,
	}
	if s.JSON {
		req.Output = io.Discard // standard error has only documents
	}
	ends := c.Args().Slice()
	if at := slices.Index(s.Args, "--"); at >= 0 {
		words := min(len(s.Args)-at-1, len(ends))
		ends, req.Command = ends[:len(ends)-words], ends[len(ends)-words:]
	}
	switch {
	case len(ends) == 0 || len(ends) > 3:
		return nil, cmd.Misused("bisect takes a run and at most two frames before --, got %d words", len(ends))
	case c.IsSet("when") == (len(req.Command) > 0):
		return nil, cmd.Misused("bisect checks frames with a command after --, or with --when EXPR: give one of them")
	case min(req.Parallel, req.Repeat) < 1 || max(req.Parallel, req.Repeat) > maxAtOnce:
		return nil, fault.New(fault.Usage, "--parallel %d --repeat %d: both take a number from 1 to %d", req.Parallel, req.Repeat, maxAtOnce)
	}
	ends = append(slices.Clone(ends), "", "")
	req.Run, req.Good, req.Bad = ends[0], ends[1], ends[2]
	if c.IsSet("when") {
		if req.When, err = stateexpr.CompileTest("when", c.String("when")); err != nil {
			return nil, err
		}
	}
	if name := c.String("replay"); name != "" {
		if req.Known, err = os.ReadFile(s.Path(name)); err != nil {
			return nil, fault.New(fault.Usage, "the verdicts of --replay cannot be read: %w", err).Hint("`%s bisect RUN --log` prints a log", arg.Program)
		}
	}
	return req, nil
}

// runBisect bisects and prints the answer.
func runBisect(ctx context.Context, s *session.Session, store *timeline.Store, req *app.BisectRequest) error {
	done, err := requests.Open(s, store).Bisect(ctx, req)
	if ctx.Err() != nil {
		s.Note("the verdicts are kept: the same command goes on")
	}
	if done != nil && done.Probes == 0 && done.KnownAtMs > 0 {
		s.Note("the answer is from the log of %s; --again probes anew", display.ClockTime(done.KnownAtMs))
	}
	switch {
	case done == nil:
		return err
	case s.JSON:
		return errors.Join(err, s.WriteJSON(term.Document("bisect", done)))
	}
	return errors.Join(err, s.Printf("%s", answerText(done)))
}

// answerText returns the answer for people.
func answerText(done *app.BisectResult) (text string) {
	say := func(label, format string, args ...any) {
		text += fmt.Sprintf("%-10s  %s\n", label, plain.Text(plain.OneLine(fmt.Sprintf(format, args...))))
	}
	frame := func(label bisect.Verdict, f *app.BisectFrame) { say(string(label), "%s  %s", f.Address(), f.Subject) }
	for i := range done.Suspects {
		frame(done.Suspects[i].Verdict, &done.Suspects[i])
	}
	if done.FirstBad != nil {
		frame("first bad", done.FirstBad)
	}
	if done.BadNamed {
		say("not probed", "%s was named as bad", done.FirstBad.Address())
	}
	if done.LastGood != nil {
		frame("last good", done.LastGood)
	} else {
		say("last good", "none: even the first frame is bad")
	}
	if done.Turn > 0 {
		say("turn", "%d: %s", done.Turn, plain.Shorten(plain.Words(done.Prompt), 200))
	}
	for _, a := range done.Attempts {
		say("attempt", "%s, attempt %d: %s", display.AttemptName(a.NodeID, a.Iteration), a.Attempt, a.State)
	}
	for _, f := range done.Files {
		if f.Added == nil {
			say("file", "%s", f.Path)
		} else {
			say("file", "%s  +%d -%d", f.Path, *f.Added, *f.Removed)
		}
	}
	for _, o := range done.Outputs {
		say("output", "%s of %s: %s", o.Table, display.AttemptName(o.NodeID, o.Iteration), o.Op)
	}
	for i := range done.Flaky {
		frame("flaky", &done.Flaky[i])
	}
	say("probes", "%d for %s", done.Probes, plain.Count(done.Frames, "frame"))
	if done.Known > 0 {
		say("known", "%s; --again forgets those of the same command", plain.Count(done.Known, "verdict"))
	}
	if done.Log != "" {
		say("log", "%s", done.Log)
	}
	for _, line := range done.Next {
		say("next", "%s", line)
	}
	return text
}
