package doctor

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/internal/share/remotes"
	"github.com/git-smithers/git-smithers/internal/upkeep/verify"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// mirrors notes each remote whose configuration lets git fetch overwrite or delete runs, or git push delete or send them.
func (e *examination) mirrors(context.Context) error {
	config := e.git.repo.Config
	bare, err := config.Bool("core.bare", false)
	if err != nil {
		return err
	}
	for _, remote := range remotes.Remotes(e.store) {
		mirror, err := config.Bool("remote."+remote+".mirror", false)
		if err != nil {
			return err
		}
		if bare && mirror {
			continue // a mirror clone is a backup, which has the runs of its remote and is pushed from nowhere
		}
		e.fetchSpecs("remote."+remote+".fetch", remote)
		e.pushSpecs("remote."+remote+".push", remote)
		if mirror {
			e.note(Finding{
				Kind: MirrorRefspec, Where: "remote." + remote + ".mirror",
				What: fmt.Sprintf("`git push %s` deletes the remote's runs that this repository lacks; `git smithers push` deletes no run", fault.Word(remote)),
			}, nil)
		}
	}
	return nil
}

// fetchSpecs notes the first refspec in the setting where that lets git fetch overwrite runs. The repair excludes run history.
func (e *examination) fetchSpecs(where, remote string) {
	specs := e.git.repo.Config[where]
	i := slices.IndexFunc(specs, overwrites)
	if i < 0 || spared(specs) {
		return
	}
	e.note(Finding{
		Kind: MirrorRefspec, Where: where,
		What: fmt.Sprintf("because of the refspec %q, `git fetch %s` overwrites runs of this repository, and with --prune it deletes runs that are not pushed",
			specs[i], fault.Word(remote)),
		Repair: "adds ^refs/smithers/* and ^refs/smithers-remote/*, which exclude run history",
	}, func(ctx context.Context) error { return e.repairs.spare(ctx, where) })
}

// pushSpecs notes the first refspec in the setting where that lets git push send runs. It has no repair.
func (e *examination) pushSpecs(where, remote string) {
	specs := e.git.repo.Config[where]
	i := slices.IndexFunc(specs, sends)
	if i < 0 || spared(specs) {
		return
	}
	e.note(Finding{
		Kind: MirrorRefspec, Where: where,
		What: fmt.Sprintf("because of the refspec %q, `git push %s` sends runs without a search for secrets; `git smithers push` does not read the refspec",
			specs[i], fault.Word(remote)),
	}, nil)
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

// sends reports whether a push with the refspec spec sends refs of runs: whether its left side is one, or a pattern that includes
// them.
func sends(spec string) bool {
	from, _, _ := strings.Cut(strings.TrimPrefix(spec, "+"), ":")
	return !strings.HasPrefix(spec, "^") && overwrites(":"+from)
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

// checkIndex begins to compare the index with the refs, beside the checks of runs, which read the same objects.
func (e *examination) checkIndex(ctx context.Context) error {
	e.checking.Go(func() { e.flaws, e.flawsErr = verify.Index(ctx, e.store) })
	return nil
}

// index notes an index that is damaged or differs from the refs. The finding describes the first flaw, and
// counts the other flaws. The repair rebuilds the index.
func (e *examination) index(ctx context.Context) error {
	e.checking.Wait()
	flaws := e.flaws
	if e.flawsErr != nil || len(flaws) == 0 {
		return e.flawsErr
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
