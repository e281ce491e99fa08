package smithers

import (
	"context"

	"github.com/git-smithers/git-smithers/peer/smithers/export"
	"github.com/git-smithers/git-smithers/timeline"
)

// ExportRequest says what to export, and where to.
type ExportRequest = export.Request

// Exported is the result of Export.
type Exported = export.Result

// ExportedRun is one run that was exported.
type ExportedRun = export.Run

// Refusal is why Smithers does not resume a run that was exported.
type Refusal = export.Refusal

// The codes of Refusal: what differs from what Smithers compares when it resumes a run.
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

// CheckExport finds out whether Export could write to a database: see export.Check.
func CheckExport(ctx context.Context, to string) error { return export.Check(ctx, to) }
