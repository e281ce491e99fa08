package doctor

import (
	"cmp"
	"context"
	"fmt"

	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/snapshot"
)

// older notes the runs in an older format, each run once. It finds them by their tips, their tombstones and the
// refs that hold pruned runs. The findings have no repair: only a person can decide to drop such a run.
func (e *examination) older(ctx context.Context) error {
	noted := make(map[string]bool)
	for _, item := range e.refs.Items {
		if !item.Ours || item.Broken != nil ||
			!isIn(item.Name, refs.TipsFolder) && !isIn(item.Name, refs.HeldFolder) && !isIn(item.Name, refs.GoneFolder) {
			continue
		}
		older := snapshot.OlderFormat(e.store.Objects(), item.ID)
		if older == nil || noted[runOf(item.Name)] {
			continue
		}
		noted[runOf(item.Name)] = true
		e.note(Finding{
			Kind: OlderFormat, Where: cmp.Or(older.Run, runOf(item.Name)),
			What: fmt.Sprintf("the run is in format %d, which this version does not read", older.Format),
		}, nil)
	}
	return ctx.Err()
}
