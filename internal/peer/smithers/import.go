package smithers

import (
	"context"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/stored"
	"github.com/git-smithers/git-smithers/timeline"
)

// ImportRequest selects the runs of a database to import.
type ImportRequest struct {
	// Runs has the exact ids of the runs to import. Import also imports the runs from which these runs were forked.
	// nil means all runs.
	Runs []string
	// If Revive is true, Import also imports those of Runs that were pruned and collected.
	Revive bool
	// If Files is true, the newest frame of each run with new frames gets the files of the current working copy. Only
	// Watch sets Files, because only Watch imports a frame while its files are in the working copy.
	Files bool
	// Progress, if not nil, is called after each new frame of a run. done is the number of the run's new frames that
	// are imported so far, and total is the number of all new frames of the run.
	Progress func(run string, done, total int)
}

// ImportResult is the result of an import.
type ImportResult struct {
	Runs []ImportedRun
	Left []LeftTable // the tables with rows that belong to no run and were not imported; empty for a watch
}

// LeftTable is a table of a database with the number of rows that were not imported, because they belong to no run.
type LeftTable struct {
	Table string `json:"table"`
	Rows  int64  `json:"rows"`
}

// The outcomes of ImportedRun.
const (
	OutcomeCreated   = "created"   // the repository did not have the run
	OutcomeContinued = "continued" // the run got new entries
	OutcomeUnchanged = "unchanged" // the database has nothing new, or no snapshot of a new run yet
	OutcomeRefused   = "refused"   // the import changed nothing in the run, for the reason in Err
)

// ImportedRun is the result of the import of one run.
type ImportedRun struct {
	RunID   string
	Outcome string        // OutcomeCreated, OutcomeContinued, OutcomeUnchanged or OutcomeRefused
	Frames  int64         // the number of new frames
	Frame   int64         // the number of the newest frame
	Tip     string        // the id of the newest entry; "" if the repository does not have the run
	Rewound bool          // Smithers rewound the run
	Marks   []stored.Mark // the new differences between stored and computed values
	// Overruled has the answers given with git-smithers for which Smithers now has different answers.
	Overruled []OverruledAnswer
	// Dropped has the answers given with git-smithers to questions that Smithers no longer asks.
	Dropped []DroppedAnswer
	// Overtaken has the travels and resets of git-smithers after which Smithers continued from its own frames.
	Overtaken []OvertakenOp
	// Rendered is the number of rendered trees of a run without snapshots. Old versions of Smithers made such runs.
	// The import stores the trees, but makes no frames of them.
	Rendered int64
	Err      error // the reason of OutcomeRefused; else nil
}

// Mark is a difference between a value in a database and the computed value. The import did not change the value.
type Mark = stored.Mark

// Import updates the runs in the repository to the state of the database at path. req selects the runs. Import imports
// each run either completely or not at all. If the import of a run fails, its ImportedRun has the error. Import imports
// a new fork only after the fork's parent. Each run is durable before the import of the next run begins. Import reads
// each run from one state of the database, but may read later runs from a newer state. If other processes append to a
// run during the import, or Smithers begins to write to the database, Import reads and imports the affected runs again,
// at most maxTries times.
//
// An error of Import itself concerns more than one run. The result then has the runs imported before the error, or is
// nil if the import had no result before the error. The codes are database_not_found; invalid_database, also for an
// interrupted transaction; limit_exceeded; locked, if other processes lock the database or keep writing to the
// database; interrupted; and disk_full, read_only and write_failed, about the repository.
//
// The stored history depends only on the database, and on the commits of the repository that the database names.
func Import(ctx context.Context, s *timeline.Store, path string, req ImportRequest) (*ImportResult, error) {
	db, err := source.Open(ctx, path)
	if err != nil {
		return nil, explainDatabase(path, err)
	}
	defer db.Close() //nolint:errcheck // opened for reading
	return newImportJob(s, path, req).from(ctx, db)
}

// from imports the runs of the open database db, and returns the results of Import. If no error ended the import,
// from also packs the new entries. If an error ended the import before the first run, the result is nil.
func (im *importJob) from(ctx context.Context, db *source.DB) (*ImportResult, error) {
	out, err := im.passes(ctx, db)
	switch {
	case err == nil:
		im.pack(ctx)
		im.warnOfOthers()
	case out != nil && len(out.Runs) == 0:
		out = nil
	}
	return out, stoppedAfter(im.path, out, err)
}
