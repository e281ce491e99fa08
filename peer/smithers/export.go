package smithers

import (
	"context"

	"github.com/git-smithers/git-smithers/peer/smithers/export"
	"github.com/git-smithers/git-smithers/timeline"
)

// ExportRequest selects the runs to export and the database.
type ExportRequest = export.Request

// Exported is the result of Export.
type Exported = export.Result

// ExportedRun is one run that was exported.
type ExportedRun = export.Run

// Refusal is a reason why Smithers cannot resume an exported run.
type Refusal = export.Refusal

// The codes of Refusal. Each names a value that Smithers compares when it resumes a run.
const (
	RefusedNoWorkflow = export.RefusedNoWorkflow
	RefusedWorkflow   = export.RefusedWorkflow
	RefusedModules    = export.RefusedModules
	RefusedRepository = export.RefusedRepository
)

// Export writes runs to a database: see export.Runs.
func Export(ctx context.Context, s *timeline.Store, req ExportRequest) (*Exported, error) {
	return export.Runs(ctx, s, req)
}

// CheckExport checks whether Export could write to a database: see export.Check.
func CheckExport(ctx context.Context, to string) error { return export.Check(ctx, to) }
