package doctor

import (
	"context"
	"fmt"
	"path"

	"github.com/git-smithers/git-smithers/internal/plain"
)

// objectFiles finds damaged packs and loose objects.
func (e *examination) objectFiles(ctx context.Context) error {
	damage, err := e.store.Objects().CheckFiles(ctx, func(done, total int) { e.progress("objects", done, total) })
	if err != nil {
		return err
	}
	met := make(map[string]bool)
	for _, d := range damage {
		where := path.Join("objects", d.File)
		if d.Pack == "" {
			e.note(Finding{
				Kind: DamagedObject, Where: where, What: d.Reason, Repair: "moves it away, so that a good copy can take its place",
			}, func(context.Context) error { return e.store.Objects().SetAside(d.Objects[0], e.aside.path("objects")) })
			continue
		}
		if met[d.Pack] {
			continue // index and pack are repaired together
		}
		met[d.Pack] = true
		what := d.Reason
		if len(d.Objects) > 0 {
			what += fmt.Sprintf("; %s cannot be read from it", plain.Count(len(d.Objects), "object"))
		}
		e.note(Finding{
			Kind: DamagedPack, Where: where, What: what,
			Repair: "saves every object that is sound, and moves what is damaged away",
		}, func(ctx context.Context) error { return e.repairs.salvage(ctx, d) })
	}
	return nil
}
