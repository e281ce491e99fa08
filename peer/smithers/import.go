package smithers

import (
	"context"

	"github.com/git-smithers/git-smithers/peer/smithers/kept"
	"github.com/git-smithers/git-smithers/peer/smithers/source"
	"github.com/git-smithers/git-smithers/timeline"
)

// ImportRequest says what to import.
type ImportRequest struct {
	Runs []string // exact ids; nil for all. What a run was forked from comes along
	// Revive also takes named runs that were pruned and collected here.
	Revive bool
	// Files captures the working copy into the newest frame of each run that has new
	// frames: for Watch alone, since only then the files are those of the frame.
	Files    bool
	Progress func(run string, done, total int) // frames of a run; may be nil
}

// Imported is the result of an import.
type Imported struct {
	Runs []ImportedRun
	Left []LeftTable // tables with rows that belong to no run, and stay behind
}

// LeftTable is a table that is not imported.
type LeftTable struct {
	Table string `json:"table"`
	Rows  int64  `json:"rows"`
}

// The outcomes of ImportedRun.
const (
	OutcomeCreated   = "created"
	OutcomeContinued = "continued"
	OutcomeUnchanged = "unchanged"
	OutcomeRefused   = "refused" // Err says why; nothing of the run was imported now
)

// ImportedRun is the result of the import of one run.
type ImportedRun struct {
	RunID   string
	Outcome string
	Frames  int64       // how many frames are new
	Frame   int64       // the newest frame
	Tip     string      // the newest entry
	Rewound bool        // Smithers had gone back in it
	Marks   []kept.Mark // what is new and does not match
	// Overruled are the answers given here to which Smithers has others now.
	Overruled []Overruled
	// Dropped are those to what Smithers does not ask any more.
	Dropped []Dropped
	// Overtaken are the travels and resets done here that Smithers did not wait for: it went on from its own frames.
	Overtaken []Overtaken
	// Rendered is how many frames Smithers rendered in a run without any snapshot, as versions
	// did that made none: what it rendered is kept, and is no frame here.
	Rendered int64
	Err      error
}

// Mark is a difference between what a database says of itself and what was computed: it was imported as it is.
type Mark = kept.Mark

// Import brings the runs of a database up to date in the repository. Each run is imported whole or, with an error in its
// ImportedRun, not at all; a fork that is not here yet only after the run that it was forked from. Runs are on stable
// storage one by one, each as of one state of the database, later ones maybe of a newer state. Where others append to a
// run meanwhile, or an engine begins to write the database, what that concerns is read and imported again, a few times.
//
// An error of Import itself is about no single run. What it did before comes with it, since that stays: nil for nothing.
// Codes: database_not_found; invalid_database, also for one in which a transaction was interrupted; limit_exceeded;
// locked, where others keep the database, or go on writing it; interrupted; disk_full, read_only and write_failed, of
// the repository.
//
// What is stored follows from the database alone, and from which of the commits that it
// names are in the repository.
func Import(ctx context.Context, s *timeline.Store, path string, req ImportRequest) (*Imported, error) {
	db, err := source.Open(ctx, path)
	if err != nil {
		return nil, explainDatabase(path, err)
	}
	defer db.Close() //nolint:errcheck // it was only read
	return newImportJob(s, path, req).from(ctx, db)
}

// from imports from an open database.
func (im *importJob) from(ctx context.Context, db *source.DB) (*Imported, error) {
	out, err := im.passes(ctx, db)
	switch {
	case err == nil:
		im.pack(ctx)
	case out != nil && len(out.Runs) == 0:
		out = nil
	}
	return out, stoppedAfter(im.path, out, err)
}
