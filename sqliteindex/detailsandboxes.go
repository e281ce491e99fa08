package sqliteindex

import (
	"context"
	"fmt"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/snapshot"
)

// The rows of Smithers' own sandboxes are overrides (docs/smithers.md). No such row is predicted, so an override has the whole row.
const (
	peerEngine    = "smithers"
	peerSandboxes = "tables/_smithers_sandboxes"

	sqlDropSandboxes = `DELETE FROM _index_peer_sandboxes WHERE run_id = ?`
	sqlAddSandbox    = `INSERT OR REPLACE INTO _index_peer_sandboxes (run_id, row_key, row) VALUES (?, ?, ?)`
)

// maxPeerSandboxes is the largest number of rows of a run that the index has.
const maxPeerSandboxes = 10_000

// peerSandboxRows returns the sandboxes of Smithers in an entry.
func peerSandboxRows(e *snapshot.Entry) ([]page.Row, error) {
	rows, err := e.ExtRows(peerEngine, peerSandboxes)
	if err != nil {
		return nil, err
	}
	var out []page.Row
	for row, err := range rows.Rows() {
		if err != nil {
			return nil, fmt.Errorf("ext/%s/%s: %w", peerEngine, peerSandboxes, err)
		}
		if out = append(out, row); len(out) == maxPeerSandboxes {
			break
		}
	}
	return out, nil
}

// sandboxes writes the sandboxes of Smithers in d in place of those that the index has.
func (w *detailWriter) sandboxes(ctx context.Context, d *detail) error {
	if err := w.exec(ctx, sqlDropSandboxes, d.runID); err != nil {
		return err
	}
	for _, row := range d.sandboxes {
		if err := w.exec(ctx, sqlAddSandbox, d.runID, row.Key, string(row.Value)); err != nil {
			return err
		}
	}
	return nil
}
