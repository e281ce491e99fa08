package doctor

import (
	"context"
	"fmt"

	"github.com/git-smithers/git-smithers/internal/claim"
	"github.com/git-smithers/git-smithers/internal/plain"
)

// leftCommands notes the runs with commands that outlived the process that started them.
func (e *examination) leftCommands(ctx context.Context) error {
	all, err := claim.FindLeft(ctx, e.store)
	for _, left := range all {
		e.note(Finding{
			Kind: LeftCommands, Where: left.Run, What: fmt.Sprintf("the run has %s at work, and no process executes the run", plain.Count(left.Count, "command")),
			Repair: "ends the commands",
		}, func(ctx context.Context) error {
			if left.Gone {
				_, err := claim.CommandsOf(e.store, left.Run).EndLeft(ctx, claim.CommandGrace)
				return err
			}
			head, err := e.store.Head(ctx, left.Run)
			if err == nil {
				claim.EndLeft(ctx, head, nil)
			}
			return err
		})
	}
	return err
}
