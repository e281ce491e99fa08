package inspect

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/app"
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

// defaultScorers is how many commands of --score run at once, unless --parallel is given.
const defaultScorers = 2

// parseScoring reads the request of --score, without its group; nil without the flag.
func parseScoring(cmd *arg.Command, s *session.Session, c *urfave.Context) (*app.GroupScoreRequest, error) {
	if !c.IsSet("score") {
		if c.IsSet("parallel") || c.IsSet("timeout") {
			return nil, cmd.Misused("--parallel and --timeout are for --score")
		}
		return nil, nil //nolint:nilnil // nothing is scored
	}
	words := strings.Fields(c.String("score"))
	switch {
	case !c.IsSet("group"):
		return nil, cmd.Misused("--score needs --group: `git smithers score` scores the tasks of one run")
	case len(words) == 0:
		return nil, cmd.Misused("--score is empty")
	case c.IsSet("by"):
		return nil, cmd.Misused("--score and --by do not go together: --score ranks by what the command gives")
	case c.Int("parallel") < 1 || c.Duration("timeout") < time.Millisecond:
		return nil, cmd.Misused("--parallel %d --timeout %v: use a number from 1, and a time such as 30s", c.Int("parallel"), c.Duration("timeout"))
	}
	name := plain.Cut(plain.Text(strings.TrimRight(words[0], ";&|")), maxScorer)
	req := &app.GroupScoreRequest{
		Scorer:   &workflow.Scorer{Name: name, Run: c.String("score"), Rate: 1, Timeout: c.Duration("timeout")},
		Parallel: c.Int("parallel"), Output: s.Err, FilesTrust: requests.FilesTrust(s, c),
	}
	if name == "" {
		req.Scorer.Name = "score"
	}
	if s.JSON {
		req.Output = io.Discard // standard error has only documents
	}
	req.Told = func(v *group.Variant, score *group.Score, err error) { tellScored(s, v, score, err) }
	return req, nil
}

// maxScorer is the largest number of bytes of the name of a scorer.
const maxScorer = 100

// tellScored says what the command has given a variant.
func tellScored(s *session.Session, v *group.Variant, score *group.Score, err error) {
	switch {
	case err != nil:
		s.Warn(fmt.Errorf("variant %d has no score: %w", v.Number, err))
	case score.Status != 0:
		s.Note("variant %d: %s, so it is no winner", v.Number, plain.OneLine(score.Reason))
	default:
		s.Note("%s", strings.TrimSuffix(fmt.Sprintf("variant %d: %s, %s", v.Number, display.Score(score.Value), plain.OneLine(score.Reason)), ", "))
	}
}

// scoreGroup scores the variants of a group. Code: no_best if the command has given no variant a score.
func scoreGroup(ctx context.Context, s *session.Session, store *timeline.Store, id string, req *app.GroupScoreRequest) error {
	id, err := store.ResolveRunToChange(ctx, id)
	if err == nil {
		req.Group, err = group.Open(ctx, store, id, "", s.Now())
	}
	if err != nil {
		return err
	}
	scored := 0
	tell := req.Told
	req.Told = func(v *group.Variant, score *group.Score, err error) {
		if err == nil {
			scored++
		}
		tell(v, score, err)
	}
	if err := app.ScoreGroup(ctx, requests.Open(s, store), req); err != nil {
		return err
	}
	if scored == 0 {
		return fault.New(fault.NoBest, "the command gave no variant of %s a score", id).Detail("runId", id).
			Hint("try it in the folder of a variant: `%s` lists them", fault.CommandLine(fault.Program, "worktrees"))
	}
	return nil
}
