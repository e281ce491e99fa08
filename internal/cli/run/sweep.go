package run

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/app"
	"github.com/git-smithers/git-smithers/internal/app/group"
	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/requests"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/internal/jsontext"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
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
			"<workflow> [--inputs FILE] [--matrix KEY=A,B,...]... [--times N] [--input JSON] [--parallel N] [--stop-when EXPR] [--budget LIMITS] [--by EXPR] [--group ID] [--in-place] [--dry-run]",
			"[<workflow>] --from RUN[:FRAME] [--inputs FILE] [--matrix KEY=A,B,...]... [--times N] ...",
		},
		About: `Runs a workflow once for each variant, side by side, each in a worktree of its own that begins with
your files, uncommitted changes included. The variants are one group: Ctrl-C and cancel end all of
them, and resume continues all that have not ended and starts the others. Prints the id of the
group; the runs are <group>.1, <group>.2, ….

--inputs names a file with a JSON object a line: the input of a variant, merged over --input.
--matrix adds a member with each of its values to each variant, and --times repeats each variant.
With --from, each variant is a fork of the frame, as replay makes it: its members change the input
of the frame, and members such as outputs.plan.size edit results. All variants are checked before
the first starts: if one is flawed, all flaws are told and nothing starts. --dry-run only does that,
and says what each variant would run.

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
			&urfave.StringFlag{Name: "from", Usage: "fork `RUN` for each variant, at its newest frame or at RUN:FRAME"},
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
			requests.DryRunFlag(), requests.ConfirmFlag(), requests.TrustFilesFlag(),
		}, requests.EngineFlags()...),
		Exits: arg.Runs(),
		Examples: []arg.Example{
			{"try each prompt of a file", "git smithers sweep triage.yaml --inputs prompts.jsonl --by outputs.verdict.score"},
			{"try three models, twice each", "git smithers sweep triage.yaml --matrix model=small,medium,large --times 2"},
			{"try again from a frame, until one succeeds", `git smithers sweep --from triage-1:6 --times 5 --stop-when 'status == "finished"'`},
			{"stop at two million tokens", "git smithers sweep triage.yaml --inputs prompts.jsonl --budget tokens=2M"},
			{"see what would run", "git smithers sweep triage.yaml --inputs prompts.jsonl --dry-run"},
			{"continue after Ctrl-C", "git smithers resume sweep-k7q2abcd"},
		},
	}
	cmd.Run = func(ctx context.Context, s *session.Session, c *urfave.Context) error {
		req, err := parseSweep(s, cmd, c)
		if err != nil {
			return err
		}
		return s.WithStore(ctx, func(store *timeline.Store) error {
			if c.Bool("dry-run") {
				req.Settings = requests.DryRunSettings(req.Settings, c.Bool("yes"))
				return planSweep(ctx, s, store, req)
			}
			return runSweep(ctx, s, store, req)
		})
	}
	return cmd
}

// runSweep runs a sweep, and prints how its variants ended.
func runSweep(ctx context.Context, s *session.Session, store *timeline.Store, req app.SweepRequest) error {
	requests.NoteUnmasked(s, store)
	result, err := requests.Open(s, store).Sweep(ctx, req)
	if result == nil {
		return err
	}
	g, readErr := group.Open(context.WithoutCancel(ctx), store, result.Run.ID, "", s.Now())
	if readErr != nil {
		s.Warn(readErr)
	} else {
		s.Note("%s; `%s` shows them", g.Count(), fault.CommandLine(fault.Program, "show", result.Run.ID))
	}
	return requests.TellResult(s, result, err, sweepDocument{requests.DescribeResult("sweep", result), g})
}

// planSweep prints what a sweep would do: a line for each variant.
func planSweep(ctx context.Context, s *session.Session, store *timeline.Store, req app.SweepRequest) error {
	variants, err := requests.Open(s, store).PlanSweep(ctx, req)
	if err != nil {
		return err
	}
	if s.JSON {
		return term.WriteAll(s.Terminal, "variant", variants)
	}
	t := term.Table{Header: []string{"VARIANT", "INPUT", "DOES"}}
	for _, v := range variants {
		t.Add(term.Cell{Text: workflow.VariantTask(v.Number)}, term.Cell{Text: display.Value(v.Input, display.ValueShown)}, term.Cell{Text: requests.CountPlanned(v.Plan)})
	}
	if err := t.Write(s.Terminal); err != nil {
		return err
	}
	s.Note("%s; nothing was run or written", plain.Count(len(variants), "variant"))
	return nil
}

// parseSweep reads the request from the command line. The error is usage if a flag is misused, and invalid_input if the file of --inputs cannot be read.
// The variants themselves are not checked.
func parseSweep(s *session.Session, cmd *arg.Command, c *urfave.Context) (req app.SweepRequest, err error) {
	req.Workflow = c.Args().First()
	req.Plan = workflow.SweepPlan{From: c.String("from"), Parallel: c.Int("parallel"), StopWhen: c.String("stop-when"), By: c.String("by"), InPlace: c.Bool("in-place")}
	switch {
	case req.Workflow == "" && req.Plan.From == "":
		return req, cmd.Misused("sweep needs a workflow file, or --from with a frame")
	case c.Int("times") < 1 || c.Int("times") > workflow.MaxVariants:
		return req, cmd.Misused("--times cannot be %d", c.Int("times")).Hint("use a number from 1 to %d", workflow.MaxVariants)
	case req.Plan.Parallel < 1:
		return req, cmd.Misused("--parallel cannot be %d", req.Plan.Parallel).Hint("use a number from 1")
	case !c.IsSet("inputs") && !c.IsSet("matrix") && !c.IsSet("times"):
		return req, cmd.Misused("sweep needs variants: --inputs, --matrix or --times")
	}
	if req.Plan.Budget, err = parseBudget(cmd, arg.Texts(c, "budget")); err != nil {
		return req, err
	}
	if req.Group, err = arg.NewGroupID(c, "group"); err != nil {
		return req, err
	}
	if req.Settings, err = requests.ParseSettings(s, c); err != nil {
		return req, err
	}
	if req.Logs != nil {
		painter := s.ErrPainter(c.Context)
		req.Logs = func(run string) io.Writer { return requests.NamedLogsOf(s, painter, run) }
	}
	if req.Plan.Input, err = arg.ReadInput(s, c); err != nil {
		return req, err
	}
	if req.Plan.From != "" {
		req.Effects = requests.ConfirmEffects(s, c.Bool("yes") || c.Bool("dry-run"), false, false)
	}
	return req, readVariants(s, cmd, c, &req)
}

// readVariants sets the variants of the request and their names. Code: limit_exceeded if there are too many.
func readVariants(s *session.Session, cmd *arg.Command, c *urfave.Context, req *app.SweepRequest) error {
	variants, names := []json.RawMessage{json.RawMessage("{}")}, []string{""}
	if c.IsSet("inputs") {
		file := c.String("inputs")
		data, err := arg.ReadText(c.Context, s, "--inputs", file)
		if err != nil {
			return err
		}
		variants, names = nil, nil
		for i, line := range bytes.Split(data, []byte("\n")) {
			if line = bytes.TrimSpace(line); len(line) > 0 {
				variants, names = append(variants, line), append(names, fmt.Sprintf("%s:%d", file, i+1))
			}
		}
	}
	n := len(variants) * c.Int("times")
	for _, text := range arg.Texts(c, "matrix") {
		key, values, err := parseAxis(cmd, text)
		if err != nil {
			return err
		}
		if n *= len(values); n <= workflow.MaxVariants {
			variants, names = multiply(variants, names, key, values)
		}
	}
	if n > workflow.MaxVariants {
		return fault.New(fault.LimitExceeded, "the sweep would have %d variants; it can have %d", n, workflow.MaxVariants).Hint("divide it into several sweeps")
	}
	for i, v := range variants {
		req.Plan.Variants = slices.Concat(req.Plan.Variants, slices.Repeat([]json.RawMessage{v}, c.Int("times")))
		req.Named = slices.Concat(req.Named, slices.Repeat(names[i:i+1], c.Int("times")))
	}
	return nil
}

// multiply returns each variant with each value of a member, and their names. A variant that is not an object stays, so that it is refused later.
func multiply(variants []json.RawMessage, names []string, key string, values []json.RawMessage) (out []json.RawMessage, outNames []string) {
	for i, v := range variants {
		for _, value := range values {
			with, _ := jsontext.Encode(jsontext.Members{{Name: key, Value: value}}) // value is JSON
			if merged, err := timeline.MergeInput(v, with); err == nil && jsontext.Valid(v) {
				out = append(out, merged)
			} else {
				out = append(out, v)
			}
			outNames = append(outNames, strings.TrimSpace(fmt.Sprintf("%s %s=%s", names[i], key, value)))
		}
	}
	return out, outNames
}

// parseAxis reads a value of --matrix. A value of the axis that is not JSON is a text.
func parseAxis(cmd *arg.Command, text string) (key string, values []json.RawMessage, err error) {
	key, rest, _ := strings.Cut(text, "=")
	if key == "" || rest == "" {
		return "", nil, cmd.Misused("--matrix cannot be %q", text).Hint("type a name and its values, for example --matrix model=small,large")
	}
	if whole := json.RawMessage(rest); rest[0] == '[' && jsontext.Valid(whole) {
		for value := range jsontext.Elements(whole) {
			values = append(values, value)
		}
		return key, values, nil
	}
	for part := range strings.SplitSeq(rest, ",") {
		value := json.RawMessage(part)
		if !jsontext.Valid(value) {
			if value, err = jsontext.Encode(part); err != nil {
				return "", nil, err
			}
		}
		values = append(values, value)
	}
	return key, values, nil
}

// parseBudget reads the values of --budget; nil if there are none.
func parseBudget(cmd *arg.Command, texts []string) (*workflow.SweepBudget, error) {
	if len(texts) == 0 {
		return nil, nil //nolint:nilnil // no budget
	}
	out := new(workflow.SweepBudget)
	for text := range strings.SplitSeq(strings.Join(texts, ","), ",") {
		name, value, _ := strings.Cut(text, "=")
		var n float64
		var err error
		if name == "time" {
			var d time.Duration
			d, err = time.ParseDuration(value)
			n = float64(d.Milliseconds())
		} else {
			digits := strings.TrimRight(value, "kMG")
			n, err = strconv.ParseFloat(digits, 64)
			n *= map[string]float64{"": 1, "k": 1e3, "M": 1e6, "G": 1e9}[value[len(digits):]]
		}
		if err != nil || !(n > 0 && n < 1e15) || !slices.Contains([]string{"tokens", "usd", "time"}, name) {
			return nil, cmd.Misused("--budget cannot have %q", text).Hint("limits are tokens=2M, usd=5 and time=2h")
		}
		switch name {
		case "tokens":
			out.Tokens = int64(math.Ceil(n))
		case "usd":
			out.CostUSD = n
		case "time":
			out.TimeMs = int64(math.Ceil(n))
		}
	}
	return out, nil
}
