package sqliteindex

import (
	"context"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// frameHash is the hash of the definition that a frame has.
type frameHash struct {
	frame int64
	hash  string
}

// hashReader reads the hashes of definitions from the frames of a run. A definition has one hash, so it reads run.json only
// where the definition is another, or none is kept.
type hashReader map[objstore.ID]string

// of returns the hash of the definition that an entry has; "" for none.
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

// takeHash adds the hash of the definition of an entry that is the run's frame of that number.
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

// The entry that a fork begins from is its frame 0, unless the fork has one of its own, which comes first.
const sqlSetHash = `UPDATE _smithers_snapshots SET workflow_hash = ? WHERE run_id = ? AND frame_no = ? AND workflow_hash IS NULL`

func (w *detailWriter) hashes(ctx context.Context, d *detail) error {
	for _, h := range d.hashes {
		if err := w.exec(ctx, sqlSetHash, h.hash, d.runID, h.frame); err != nil {
			return err
		}
	}
	return nil
}
