package inspect

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/app/group"
	"github.com/git-smithers/git-smithers/internal/app/summary"
	"github.com/git-smithers/git-smithers/internal/claim"
	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/list"
	"github.com/git-smithers/git-smithers/internal/peer/agent"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/timeline"
)

// runDocument is one line of runs --json.
type runDocument struct {
	Kind string `json:"kind"`
	list.RunInfo
	Stale bool `json:"stale,omitempty"`        // the run's row says running, and no live process owns the run
	Left  int  `json:"leftCommands,omitempty"` // how many commands outlived the process that started them

	*agent.Name // nil for a run that is not a session
	*runFacts   // nil without --with
}

// runFacts are the members that --with adds to a line of runs --json. A member is left out if it was not asked for.
type runFacts struct {
	Waiting      *[]list.WaitInfo            `json:"waiting,omitempty"`
	TookMs       *int64                      `json:"tookMs,omitempty"`
	WaitedMs     *int64                      `json:"waitedMs,omitempty"`
	LinesAdded   *int64                      `json:"linesAdded,omitempty"` // left out also if the lines are unknown
	LinesRemoved *int64                      `json:"linesRemoved,omitempty"`
	Scores       *[]list.ScoreMean           `json:"scores,omitempty"`
	Values       *map[string]json.RawMessage `json:"values,omitempty"`
}

// runsOptions has the options of runs.
type runsOptions struct {
	window   arg.Window
	workflow *string // the name of the workflow whose runs are listed; nil lists all runs
	wanted   list.Wanted
	with     bool // --with was given
}

func runsCommand() *arg.Command {
	cmd := &arg.Command{
		Name:    "runs",
		Summary: "list the runs of this repository",
		Usage:   []string{"[--workflow NAME] [--limit N] [--since TIME] [--sessions] [--scores] [--with FACTS --json]"},
		About: `Lists every run, the newest first: its id, status, newest frame, workflow, time of creation,
and the frame from which it was forked. A run is stale if its status is running but no
process on this machine runs it: resume continues the run. The status also says how many
commands a killed process left running: cancel ends them. With --json, prints one object
per line.

A sweep is one line: show lists the runs of its variants, and so do --workflow and --json.

With --json, --with adds facts to each run: waiting (what it waits for), times (how long its
own attempts worked, and how long it waited), code (lines changed since its first frame),
scores (the mean of each scorer), input, input.MEMBER, outputs.TABLE and outputs.TABLE.MEMBER (of the newest row).`,
		Flags: append([]urfave.Flag{
			&urfave.StringFlag{Name: "workflow", Usage: "list only the runs of workflow `NAME`"},
			&urfave.BoolFlag{Name: "sessions", Usage: "list the sessions of coding agents, with their first prompts"},
			&urfave.BoolFlag{Name: "scores", Usage: "add a column with what scorers gave each run"},
			arg.TextsFlag("with", "with --json: add `FACTS`, separated by commas"),
		}, arg.WindowFlags("runs", "the newest", "with an entry")...),
		Exits: arg.Reads(),
		Examples: []arg.Example{
			{"list the runs", "git smithers runs"},
			{"list the sessions of coding agents", "git smithers runs --sessions"},
			{"compare what scorers gave the runs of a workflow", "git smithers runs --workflow nightly --scores"},
			{"list the runs of one workflow", "git smithers runs --workflow nightly"},
			{"list the ids of the runs that failed", `git smithers runs --json | jq -r 'select(.status == "failed").runId'`},
			{"list what today's runs scored, and how long they took", "git smithers runs --since 24h --json --with times,outputs.verdict.score"},
		},
	}
	cmd.Run = func(ctx context.Context, s *session.Session, c *urfave.Context) error {
		opts, err := parseRuns(cmd, s, c)
		if err != nil {
			return err
		}
		return s.WithStore(ctx, func(store *timeline.Store) error {
			if c.Bool("sessions") {
				return runSessions(ctx, s, store, opts.window)
			}
			return runRuns(ctx, s, store, opts)
		})
	}
	return cmd
}

