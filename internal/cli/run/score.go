package run

import (
	"cmp"
	"context"
	"strings"
	"time"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/app"
	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/requests"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// maxScorerName is the largest number of bytes of the name of a scorer.
const maxScorerName = 100

func scoreCommand() *arg.Command {
	cmd := &arg.Command{
		Name:    "score",
		Summary: "score the results of a run with a command",
		Usage:   []string{"<run>[:<frame>] [<task>] --with COMMAND [--name NAME] [--again] [--timeout DURATION] [--max-parallel N]"},
		About: `Runs the command once for each finished task of the run, and keeps the scores with the run.
The command works in a new folder with the files as they were when the task ended, reads one
line of JSON on standard input (run, node, iteration, attempt, scorer, input and output), and
prints a number, or {"score": NUMBER, "reason": TEXT, "meta": ANYTHING}. Any number is a
score: what it means is up to you. A command that fails or prints no number is a warning.

--name is the scorer's name, by default the command's first word. A task that this scorer
has scored before is left out, unless --again is given: the new score then takes the place
of the old one.

scores lists the scores. compare puts those of runs side by side: --by scores.NAME finds the
best run. Scorers of a workflow score while it runs, see ` + "`git smithers help workflow-reference`" + `.

Prints a line for each score: the task, the score and the reason.`,
		MinArgs: 1, MaxArgs: 2,
		Flags: []urfave.Flag{
			&urfave.StringFlag{Name: "with", Usage: "run `COMMAND` with sh"},
			&urfave.StringFlag{Name: "name", Usage: "call the scorer `NAME`"},
			&urfave.BoolFlag{Name: "again", Usage: "score also what the scorer has scored before"},
			&urfave.DurationFlag{Name: "timeout", Value: workflow.DefaultScorerTimeout, Usage: "give the command at most `DURATION` for a score"},
			requests.MaxParallelFlag(), requests.TrustFilesFlag(),
		},
		Changes: true,
		Exits:   arg.Writes(),
		Examples: []arg.Example{
			{"judge every task of a run", "git smithers score triage-1 --with ./judge.sh"},
			{"count the tests that pass with the files of each turn", `git smithers score fix-login --name tests --with 'go test ./... -json | grep -c "\"pass\""'`},
		},
	}
	cmd.Run = func(ctx context.Context, s *session.Session, c *urfave.Context) error {
		scorer, err := parseScorer(cmd, c)
		if err != nil {
			return err
		}
		settings, err := requests.ParseSettings(s, c)
		if err != nil {
			return err
		}
		req := app.ScoreRequest{
			Address: c.Args().First(), Node: c.Args().Get(1), Scorer: scorer, Again: c.Bool("again"), Parallel: settings.MaxParallel,
			FilesTrust: settings.FilesTrust,
		}
		return s.WithStore(ctx, func(store *timeline.Store) error { return runScore(ctx, s, store, req) })
	}
	return cmd
}

// parseScorer reads the scorer from the flags.
func parseScorer(cmd *arg.Command, c *urfave.Context) (*workflow.Scorer, error) {
	words := strings.Fields(c.String("with"))
	if len(words) == 0 {
		return nil, cmd.Misused("score needs a command: add --with COMMAND")
	}
	scorer := &workflow.Scorer{Name: c.String("name"), Run: c.String("with"), Rate: 1, Timeout: c.Duration("timeout")}
	if !c.IsSet("name") {
		scorer.Name = strings.TrimRight(words[0], ";&|")
	}
	switch {
	case scorer.Timeout < time.Millisecond:
		return nil, fault.New(fault.Usage, "--timeout cannot be %v", scorer.Timeout).Hint("for example --timeout 30s")
	case scorer.Name == "" || len(scorer.Name) > maxScorerName || plain.Text(scorer.Name) != scorer.Name:
		return nil, fault.New(fault.Usage, "the scorer's name must have from 1 to %d bytes without control characters", maxScorerName).Hint("add --name NAME")
	}
	return scorer, nil
}

// runScore runs the scorer and prints its scores.
func runScore(ctx context.Context, s *session.Session, store *timeline.Store, req app.ScoreRequest) error {
	done, err := requests.Open(s, store).Score(ctx, req)
	if done == nil {
		return err
	}
	if s.JSON {
		return cmp.Or(err, s.WriteJSON(term.Document("score", term.Member("runId", done.Run), term.Member("scorer", req.Scorer.Name),
			term.Member("scores", append([]snapshot.Score{}, done.Scores...)), term.Member("failed", done.Failed), term.Member("had", done.Had))))
	}
	for _, score := range done.Scores {
		name := display.AttemptName(plain.Text(score.NodeID), score.Iteration)
		if out := s.Printf("%s\t%s\t%s\n", name, score.Score, plain.Text(score.Reason)); out != nil {
			return cmp.Or(err, out)
		}
	}
	if done.Had > 0 {
		s.Note("%s of run %s had a score of %s; --again scores again", plain.Count(done.Had, "task"), plain.Text(done.Run), plain.Text(req.Scorer.Name))
	}
	if err == nil && len(done.Scores)+done.Failed+done.Had == 0 {
		s.Note("run %s has no finished task to score", plain.Text(done.Run))
	}
	if err == nil && done.Failed > 0 && len(done.Scores) == 0 {
		return fault.New(fault.RunFailed, "scorer %s gave no score", req.Scorer.Name)
	}
	return err
}
