package land

import (
	"context"
	"strings"

	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// checkStaged checks that the undo loses no content that only the user's index has. No frame has such content. Code:
// undo_refused.
func (t *TakeBack) checkStaged(ctx context.Context) error {
	alone, err := t.s.Workspace().StagedAlone(ctx, t.head, t.tree, t.r.paths())
	if err != nil || len(alone) == 0 {
		return timeline.Explain(err)
	}
	return fault.New(fault.UndoRefused, "%s: the staged version is neither in the working copy nor in a frame", strings.Join(alone[:min(mostNamed, len(alone))], ", ")).
		Hint("`git checkout-index --force -- %s` puts the staged version into the working copy", fault.Word(alone[0])).
		Hint("`git restore --staged -- %s` drops the staged version", fault.Word(alone[0])).Detail("runId", t.run).Detail("paths", alone)
}
