package inspect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

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
			"<run> [GOOD [BAD]] --when EXPR [--again] [--replay FILE]", "<run> --log",
		},
		About: `Runs the command on the files and the state of some frames, and finds the first bad one: with 1,000
frames it takes at most 11 probes. Exit statuses are those of git bisect run: 0 is good, 125 skips
the frame, other statuses below 128 are bad, and 128 or more ends the bisect. --when EXPR runs
nothing: a frame is bad if the expression over its state is true.

GOOD and BAD are numbers of frames, turn:N for the end of a turn, or addresses, also of the run from
which a fork comes. Without BAD the newest frame is probed first, and without GOOD no frame counts as
good. Dropped frames are left out. Frames with the same files and the same state share a probe.

The command works in a worktree that is made for the bisect and removed afterwards. It has the files
of the frame, and ignored files as the worktree of a what-if has them; what the command leaves is
removed before the next probe, except ignored files. Standard input is the state as a line of JSON,
and SMITHERS_RUN_ID and SMITHERS_FRAME name the frame. What the command prints goes to standard
error, or nowhere with --json. A single word is a line for the shell.

--repeat N runs the command N times for each frame: a frame on which the results disagree is flaky,
and counts as skipped. Verdicts are kept in a log, so that the same command goes on after Ctrl-C;
--again begins anew. --log prints the newest log of the run, and --replay takes its verdicts.`,
		MinArgs: 1, MaxArgs: arg.AnyNumber,
		Flags: []urfave.Flag{
			&urfave.StringFlag{Name: "when", Usage: "a frame is bad if `EXPR` is true"},
			&urfave.IntFlag{Name: "parallel", Value: 1, Usage: "make `N` probes at once"},
			&urfave.IntFlag{Name: "repeat", Value: 1, Usage: "run the command `N` times for each frame"},
			&urfave.BoolFlag{Name: "again", Usage: "forget the verdicts of an earlier bisect"},
			&urfave.BoolFlag{Name: "log", Usage: "print the newest log of the run's bisects"},
			&urfave.StringFlag{Name: "replay", Usage: "take the verdicts of the log `FILE` first; - is standard input"},
			requests.TrustFilesFlag(),
		},
		Exits: arg.Writes(),
		Examples: []arg.Example{
			{"find the turn that broke the tests", "git smithers bisect @session -- go test ./..."},
			{"it worked at frame 3 and is broken at frame 47", "git smithers bisect triage-1 3 47 --repeat 3 -- npm test"},
			{"find the step that dropped the approval", "git smithers bisect triage-1 --when 'outputs.verdict.approved == false'"},
		},
	}
	cmd.Run = func(ctx context.Context, s *session.Session, c *urfave.Context) error {
		if c.Bool("log") {
			if c.NArg() > 1 {
				return cmd.Misused("bisect --log takes a run alone")
			}
			return s.WithStore(ctx, func(store *timeline.Store) error {
				text, err := requests.Open(s, store).BisectLog(ctx, c.Args().First())
				if err == nil {
					_, err = s.RawOut().Write(text)
				}
				return err
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

// parseBisect returns the request of a command line.
func parseBisect(cmd *arg.Command, s *session.Session, c *urfave.Context) (req *app.BisectRequest, err error) {
	ends := c.Args().Slice()
	req = &app.BisectRequest{
		Parallel: c.Int("parallel"), Repeat: c.Int("repeat"), Again: c.Bool("again"), FilesTrust: requests.FilesTrust(s, c), Output: &sharedWriter{to: s.Err},
	}
	if s.JSON {
		req.Output = io.Discard // standard error has only documents
	}
	if at := slices.Index(s.Args, "--"); at >= 0 {
		command := min(len(s.Args)-at-1, len(ends))
		ends, req.Command = ends[:len(ends)-command], ends[len(ends)-command:]
	}
	switch {
	case len(ends) == 0 || len(ends) > 3:
		return nil, cmd.Misused("bisect takes a run and at most two frames before --, got %d words", len(ends))
	case c.IsSet("when") == (len(req.Command) > 0):
		return nil, cmd.Misused("bisect needs a command after --, or --when, and not both")
	case c.IsSet("when") && (c.IsSet("repeat") || c.IsSet("parallel")):
		return nil, cmd.Misused("--repeat and --parallel are for commands: an expression is always true or always false")
	case req.Parallel < 1 || req.Parallel > maxParallelProbes:
		return nil, fault.New(fault.Usage, "--parallel cannot be %d", req.Parallel).Hint("from 1 to %d", maxParallelProbes)
	case req.Repeat < 1 || req.Repeat > maxRepeats:
		return nil, fault.New(fault.Usage, "--repeat cannot be %d", req.Repeat).Hint("from 1 to %d", maxRepeats)
	}
	req.Run = ends[0]
	ends = append(slices.Clone(ends), "", "")
	req.Good, req.Bad = ends[1], ends[2]
	if c.IsSet("when") {
		if req.When, err = stateexpr.CompileTest("when", c.String("when")); err != nil {
			return nil, err
		}
	}
	switch name := c.String("replay"); name {
	case "":
	case "-":
		req.Known, err = s.ReadStdin(bisect.MaxLog)
	default:
		req.Known, err = bisect.Read(s.Path(name))
	}
	if err != nil {
		return nil, fault.New(fault.Usage, "the log of --replay cannot be read: %w", err).Hint("`%s bisect RUN --log` prints a log", arg.Program)
	}
	return req, nil
}

// The largest values of --parallel and --repeat.
const (
	maxParallelProbes = 64
	maxRepeats        = 1000
)

// sharedWriter is a writer for several commands at once. It never fails: a command must not end because nobody reads.
type sharedWriter struct {
	mu sync.Mutex
	to io.Writer
}

// Write writes p.
func (w *sharedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, _ = w.to.Write(p)
	return len(p), nil
}

// runBisect bisects and prints the answer.
func runBisect(ctx context.Context, s *session.Session, store *timeline.Store, req *app.BisectRequest) error {
	done, err := requests.Open(s, store).Bisect(ctx, req)
	if ctx.Err() != nil {
		s.Note("the verdicts are kept: the same command goes on")
	}
	if done == nil {
		return err
	}
	var out error
	if s.JSON {
		out = s.WriteJSON(term.Document("bisect", done))
	} else {
		out = printBisect(s, done)
	}
	return errors.Join(err, out)
}

// printBisect prints the answer for people.
func printBisect(s *session.Session, done *app.BisectResult) error {
	var text strings.Builder
	say := func(label, format string, args ...any) {
		fmt.Fprintf(&text, "%-10s  %s\n", label, fmt.Sprintf(format, args...))
	}
	for _, f := range done.Suspects {
		say(f.Verdict.String(), "%s", frameText(f))
	}
	if done.FirstBad != nil {
		say("first bad", "%s", frameText(*done.FirstBad))
	}
	switch {
	case done.LastGood != nil:
		say("last good", "%s", frameText(*done.LastGood))
	case done.FirstBad != nil:
		say("last good", "none: even the first frame is bad")
	}
	if done.Turn > 0 {
		say("turn", "%d", done.Turn)
	}
	if done.Prompt != "" {
		say("prompt", "%s", plain.Shorten(plain.Words(plain.Text(done.Prompt)), 200))
	}
	for _, a := range done.Attempts {
		say("attempt", "%s, attempt %d: %s", display.AttemptName(plain.Text(a.NodeID), a.Iteration), a.Attempt, plain.Text(a.State))
	}
	for i, f := range done.Files {
		if i == maxBisectLines {
			say("", "and %s", plain.Count(len(done.Files)-i, "more file"))
			break
		}
		say("file", "%s%s", plain.Text(f.Path), linesText(f.Added, f.Removed))
	}
	for i, o := range done.Outputs {
		if i == maxBisectLines {
			say("", "and %s", plain.Count(len(done.Outputs)-i, "more output"))
			break
		}
		say("output", "%s of %s: %s", plain.Text(o.Table), display.AttemptName(plain.Text(o.NodeID), o.Iteration), o.Op)
	}
	for _, f := range done.Flaky {
		say("flaky", "%s", frameText(f))
	}
	known := ""
	if done.Known > 0 {
		known = fmt.Sprintf(", and %s from the log (--again forgets the log)", plain.Count(done.Known, "verdict"))
	}
	say("probes", "%d for %s%s", done.Probes, plain.Count(done.Frames, "frame"), known)
	for _, line := range done.Next {
		say("next", "%s", plain.Text(line))
	}
	return s.Printf("%s", text.String())
}

// maxBisectLines is the largest number of files, and of outputs, that the answer shows to people.
const maxBisectLines = 20

// frameText returns the address and the subject of a frame.
func frameText(f app.BisectFrame) string {
	return plain.Text(f.Address().String()) + "  " + plain.Text(plain.OneLine(f.Subject))
}

// linesText returns the numbers of changed lines; "" if they are unknown.
func linesText(added, removed *int64) string {
	if added == nil || removed == nil {
		return ""
	}
	return fmt.Sprintf("  +%d -%d", *added, *removed)
}
