package sqliteindex

import (
	"context"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// frameHash is the workflow hash of a frame.
type frameHash struct {
	frame int64
	hash  string
}

// hashReader reads the workflow hashes of a run's frames. Equal definitions have equal hashes, so it
// reads run.json only if the definition changes, or if none is stored.
type hashReader map[objstore.ID]string

// of returns the workflow hash of an entry; "" if there is none.
func (h hashReader) of(e *snapshot.Entry) (string, error) {
	id, err := e.WorkflowID()
	if err != nil {
		return "", err
	}
	if hash, ok := h[id]; ok {
		return hash, nil
	}
	run, err := e.RunRow()
	if err == nil && !id.IsZero() {
		h[id] = run.WorkflowHash
	}
	return run.WorkflowHash, err
}

// takeHash adds the workflow hash of an entry that is a frame of the run.
func (d *detailReader) takeHash(e *snapshot.Entry, frame int64) error {
	if e == nil || frame == snapshot.NoFrame {
		return nil
	}
	hash, err := d.hashes.of(e)
	if err == nil && hash != "" {
		d.detail.hashes = append(d.detail.hashes, frameHash{frame, hash})
	}
	return err
}

const sqlClearHashes = `UPDATE _smithers_snapshots SET workflow_hash = NULL WHERE run_id = ?`

// A fork's frame 0 is the parent's entry, unless the fork has its own, which comes first.
const sqlSetHash = `UPDATE _smithers_snapshots SET workflow_hash = ? WHERE run_id = ? AND frame_no = ? AND workflow_hash IS NULL`

func (w *detailWriter) hashes(ctx context.Context, d *detail) error {
	for _, h := range d.hashes {
		if err := w.exec(ctx, sqlSetHash, h.hash, d.runID, h.frame); err != nil {
			return err
		}
	}
	return nil
}
