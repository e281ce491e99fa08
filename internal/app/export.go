package app

import (
	"context"

	"github.com/git-smithers/git-smithers/internal/peer/smithers"
)

// Export writes runs to a database of Smithers, and returns what was written. Meanwhile, the teller shows how many
// frames are exported. Export sets req.Progress for this purpose, and ignores the value that the caller gave.
func (d *Desk) Export(ctx context.Context, req smithers.ExportRequest) (*smithers.Exported, error) {
	update, over := d.Teller.Count(ExportingFrames)
	defer over()
	opened := d.Teller.While(OpeningDatabase)
	defer opened()
	req.Progress = func(_ string, done, total int) {
		opened()
		update(done, total)
	}
	return smithers.Export(ctx, d.Store, req)
}
