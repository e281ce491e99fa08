package smithers

import (
	"context"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/export"
	"github.com/git-smithers/git-smithers/timeline"
)

// ExportRequest selects the runs to export and the database.
type ExportRequest = export.Request

// Exported is the result of Export.
type Exported = export.Result

// ExportedRun is the result of the export of one run.
type ExportedRun = export.Run

// Refusal is a reason why Smithers cannot resume an exported run.
type Refusal = export.Refusal

// The codes of Refusal. Each code names a value that Smithers compares before Smithers resumes a run.
const (
	RefusedNoWorkflow = export.RefusedNoWorkflow
	RefusedWorkflow   = export.RefusedWorkflow
	RefusedModules    = export.RefusedModules
	RefusedRepository = export.RefusedRepository
)

// Export writes the runs of req to a database of Smithers: see export.Runs.
func Export(ctx context.Context, s *timeline.Store, req ExportRequest) (*Exported, error) {
	return export.Runs(ctx, s, req)
}

// CheckExport returns an error if Export could not write to the database at path: see export.Check.
func CheckExport(ctx context.Context, path string) error { return export.Check(ctx, path) }
