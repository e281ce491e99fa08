package smithers

import (
	"context"

	"github.com/git-smithers/git-smithers/peer/smithers/kept"
	"github.com/git-smithers/git-smithers/peer/smithers/source"
	"github.com/git-smithers/git-smithers/timeline"
)

// ImportRequest describes an import.
type ImportRequest struct {
	Runs []string // exact ids, imported with the runs from which they were forked; nil for all
	// Revive also imports named runs that were pruned and collected here.
	Revive bool
	// Files captures the working copy into the newest frame of each run with new frames. Only Watch sets it, because
	// only then the files belong to the frame.
	Files    bool
	Progress func(run string, done, total int) // frames of a run; may be nil
}

// Imported is the result of an import.
type Imported struct {
	Runs []ImportedRun
	Left []LeftTable // tables with rows that belong to no run and are not imported
}

// LeftTable counts the rows of a table that are not imported.
type LeftTable struct {
	Table string `json:"table"`
	Rows  int64  `json:"rows"`
}

// The outcomes of ImportedRun.
const (
	OutcomeCreated   = "created"
	OutcomeContinued = "continued"
	OutcomeUnchanged = "unchanged"
	OutcomeRefused   = "refused" // nothing of the run was imported now; see Err
)

// ImportedRun is the result of the import of one run.
type ImportedRun struct {
	RunID   string
	Outcome string
	Frames  int64       // number of new frames
	Frame   int64       // the newest frame
	Tip     string      // the newest entry
	Rewound bool        // Smithers rewound the run
	Marks   []kept.Mark // new differences between stored and computed values
	// Overruled are the answers given here for which Smithers now has different answers.
	Overruled []Overruled
	// Dropped are the answers given here to questions that Smithers no longer asks.
	Dropped []Dropped
	// Overtaken are the travels and resets done here after which Smithers continued from its own frames.
	Overtaken []Overtaken
	// Rendered counts the rendered frames of a run without any snapshot, as made by old versions. They are stored,
	// but are not frames here.
	Rendered int64
	Err      error
}

// Mark is a difference between a value stored in a database and the computed one. The stored value was imported
// unchanged.
type Mark = kept.Mark

// Import brings the runs of a database up to date in the repository. Each run is imported completely or, with an
// error in its ImportedRun, not at all. A new fork is imported only after the run from which it was forked. Each run
// is durable before the next one begins, and each is read from one state of the database; later runs may be read from
// a newer state. If other processes append to a run meanwhile, or an engine begins to write the database, Import
// reads and imports the affected runs again, a few times.
//
// An error of Import itself concerns more than one run. The result then has the runs imported before it, or is nil if
// there are none. The codes are database_not_found; invalid_database, also for an interrupted transaction;
// limit_exceeded; locked, if other processes lock the database or keep writing it; interrupted; and disk_full,
// read_only and write_failed, about the repository.
//
// The stored history depends only on the database, and on which of the commits that it names are in the repository.
func Import(ctx context.Context, s *timeline.Store, path string, req ImportRequest) (*Imported, error) {
	db, err := source.Open(ctx, path)
	if err != nil {
		return nil, explainDatabase(path, err)
	}
	defer db.Close() //nolint:errcheck // opened for reading
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
