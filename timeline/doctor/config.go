package doctor

import (
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/timeline/fault"
	"github.com/git-smithers/git-smithers/timeline/place"
	"github.com/git-smithers/git-smithers/timeline/verify"
)

// mirrors finds configuration by which the user's own fetch or push deletes or overwrites run
// history.
func (e *examination) mirrors(context.Context) error {
	for _, remote := range place.Remotes(e.store) {
		fetch := e.git.repo.Config["remote."+remote+".fetch"]
		where := "remote." + remote + ".fetch"
		for _, spec := range fetch {
			if !overwrites(spec) || spared(fetch) {
				continue
			}
			e.note(Finding{
				Kind: MirrorRefspec, Where: where,
				What:   fmt.Sprintf("`git fetch %s` overwrites the runs here by %q, and with --prune deletes those that are not pushed", fault.Word(remote), spec),
				Repair: "adds ^refs/smithers/* and ^refs/smithers-remote/*, which exclude run history",
			}, func(ctx context.Context) error { return e.repairs.spare(ctx, where) })
			break
		}
		mirror, err := e.git.repo.Config.Bool("remote."+remote+".mirror", false)
		if err != nil {
			return err
		}
		if mirror {
			e.note(Finding{
				Kind: MirrorRefspec, Where: "remote." + remote + ".mirror",
				What: fmt.Sprintf("`git push %s` deletes the runs there that are not here; git smithers push does not", fault.Word(remote)),
			}, nil)
		}
	}
	return nil
}

// overwrites reports whether a refspec writes to the refs of runs.
func overwrites(spec string) bool {
	if strings.HasPrefix(spec, "^") {
		return false
	}
	_, to, ok := strings.Cut(strings.TrimPrefix(spec, "+"), ":")
	prefix, wild := strings.CutSuffix(to, "*")
	return ok && (strings.HasPrefix(to, refs.Folder) || wild && strings.HasPrefix(refs.Folder, prefix))
}

// spared reports whether refspecs exclude run history.
func spared(specs []string) bool {
	for _, spec := range specs {
		if without, negative := strings.CutPrefix(spec, "^"); negative && (without == refs.Folder+"*" || without == "refs/*") {
			return true
		}
	}
	return false
}

// index finds problems of the index.
func (e *examination) index(ctx context.Context) error {
	flaws, err := verify.Index(ctx, e.store)
	if err != nil {
		return err
	}
	if len(flaws) == 0 {
		return nil
	}
	first := flaws[0]
	what := first.What
	if first.RunID != "" {
		what = fmt.Sprintf("run %q: %s", first.RunID, what)
	}
	if len(flaws) > 1 {
		what += fmt.Sprintf("; and %d more", len(flaws)-1)
	}
	e.note(Finding{
		Kind: DamagedIndex, Where: path.Join("smithers", first.File), What: what,
		Repair: "rebuilds the index from the refs",
	}, func(ctx context.Context) error {
		_, err := e.store.RebuildIndex(ctx, func(done, total int) { e.progress("index", done, total) })
		if fault.CodeOf(err) == fault.Interrupted {
			return ctx.Err()
		}
		return err
	})
	return nil
}

// tidiness finds packs and refs that should be packed together.
func (e *examination) tidiness(context.Context) error {
	if due, err := e.store.Objects().MergeDue(); err != nil {
		return err
	} else if due {
		e.note(Finding{Kind: Untidy, Where: "objects/pack", What: "there are many small packs of runs", Repair: "merges them"},
			func(ctx context.Context) error { _, err := e.store.Objects().Merge(ctx); return err })
	}
	if left, err := e.store.Objects().LeftKeeps(e.store.Now()); err != nil {
		return err
	} else if left > 0 {
		what := plain.Count(left, "pack") + " of processes that died: git gc leaves them alone"
		e.note(Finding{Kind: Untidy, Where: "objects/pack", What: what, Repair: "removes their .keep files"},
			func(ctx context.Context) error { _, err := e.store.Objects().Merge(ctx); return err })
	}
	if n := e.refs.Files; n >= manyFiles {
		e.note(Finding{
			Kind: Untidy, Where: strings.TrimSuffix(refs.Folder, "/"), What: fmt.Sprintf("%d refs are in files of their own", n), Repair: "packs the refs",
		}, func(ctx context.Context) error { _, err := e.git.run(ctx, "pack-refs", "--all", "--prune"); return err })
	}
	return nil
}