// parseRuns reads the options from the command line. The error is usage if a fact is unknown, or if --with stands without --json or with
// --sessions, or --workflow stands with --sessions.
func parseRuns(cmd *arg.Command, s *session.Session, c *urfave.Context) (opts runsOptions, err error) {
	if opts.window, err = arg.ParseWindow(s, c); err != nil {
		return opts, err
	}
	opts.with, opts.wanted.NowMs = c.IsSet("with"), s.Now().UnixMilli()
	if opts.with && (!s.JSON || c.Bool("sessions")) {
		return opts, cmd.Misused("--with needs --json, and does not go with --sessions")
	}
	if opts.wanted.Scores = c.Bool("scores"); opts.wanted.Scores {
		if c.Bool("sessions") {
			return opts, cmd.Misused("--scores and --sessions do not go together")
		}
		opts.with = opts.with || s.JSON
	}
	if c.IsSet("workflow") {
		if c.Bool("sessions") {
			return opts, cmd.Misused("--workflow and --sessions do not go together")
		}
		name := c.String("workflow")
		opts.workflow = &name
	}
	for _, value := range arg.Texts(c, "with") {
		for name := range strings.SplitSeq(value, ",") {
			column, ok := list.ParseColumn(name)
			switch {
			case name == "waiting":
				opts.wanted.Waiting = true
			case name == "times":
				opts.wanted.Times = true
			case name == "code":
				opts.wanted.Code = true
			case name == "scores":
				opts.wanted.Scores = true
			case ok:
				opts.wanted.Columns = append(opts.wanted.Columns, column)
			default:
				return opts, cmd.Misused("--with cannot be %q", name).
					Hint("facts are waiting, times, code, scores, input, input.MEMBER, outputs.TABLE and outputs.TABLE.MEMBER")
			}
		}
	}
	return opts, nil
}

// runRuns prints a line for each run, the newest run first. It marks a run as stale if summary.StaleInfo does.
func runRuns(ctx context.Context, s *session.Session, store *timeline.Store, opts runsOptions) error {
	runs, err := list.Runs(ctx, store)
	if err != nil {
		return err
	}
	if opts.workflow != nil {
		runs = slices.DeleteFunc(runs, func(run list.RunInfo) bool { return run.WorkflowName != *opts.workflow })
	}
	var members map[string]int
	if !s.JSON && opts.workflow == nil {
		if runs, members, err = group.Fold(store, runs); err != nil {
			return err
		}
	}
	runs = arg.First(opts.window, runs, func(run list.RunInfo) int64 { return run.UpdatedAtMs })
	if s.JSON {
		return writeRuns(ctx, s, store, runs, opts)
	}
	if len(runs) == 0 && opts.workflow != nil {
		s.Note("no run of workflow %s", *opts.workflow)
	} else if len(runs) == 0 && s.OutTTY {
		s.Note("no runs yet: `git smithers run WORKFLOW` starts a run")
	}
	left, err := leftCommands(ctx, store)
	if err != nil {
		return err
	}
	p := display.NewPainter(ctx, s)
	t := term.Table{Header: []string{"RUN", "STATUS", "FRAME", "WORKFLOW", "CREATED", "FORKED FROM"}, Spare: []string{"FRAME", "FORKED FROM", "WORKFLOW", "CREATED"}}
	var facts []list.Facts
	if opts.wanted.Scores {
		t.Header = append(t.Header, "SCORES")
		if facts, err = list.ReadFacts(ctx, ctx, store, runs, opts.wanted); err != nil {
			return err
		}
	}
	names := make([]string, len(runs)) // for people alone: programs that read the text know its columns
	for i, run := range runs {
		if s.IsTerminalOut() {
			names[i] = agent.NameOf(store, run).Text()
		}
	}
	named := strings.Join(names, "") != ""
	if named {
		t.Header = append(t.Header, "PROMPT")
	}
	for i, run := range runs {
		if summary.StaleInfo(store, run) {
			run.Status += " (stale)"
		}
		if n := left[run.RunID]; n > 0 {
			run.Status += fmt.Sprintf(" (%s left)", plain.Count(n, "command"))
		}
		if n := members[run.RunID]; n > 0 && s.IsTerminalOut() {
			run.WorkflowName += " of " + plain.Count(n, "run")
		}
		created := display.ClockTime(run.CreatedAtMs)
		if s.IsTerminalOut() {
			created = display.Ago(s.Now(), run.CreatedAtMs)
		}
		cells := []term.Cell{
			{Text: run.RunID},
			{Text: run.Status, Paint: p.Status},
			{Text: strconv.FormatInt(run.LatestFrame, 10)},
			{Text: run.WorkflowName},
			{Text: created},
			{Text: parentAddress(run)},
		}
		if opts.wanted.Scores {
			cells = append(cells, term.Cell{Text: scoresOf(facts[i].Scores)})
		}
		if named {
			cells = append(cells, term.Cell{Text: names[i]})
		}
		t.Add(cells...)
	}
	return t.Write(s.Terminal)
}

