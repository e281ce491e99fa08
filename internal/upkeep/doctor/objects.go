package doctor

import (
	"context"
	"fmt"
	"path"

	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/internal/upkeep/verify"
)

// objectFiles notes damaged packs and loose objects. The repair saves the readable objects of a pack, and
// moves the damaged files away. A pack and its index are one finding.
func (e *examination) objectFiles(ctx context.Context) error {
	needed, err := verify.Needed(ctx, e.store.Objects(), e.refs)
	if err != nil {
		return err
	}
	damage, err := e.store.Objects().CheckFiles(ctx, needed, func(done, total int) { e.progress("objects", done, total) })
	if err != nil {
		return err
	}
	met := make(map[string]bool)
	for _, d := range damage {
		where := path.Join("objects", d.File)
		if d.Pack == "" {
			e.note(Finding{
				Kind: DamagedObject, Where: where, What: d.Reason, Repair: "moves the file away, so that a good copy can replace it",
			}, func(context.Context) error { return e.store.Objects().SetAside(d.Objects[0], e.aside.path("objects")) })
			continue
		}
		if met[d.Pack] {
			continue // the repair of a pack includes its index
		}
		met[d.Pack] = true
		what := d.Reason
		if len(d.Objects) > 0 {
			what += fmt.Sprintf("; %s cannot be read from the pack", plain.Count(len(d.Objects), "object"))
		}
		kind := DamagedPack
		if d.Unindexed { // a process was killed between the two renames, and git does not look at the pack
			kind, what = Untidy, "a pack without an index, which git does not read"
		}
		e.note(Finding{
			Kind: kind, Where: where, What: what,
			Repair: "saves every readable object, and moves the damaged files away",
		}, func(ctx context.Context) error { return e.repairs.salvage(ctx, d) })
	}
	return nil
}
