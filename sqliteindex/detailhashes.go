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

// hashReader reads the workflow hashes of a run's frames. It caches the hashes by the id of the workflow definition,
// because equal definitions have equal hashes. So it reads run.json only for a new definition, and for an entry without
// a definition.
type hashReader map[objstore.ID]string

// of returns the workflow hash of an entry, or "" if run.json has no hash. It keeps the hash in h, so that it reads
// run.json only once for all entries with the same workflow id.
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

// takeHash appends the workflow hash of e, which is the given frame of the run, to d.detail.hashes. It does
// nothing if e is nil, if frame is snapshot.NoFrame, or if e has no hash.
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

// sqlSetHash keeps an existing hash. detail.hashes may have two hashes for frame 0 of a fork: first the hash of the
// fork's own frame 0, then the hash of the forked frame. The first one remains.
const sqlSetHash = `UPDATE _smithers_snapshots SET workflow_hash = ? WHERE run_id = ? AND frame_no = ? AND workflow_hash IS NULL`

// hashes writes the workflow hashes in d.hashes into _smithers_snapshots, the base table of frames.
func (w *detailWriter) hashes(ctx context.Context, d *detail) error {
	for _, h := range d.hashes {
		if err := w.exec(ctx, sqlSetHash, h.hash, d.runID, h.frame); err != nil {
			return err
		}
	}
	return nil
}