// leftCommands returns how many commands outlived the process that started them, by the ids of their runs.
func leftCommands(ctx context.Context, store *timeline.Store) (map[string]int, error) {
	all, err := claim.FindLeft(ctx, store)
	left := make(map[string]int, len(all))
	for _, one := range all {
		left[one.Run] = one.Count
	}
	return left, err
}

// writeRuns prints a document for each run. It counts changed lines for at most countLinesFor.
func writeRuns(ctx context.Context, s *session.Session, store *timeline.Store, runs []list.RunInfo, opts runsOptions) error {
	var facts []list.Facts
	if opts.with {
		counting, stop := context.WithTimeout(ctx, countLinesFor)
		defer stop()
		done := s.While("reading the runs")
		var err error
		facts, err = list.ReadFacts(ctx, counting, store, runs, opts.wanted)
		done()
		if err != nil {
			return err
		}
	}
	left, err := leftCommands(ctx, store)
	if err != nil {
		return err
	}
	for i, run := range runs {
		doc := runDocument{Kind: "run", RunInfo: run, Stale: summary.StaleInfo(store, run), Left: left[run.RunID], Name: agent.NameOf(store, run)}
		if opts.with {
			doc.runFacts = describeFacts(&facts[i])
		}
		if err := s.WriteJSON(doc); err != nil {
			return err
		}
	}
	return nil
}

// scoresOf returns the means of scorers for people, such as "judge 0.75, size 9".
func scoresOf(means []list.ScoreMean) string {
	parts := make([]string, len(means))
	for i, m := range means {
		parts[i] = plain.Text(m.Scorer) + " " + display.Score(m.Mean)
	}
	return strings.Join(parts, ", ")
}

// describeFacts returns the facts about a run for its document.
func describeFacts(f *list.Facts) *runFacts {
	doc := &runFacts{TookMs: f.TookMs, WaitedMs: f.WaitedMs}
	if f.Waiting != nil {
		doc.Waiting = &f.Waiting
	}
	if f.Scores != nil {
		doc.Scores = &f.Scores
	}
	if f.Values != nil {
		doc.Values = &f.Values
	}
	if f.Lines != nil {
		doc.LinesAdded, doc.LinesRemoved = &f.Lines.Added, &f.Lines.Removed
	}
	return doc
}

// parentAddress returns the address of the frame from which a run was forked, or "" if the run is not a fork.
func parentAddress(run list.RunInfo) string {
	if run.ParentRunID == nil || run.ParentFrameNo == nil {
		return ""
	}
	return timeline.Address{Run: *run.ParentRunID, Frame: *run.ParentFrameNo}.String()
}
