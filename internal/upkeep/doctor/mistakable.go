package doctor

import (
	"context"
	"fmt"

	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// mistakable notes the runs whose ids are timeline.Mistakable. Runs with data of another engine keep their ids, because the engine finds
// them by these ids. The repair makes a fork with another id, unless there is one.
func (e *examination) mistakable(ctx context.Context) error {
	for _, item := range e.refs.Items {
		if !item.Ours || item.Broken != nil || !isIn(item.Name, refs.TipsFolder) || !timeline.Mistakable(runOf(item.Name)) {
			continue
		}
		tip, err := snapshot.ReadEntry(e.store.Objects(), item.ID)
		if err != nil {
			continue // another finding reports the damage
		}
		row, err := tip.RunRow()
		engines, extErr := tip.ExtEngines()
		id := timeline.Unmistakable(row.ID, item.ID)
		if err != nil || extErr != nil || len(engines) > 0 || timeline.CheckFree(ctx, e.store, id) != nil {
			continue
		}
		e.note(Finding{
			Kind: MistakableID, Where: row.ID, What: "commands can read the run's id as the address of a frame or as an option, or people as another id",
			Repair: fmt.Sprintf("makes the fork %s of the run's newest frame", id),
		}, func(ctx context.Context) error {
			_, err := e.store.Fork(ctx, timeline.ForkRequest{From: timeline.Address{Run: row.ID, Frame: row.Frame}.String(), RunID: id})
			return err
		})
	}
	return ctx.Err()
}
