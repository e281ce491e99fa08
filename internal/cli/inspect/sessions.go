package inspect

import (
	"context"
	"strconv"

	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/peer/agent"
	"github.com/git-smithers/git-smithers/timeline"
)

// runSessions prints a line for each session of a coding agent, that with the newest frame first.
func runSessions(ctx context.Context, s *session.Session, store *timeline.Store, window arg.Window) error {
	sessions, err := agent.Sessions(ctx, store)
	if err != nil {
		return err
	}
	sessions = arg.First(window, sessions, func(run agent.SessionInfo) int64 { return run.UpdatedAtMs })
	if s.JSON {
		return term.WriteAll(s.Terminal, "session", sessions)
	}
	if len(sessions) == 0 && s.OutTTY {
		s.Note("no sessions yet: `git smithers session enable` records coding agents")
	}
	p := display.NewPainter(ctx, s)
	t := term.Table{Header: []string{"RUN", "STATUS", "TURNS", "FRAME", "NEWEST", "FIRST PROMPT"}}
	for _, run := range sessions {
		newest := display.ClockTime(run.UpdatedAtMs)
		if s.IsTerminalOut() {
			newest = display.Ago(s.Now(), run.UpdatedAtMs)
		}
		t.Add(
			term.Cell{Text: run.RunID}, term.Cell{Text: run.Status, Paint: p.Status}, term.Cell{Text: strconv.Itoa(run.Turns)},
			term.Cell{Text: strconv.FormatInt(run.LatestFrame, 10)}, term.Cell{Text: newest}, term.Cell{Text: run.Text()},
		)
	}
	return t.Write(s.Terminal)
}
