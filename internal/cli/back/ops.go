package back

import (
	"context"
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

// opDocument is one line of ops --json. Its kind is the kind of the op, such as travel.
type opDocument struct {
	RunID string `json:"runId"`
	snapshot.Op
}

func opsCommand() *arg.Command {
	return &arg.Command{
		Name:    "ops",
		Summary: "list the travels, resets, restores and other operations on a run",
		Usage:   []string{"<run> [--limit N] [--since TIME]"},
		About: `Lists the operations on a run, the oldest first: travels, resets, reverts, restores, undos,
and the fork that created the run. Each has its number, its time, a description, the frame
that it made, and the operation that took it back. undo takes back the newest operation that
has not been taken back. If Smithers continued an imported run from an older frame, the
import takes back the travels and resets after that frame: they are overtaken. With --json,
prints one object per line.`,
		MinArgs: 1, MaxArgs: 1,
		Flags: arg.WindowFlags("operations", "the newest", "made"),
		Exits: arg.Reads(),
		Examples: []arg.Example{
			{"see the operation that undo would take back", "git smithers ops triage-1"},
		},
		Run: func(ctx context.Context, s *session.Session, c *urfave.Context) error {
			window, err := arg.ParseWindow(s, c)
			if err != nil {
				return err
			}
			return s.WithStore(ctx, func(store *timeline.Store) error { return runOps(ctx, s, store, c.Args().First(), window) })
		},
	}
}

// runOps prints the operations on a run, the oldest first. The argument run is the id of the run or a unique prefix.
func runOps(ctx context.Context, s *session.Session, store *timeline.Store, run string, window arg.Window) error {
	id, err := store.ResolveRun(ctx, run)
	if err != nil {
		return err
	}
	ops, err := timeline.OpsOf(ctx, store, id)
	if err != nil {
		return err
	}
	ops = arg.Last(window, ops, func(op snapshot.Op) int64 { return op.AtMs })
	if s.JSON {
		for _, op := range ops {
			if err := s.WriteJSON(opDocument{id, op}); err != nil {
				return err
			}
		}
		return nil
	}
	if len(ops) == 0 && s.OutTTY {
		s.Note("run %s has no operations", plain.Text(id))
	}
	t := term.Table{Header: []string{"OP", "TIME", "WHAT", "FRAME", "TAKEN BACK BY"}}
	for _, op := range ops {
		at, frame, undone := display.ClockTime(op.AtMs), "", ""
		if s.IsTerminalOut() {
			at = display.Ago(s.Now(), op.AtMs)
		}
		if op.Frame != nil {
			frame = strconv.FormatInt(*op.Frame, 10)
		}
		if op.UndoneBy != 0 {
			undone = strconv.Itoa(op.UndoneBy)
		}
		t.Add(term.Cell{Text: strconv.Itoa(op.Number)}, term.Cell{Text: at}, term.Cell{Text: display.Op(op)}, term.Cell{Text: frame}, term.Cell{Text: undone})
	}
	return t.Write(s.Terminal)
}
