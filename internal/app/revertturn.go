package app

import (
	"context"
	"fmt"

	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/internal/peer/agent"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// RevertTurn takes back what a turn of a session changed, and keeps what was changed since: see files.TakeBack. text names the turn, and req has
// the options; own makes it take back only the files that the session's own calls of tools name. Codes: those of agent.TurnToChange and files.TakeBack.
func (d *Desk) RevertTurn(ctx context.Context, text string, own bool, req files.TakeBackRequest) (*files.TakeBackResult, error) {
	run, turn, err := agent.TurnToChange(ctx, d.Store, text)
	if err != nil {
		return nil, err
	}
	req.Run, req.Before, req.Next = run, run+"@"+agent.TurnID(turn), run+"@"+agent.TurnID(turn+1)
	req.Name, req.Attempt = fmt.Sprintf("turn %d", turn), agent.TurnAttempt(turn)
	if own {
		at, err := d.Store.Load(ctx, run)
		if err != nil {
			return nil, err
		}
		if req.Only, err = agent.OwnPaths(at, d.Store.Workspace().Root); err != nil {
			return nil, err
		}
	}
	over := d.Teller.While(RestoringFiles)
	defer over()
	req.Confirm = confirming(req.Confirm, over)
	result, err := files.TakeBack(ctx, d.Store, req)
	if fault.CodeOf(err) == fault.AttemptNotFound {
		err = fault.New(fault.AttemptNotFound, "run %q has no turn %d", run, turn).
			Hint("`git smithers timeline %s` lists the turns", fault.Word(run)).Detail("runId", run).Detail("turn", turn)
	}
	return result, err
}
