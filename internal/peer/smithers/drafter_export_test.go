package smithers

import (
	"context"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/dbrun"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/workcopy"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// Drafted is a step of a line. Its draft has no functions, which cannot be compared.
type Drafted struct {
	step lineStep
	row  snapshot.Run // as the draft leaves an empty one
}

func drafted(step *lineStep) Drafted {
	d := Drafted{step: *step}
	step.draft.Run(&d.row)
	d.step.draft.Run = nil
	return d
}

// Redraft drafts all steps of the runs of a database twice each, and moves the lines by the first ones. Nothing is committed.
func Redraft(ctx context.Context, s *timeline.Store, path string, compare func(first, second Drafted)) error {
	db, err := source.Open(ctx, path)
	if err != nil {
		return err
	}
	defer db.Close() //nolint:errcheck // it was only read
	return db.Read(ctx, func(tx *source.Tx) error {
		im := newImportJob(s, path, ImportRequest{})
		if im.copies, err = workcopy.NewFinder(ctx, s); err != nil {
			return err
		}
		defer im.letGo() //nolint:errcheck // nothing was captured
		rows, err := tx.Runs()
		if err != nil {
			return err
		}
		for _, row := range rows {
			if err := im.runPass(tx, dbrun.RunRow{ID: dbrow.TextOf(row, "run_id"), Row: row}).redraft(ctx, compare); err != nil {
				return err
			}
		}
		return nil
	})
}

func (r *runPass) redraft(ctx context.Context, compare func(first, second Drafted)) error {
	if err := r.Read(); err != nil {
		return err
	}
	if _, err := r.open(ctx); err != nil {
		return err
	}
	first, err := r.begin(ctx)
	if err != nil {
		return err
	}
	defer r.series.Close()
	twice := func(draft func() (*lineStep, error)) error {
		one, err := draft()
		if err != nil || one == nil {
			return err
		}
		other, err := draft()
		if err != nil {
			return err
		}
		compare(drafted(one), drafted(other))
		return r.take(ctx, one)
	}
	for i := first; i < len(r.Heads); i++ {
		s, err := r.Snapshot(r.Heads[i].Frame)
		if err != nil {
			return err
		}
		if err := twice(func() (*lineStep, error) { return r.drafter().frame(r.runLine, peerFrame{Snapshot: s, index: i}) }); err != nil {
			return err
		}
	}
	return twice(func() (*lineStep, error) { return r.drafter().tail(r.runLine) })
}
