package verify

import (
	"context"
	"fmt"
	"path"
	"slices"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/sqliteindex"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// Deep makes the checks of [Runs] for runs, or for all runs if runs is empty, and further checks. It reads the files with objects, including duplicates: small packs as a whole, and of large packs what refs of git-smithers need. It checks that tombstones and held tips are readable, and compares each
// index row of the runs with the refs. If progress is not nil, Deep calls it with the number of checked files and
// the number of all files. If there is an error, there is no report.
func Deep(ctx context.Context, s *timeline.Store, progress func(done, total int), runs ...string) (*Report, error) {
	var ids []string
	for _, run := range runs {
		id, _, err := s.FindRun(ctx, run, timeline.ToRead)
		if err != nil && fault.CodeOf(err) != fault.BrokenRef {
			return nil, err
		}
		if err == nil { // Runs reports a run with a broken tip ref
			ids = append(ids, id)
		}
	}
	report, err := Runs(ctx, s, runs...)
	if err != nil {
		return nil, err
	}
	found, err := s.Refs().Inventory(ctx)
	if err != nil {
		return nil, timeline.Explain(err)
	}
	needed, err := Needed(ctx, s.Objects(), found)
	if err != nil {
		return nil, timeline.Explain(err)
	}
	damage, err := s.Objects().CheckFiles(ctx, needed, progress)
	if err != nil {
		return nil, timeline.Explain(err)
	}
	for _, d := range damage {
		if d.Unindexed { // a process was killed between the two renames
			report.Unindexed++
			continue
		}
		report.Problems = append(report.Problems, Problem{
			Code: fault.CorruptObject, File: path.Join("objects", d.File), What: describeDamage(d),
		})
	}
	if err := verifyShared(ctx, s, report); err != nil {
		return nil, err
	}
	var flaws []sqliteindex.Flaw
	if len(ids) > 0 || len(runs) == 0 { // without ids, Index compares the rows of all runs
		if flaws, err = Index(ctx, s, ids...); err != nil {
			return nil, err
		}
	}
	for _, f := range flaws {
		if f.RunID != "" {
			f.What = fmt.Sprintf("run %q: %s", f.RunID, f.What)
		}
		report.Problems = append(report.Problems, Problem{
			Run: f.RunID, Code: fault.CorruptObject, File: path.Join(timeline.PrivateDir, f.File), What: f.What,
		})
	}
	return report, nil
}

// describeDamage returns the reason of the damage d, the ids of at most 3 unreadable objects, and the number of
// the others.
func describeDamage(d objstore.Damage) string {
	const named = 3
	text := d.Reason
	for i, id := range d.Objects {
		if i == named {
			return fmt.Sprintf("%s and %d more", text, len(d.Objects)-named)
		}
		if i == 0 {
			text += ": unreadable objects:"
		}
		text += " " + id.String()
	}
	return text
}

// verifyShared adds a problem to report for each tombstone and each held tip of a pruned run that is broken
// or whose commit is unreadable.
func verifyShared(ctx context.Context, s *timeline.Store, report *Report) error {
	for _, list := range []struct {
		what string
		of   func(context.Context) ([]refs.TipRef, error)
	}{{"tombstone", s.Refs().Gone}, {"tip before the prune", s.Refs().Held}} {
		tips, err := list.of(ctx)
		broken, err := timeline.BrokenRefs(err)
		if err != nil {
			return timeline.Explain(err)
		}
		for _, b := range broken {
			report.Problems = append(report.Problems, Problem{Run: refs.ShownRun(path.Base(string(b.Name))), Code: fault.BrokenRef, What: b.Error()})
		}
		for _, tip := range tips {
			if _, err := objstore.GetKind(s.Objects(), tip.ID, objstore.Commit); err != nil {
				report.Problems = append(report.Problems, Problem{
					Run: refs.ShownRun(tip.Component), Commit: tip.ID.String(), Code: fault.CodeOf(timeline.Explain(err)),
					What: fmt.Sprintf("the %s of the run: %v", list.what, err),
				})
			}
		}
	}
	return nil
}

// Index compares the index rows of the given runs, or all index rows if no run is given, with the refs. It
// returns one flaw for each difference or damage. It neither updates nor rebuilds the index.
func Index(ctx context.Context, s *timeline.Store, runIDs ...string) ([]sqliteindex.Flaw, error) {
	flaws, err := sqliteindex.Check(ctx, s.IndexOptions(), slices.Clip(runIDs)...)
	return flaws, timeline.Explain(err)
}
