package upkeep

import (
	"context"

	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/peer/agent/retention"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/timeline"
)

// pruneSessionsDocument is the document of prune --sessions --json.
type pruneSessionsDocument struct {
	Kind   string `json:"kind"`
	DryRun bool   `json:"dryRun"`
	*retention.Result
}

// runPruneSessions prunes sessions by their age, and prints a line for each. If dryRun is true, it changes nothing.
func runPruneSessions(ctx context.Context, s *session.Session, store *timeline.Store, dryRun bool) (err error) {
	out := &retention.Result{Collected: []string{}}
	if dryRun {
		out.Sessions, err = retention.Plan(ctx, store)
	} else {
		out, err = retention.Round(ctx, store)
	}
	if out == nil {
		return err
	}
	if s.JSON {
		if err != nil {
			return err
		}
		return s.WriteJSON(pruneSessionsDocument{"prune-sessions", dryRun, out})
	}
	t := term.Table{Header: []string{"RUN", "WHAT"}}
	pruned := 0
	for _, one := range out.Sessions {
		if one.Pruned {
			pruned++
		}
		t.Add(term.Cell{Text: one.RunID}, term.Cell{Text: whatOf(one, dryRun)})
	}
	if !s.Quiet {
		if tableErr := t.Write(s.Terminal); tableErr != nil {
			return tableErr
		}
	}
	if dryRun {
		s.Note("%s would be pruned; nothing was changed", plain.Count(pruned, "session"))
		return err
	}
	s.Note("%s pruned, %s collected", plain.Count(pruned, "session"), plain.Count(len(out.Collected), "session"))
	return err
}

// whatOf returns what a round does with a session, in words.
func whatOf(one retention.Session, dryRun bool) string {
	switch {
	case one.Pruned && dryRun:
		return "would be pruned"
	case one.Pruned:
		return "pruned"
	case one.PrunedAtMs != nil:
		return "stays until " + display.ClockTime(*one.PrunedAtMs)
	}
	return "stays: " + one.Kept
}
