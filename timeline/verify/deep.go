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

// Deep does the same as [Runs]. It also reads every file with objects, including duplicates, and compares each row of
// the index with the refs. If progress is not nil, Deep calls it with the number of files read so far.
func Deep(ctx context.Context, s *timeline.Store, progress func(done, total int), runs ...string) (*Report, error) {
	var ids []string
	for _, run := range runs {
		id, _, err := s.FindRun(ctx, run, timeline.ToRead)
		if err != nil && fault.CodeOf(err) != fault.BrokenRef {
			return nil, err
		}
		if err == nil {
			ids = append(ids, id)
		}
	}
	report, err := Runs(ctx, s, runs...)
	if err != nil {
		return nil, err
	}
	damage, err := s.Objects().CheckFiles(ctx, progress)
	if err != nil {
		return nil, timeline.Explain(err)
	}
	for _, d := range damage {
		report.Problems = append(report.Problems, Problem{
			Code: fault.CorruptObject, File: path.Join("objects", d.File), What: describeDamage(d),
		})
	}
	if err := verifyShared(ctx, s, report); err != nil {
		return nil, err
	}
	flaws, err := Index(ctx, s, ids...)
	if err != nil {
		return nil, err
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

// describeDamage describes the damage of a file and names the objects that cannot be read from it.
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

// verifyShared checks that the objects behind tombstones and behind the held tips of pruned runs exist.
func verifyShared(ctx context.Context, s *timeline.Store, report *Report) error {
	for _, list := range []struct {
		what string
		of   func(context.Context) ([]refs.TipRef, error)
	}{{"tombstone", s.Refs().Gone}, {"tip before it was pruned", s.Refs().Held}} {
		tips, err := list.of(ctx)
		broken, err := timeline.BrokenRefs(err)
		if err != nil {
			return timeline.Explain(err)
		}
		for _, b := range broken {
			report.Problems = append(report.Problems, Problem{Run: componentRun(path.Base(string(b.Name))), Code: fault.BrokenRef, What: b.Error()})
		}
		for _, tip := range tips {
			if _, err := objstore.GetKind(s.Objects(), tip.ID, objstore.Commit); err != nil {
				report.Problems = append(report.Problems, Problem{
					Run: componentRun(tip.Component), Commit: tip.ID.String(), Code: fault.CodeOf(timeline.Explain(err)),
					What: fmt.Sprintf("its %s: %v", list.what, err),
				})
			}
		}
	}
	return nil
}

// componentRun returns the run id that a ref component encodes, or the component itself if it encodes none.
func componentRun(component string) string {
	if id, ok, err := refs.UnescapeRun(component); err == nil && ok {
		return id
	}
	return component
}

// Index compares rows of the index with the refs: the rows of the given runs, or all rows if no run is given. It
// neither updates nor rebuilds the index.
func Index(ctx context.Context, s *timeline.Store, runIDs ...string) ([]sqliteindex.Flaw, error) {
	flaws, err := sqliteindex.Check(ctx, s.IndexOptions(), slices.Clip(runIDs)...)
	return flaws, timeline.Explain(err)
}
