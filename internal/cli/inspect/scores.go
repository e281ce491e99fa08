package inspect

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// reasonShown is the largest number of columns of a score's reason in a table.
const reasonShown = 100

// scoresOptions has the options of scores.
type scoresOptions struct {
	address string
	node    string // "" for all
	scorer  string // "" for all
	limit   int    // 0 for all
}

func scoresCommand() *arg.Command {
	cmd := &arg.Command{
		Name:    "scores",
		Summary: "list what scorers gave the tasks of a run",
		Usage:   []string{"<run>[:<frame>] [<task>] [--scorer NAME] [--limit N]"},
		About: `Lists the scores of the attempts of a run, in the order in which they were given, with their
reasons. Scorers of the workflow give scores while the run works (live), and the command
score after the fact (batch). Scores stay when a run goes back.

With --json, prints one object per line, with all that the scorer said.`,
		MinArgs: 1, MaxArgs: 2,
		Flags: []urfave.Flag{
			&urfave.StringFlag{Name: "scorer", Usage: "list only scores of the scorer `NAME`"},
			arg.LimitFlag(0, "list only the last `N` scores (default: all)"),
		},
		Exits: arg.Reads(),
		Examples: []arg.Example{
			{"list the scores of a run", "git smithers scores triage-1"},
			{"read why the judge was not content with the task fix", "git smithers scores triage-1 fix --scorer judge --json"},
		},
	}
	cmd.Run = func(ctx context.Context, s *session.Session, c *urfave.Context) error {
		limit, err := arg.ParseLimit(c)
		if err != nil {
			return err
		}
		opts := scoresOptions{address: c.Args().First(), node: c.Args().Get(1), scorer: c.String("scorer"), limit: limit}
		return s.WithStore(ctx, func(store *timeline.Store) error { return runScores(ctx, s, store, opts) })
	}
	return cmd
}

// runScores prints a line for each score that opts selects.
func runScores(ctx context.Context, s *session.Session, store *timeline.Store, opts scoresOptions) error {
	run, entry, err := newestEntry(ctx, store, opts.address)
	if err != nil {
		return err
	}
	scores, err := selectScores(entry, opts)
	if err != nil {
		return timeline.Explain(err)
	}
	if s.JSON {
		for _, score := range scores {
			if err := s.WriteJSON(term.Document("score", term.Member("runId", run), term.Member("id", score.ID(run)), score)); err != nil {
				return err
			}
		}
		return nil
	}
	if len(scores) == 0 && s.OutTTY {
		s.Note("no such scores in run %s", plain.Text(run))
	}
	return writeScores(s, scores)
}

// selectScores returns the scores in the journal of an entry that opts selects, in the order in which they were given.
func selectScores(entry *snapshot.Entry, opts scoresOptions) ([]snapshot.Score, error) {
	scores := []snapshot.Score{}
	for score, err := range entry.AllScores() {
		if err != nil {
			return nil, err
		}
		if (opts.node == "" || score.NodeID == opts.node) && (opts.scorer == "" || score.ScorerID == opts.scorer) {
			scores = append(scores, score)
		}
	}
	slices.SortStableFunc(scores, func(a, b snapshot.Score) int { return cmp.Compare(a.ScoredAtMs, b.ScoredAtMs) })
	if opts.limit > 0 && len(scores) > opts.limit {
		scores = scores[len(scores)-opts.limit:]
	}
	return scores, nil
}

// writeScores prints a table of scores.
func writeScores(s *session.Session, scores []snapshot.Score) error {
	t := term.Table{Header: []string{"TASK", "ATTEMPT", "SCORER", "SCORE", "GIVEN", "REASON"}}
	for _, score := range scores {
		t.Add(
			term.Cell{Text: display.AttemptName(plain.Text(score.NodeID), score.Iteration)},
			term.Cell{Text: strconv.Itoa(score.Attempt)},
			term.Cell{Text: plain.Text(plain.Cut(score.Name(), titleShown))},
			term.Cell{Text: display.Score(score.Value())},
			term.Cell{Text: score.Source},
			term.Cell{Text: plain.Text(plain.Shorten(plain.Words(score.Reason), reasonShown))},
		)
	}
	return t.Write(s.Terminal)
}
