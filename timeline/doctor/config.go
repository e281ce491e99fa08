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

// mirrors notes each remote whose configuration lets git fetch or git push overwrite or delete runs. The
// repair excludes run history from git fetch. A remote with mirror = true has no repair.
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
				What: fmt.Sprintf("because of the refspec %q, `git fetch %s` overwrites runs of this repository, and with --prune it deletes runs that are not pushed",
					spec, fault.Word(remote)),
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
				What: fmt.Sprintf("`git push %s` deletes the remote's runs that this repository lacks; `git smithers push` deletes no run", fault.Word(remote)),
			}, nil)
		}
	}
	return nil
}

// overwrites reports whether a fetch with the refspec spec can write refs of runs: whether the right side of spec is
// in the folder of these refs, or is a pattern that includes this folder.
func overwrites(spec string) bool {
	if strings.HasPrefix(spec, "^") {
		return false
	}
	_, to, ok := strings.Cut(strings.TrimPrefix(spec, "+"), ":")
	prefix, wild := strings.CutSuffix(to, "*")
	return ok && (strings.HasPrefix(to, refs.Folder) || wild && strings.HasPrefix(refs.Folder, prefix))
}

// spared reports whether a negative refspec in specs excludes run history.
func spared(specs []string) bool {
	for _, spec := range specs {
		if without, negative := strings.CutPrefix(spec, "^"); negative && (without == refs.Folder+"*" || without == "refs/*") {
			return true
		}
	}
	return false
}

// index notes an index that is damaged or differs from the refs. The finding describes the first flaw, and
// counts the other flaws. The repair rebuilds the index.
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
		what += "; and " + plain.Count(len(flaws)-1, "more flaw")
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

// tidiness notes many small packs, packs that .keep files of dead processes protect, and many loose refs.
func (e *examination) tidiness(context.Context) error {
	if due, err := e.store.Objects().MergeDue(); err != nil {
		return err
	} else if due {
		e.note(Finding{Kind: Untidy, Where: "objects/pack", What: "there are many small packs of runs", Repair: "merges the packs"},
			func(ctx context.Context) error { _, err := e.store.Objects().Merge(ctx); return err })
	}
	if left, err := e.store.Objects().LeftKeeps(e.store.Now()); err != nil {
		return err
	} else if left > 0 {
		what := ".keep files of dead processes keep " + plain.Count(left, "pack") + " from git gc"
		e.note(Finding{Kind: Untidy, Where: "objects/pack", What: what, Repair: "removes the .keep files"},
			func(ctx context.Context) error { _, err := e.store.Objects().Merge(ctx); return err })
	}
	if n := e.refs.Files; n >= manyFiles {
		e.note(Finding{
			Kind: Untidy, Where: strings.TrimSuffix(refs.Folder, "/"), What: fmt.Sprintf("%d refs have one file each", n), Repair: "packs the refs",
		}, func(ctx context.Context) error { _, err := e.git.run(ctx, "pack-refs", "--all", "--prune"); return err })
	}
	return nil
}
