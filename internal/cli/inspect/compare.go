package inspect

import (
	"cmp"
	"context"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/app/comparison"
	"github.com/git-smithers/git-smithers/internal/app/group"
	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/requests"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

func compareCommand() *arg.Command {
	cmd := &arg.Command{
		Name:    "compare",
		Summary: "compare what came of runs, and what they cost",
		Usage: []string{
			"<run> <run>... [--by OUTPUT] [--outputs OUTPUT,...] [--csv]",
			"--forks-of <run> [<run>...] [--by OUTPUT] [--outputs OUTPUT,...] [--csv]",
			"--group <group> [--by EXPR] [--outputs OUTPUT,...] [--csv]",
			"--group <group> --score COMMAND [--parallel N] [--timeout DURATION] [--outputs OUTPUT,...] [--csv]",
		},
		About: `Puts runs side by side: from where they were forked, where they first differ, their input,
chosen outputs, failed attempts, time, tokens, cost, and changed lines and files. The first
run is the base: values that are equal to its values are faint.

The best run is the one with the highest value of --by. Of equal runs, a run that has
finished is better than one that waits, then the one with fewer changed lines, then the
shorter one. A line below the table says what decided.

--group compares the runs of a sweep, without --by by that of the sweep. --by also takes an expression,
such as 'outputs.verdict.score - outputs.usage.costUsd', over run, frame, status, input,
outputs.TABLE, output('TABLE', 'TASK'), state('TASK') and scores.NAME: true is 1.

--score runs a command on the files of each variant of the group, in a scratch folder, and ranks the
variants by what it gives. The last line on its standard output is the score, if it is a number or
{"score": NUMBER, "reason": TEXT}; without one, a command that ends well gives 1. A variant on which
the command fails is no winner, nor is one that has failed itself. The scores stay with the group:
show, compare --group and land --best go by them, and scores.NAME reads them, where NAME is the
first word of the command.

OUTPUT is TABLE.MEMBER, with or without "outputs." in front: the member of the newest row of
an output table. scores.NAME is the mean of what the scorer NAME gave. Without --outputs, the short values of the last steps are shown. Tokens and
cost are those of the output table usage: ` + "`git smithers help workflow-reference`" + ` describes it.

At a terminal, up to eight runs are columns if they fit, and otherwise each run is a line.
With --json, prints one document. With --csv, prints a header and one line per run.`,
		MaxArgs: arg.AnyNumber,
		Flags: []urfave.Flag{
			&urfave.StringFlag{Name: "forks-of", Usage: "compare `RUN`, its forks, and their forks"},
			&urfave.StringFlag{Name: "group", Usage: "compare the variants of the sweep `RUN`"},
			&urfave.StringFlag{Name: "score", Usage: "with --group: score each variant by running `COMMAND` with sh on its files"},
			&urfave.IntFlag{Name: "parallel", Value: defaultScorers, Usage: "with --score: run at most `N` commands side by side"},
			&urfave.DurationFlag{Name: "timeout", Value: workflow.DefaultScorerTimeout, Usage: "with --score: give the command at most `DURATION`"},
			requests.TrustFilesFlag(),
			&urfave.StringFlag{Name: "by", Usage: "the run with the highest `OUTPUT` or expression is best"},
			&urfave.StringFlag{Name: "outputs", Usage: "show these outputs: `TABLE.MEMBER,...`"},
			&urfave.BoolFlag{Name: "only-differences", Usage: "leave out of the table what is equal in all runs"},
			&urfave.BoolFlag{Name: "csv", Usage: "print comma-separated values, one line per run"},
		},
		Exits: arg.Writes(),
		Examples: []arg.Example{
			{"let the tests judge the courses of a session", "git smithers compare --group fix --score 'make test'"},
			{"compare two runs", "git smithers compare triage-1 triage-2"},
			{"see which variant of a sweep did best", "git smithers compare --group sweep-k7q2abcd --by outputs.verdict.score"},
			{"find the best fork of a run", "git smithers compare --forks-of triage-1 --by outputs.verdict.score"},
			{"compare the newest session with its other courses", "git smithers compare --forks-of @session"},
			{"see only what differs", "git smithers compare --forks-of triage-1 --only-differences"},
			{"open the numbers in a spreadsheet", "git smithers compare --forks-of triage-1 --csv >runs.csv"},
		},
	}
	cmd.Run = func(ctx context.Context, s *session.Session, c *urfave.Context) error {
		options := comparison.Options{ForksOf: c.String("forks-of"), By: c.String("by"), Now: s.Now()}
		switch {
		case c.NArg() == 0 && options.ForksOf == "" && !c.IsSet("group"):
			return cmd.Misused("compare needs runs, or --forks-of or --group")
		case c.Bool("csv") && s.JSON:
			return cmd.Misused("--csv and --json do not go together")
		case c.Bool("only-differences") && (c.Bool("csv") || s.JSON):
			return cmd.Misused("--only-differences is for the table: --csv and --json have all values")
		}
		scoring, err := parseScoring(cmd, s, c)
		if err != nil {
			return err
		}
		for name := range strings.SplitSeq(c.String("outputs"), ",") {
			if name = strings.TrimSpace(name); name != "" {
				options.Outputs = append(options.Outputs, name)
			}
		}
		return s.WithStore(ctx, func(store *timeline.Store) error {
			if scoring != nil {
				if err := scoreGroup(ctx, s, store, c.String("group"), scoring); err != nil {
					return err
				}
				options.By = group.By(scoring.Scorer.Name)
			}
			progress := s.Progress("reading runs")
			options.Progress = progress.Update
			runs, err := withGroup(ctx, store, c.String("group"), c.Args().Slice(), &options)
			if err != nil {
				return err
			}
			compared, err := comparison.Runs(ctx, store, runs, options)
			progress.Finish()
			if err != nil {
				return err
			}
			if len(compared.Runs) == 1 && options.ForksOf == "" && !c.IsSet("group") {
				return cmd.Misused("compare needs two or more runs, got one: %s", plain.Text(compared.Runs[0].Row.ID))
			}
			return printComparison(ctx, s, compared, c.Bool("csv"), c.Bool("only-differences"))
		})
	}
	return cmd
}

// withGroup returns runs with those of a group before them, and sets the value by which the group ranks its runs, unless options have one. id is ""
// for none. Codes: those of group.Open; no_best if no variant has started.
func withGroup(ctx context.Context, store *timeline.Store, id string, runs []string, options *comparison.Options) ([]string, error) {
	if id == "" {
		return runs, nil
	}
	g, err := group.Open(ctx, store, id, options.By, options.Now)
	if err != nil {
		return nil, err
	}
	options.By = cmp.Or(options.By, g.By)                   // not the expression of a stranger
	options.Finished = g.Row.Workflow == workflow.SweepName // as land --best
	options.Scores = g.Scores()
	members := g.Runs()
	if len(members) == 0 {
		return nil, fault.New(fault.NoBest, "no variant of %s has started", g.Row.ID).Detail("runId", g.Row.ID).
			Hint("`%s` starts them", fault.CommandLine(fault.Program, "resume", g.Row.ID))
	}
	return append(members, runs...), nil
}

// printComparison prints a comparison as JSON, as CSV if csv is set, or as a table. With onlyDifferences, the table
// leaves out what is equal in all runs.
func printComparison(ctx context.Context, s *session.Session, compared *comparison.Comparison, csv, onlyDifferences bool) error {
	switch {
	case s.JSON:
		return s.WriteJSON(newComparisonDocument(compared))
	case csv:
		return writeComparisonCSV(s.Out, compared)
	case len(compared.Runs) == 1:
		s.Note("run %s has no forks", plain.Text(compared.Runs[0].Row.ID))
	}
	v := newComparisonView(compared, display.NewPainter(ctx, s), onlyDifferences)
	if !s.IsTerminalOut() {
		return v.allColumns().Write(s.Terminal)
	}
	v.width = s.Columns()
	return s.Paged(ctx, func() error { return s.Printf("%s", v.text()) })
}
