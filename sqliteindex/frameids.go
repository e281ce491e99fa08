package sqliteindex

import (
	"cmp"
	"context"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/snapshot"
)

// frameIDsTable has one row for each id of a frame. The frame is a row of _smithers_snapshots.
const frameIDsTable = `
CREATE TABLE _smithers_frame_ids (
	run_id   TEXT NOT NULL,
	frame_no INTEGER NOT NULL,
	id       TEXT NOT NULL,
	PRIMARY KEY (run_id, frame_no, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX _smithers_frame_ids_id_idx ON _smithers_frame_ids (run_id, id);

CREATE INDEX _smithers_frame_ids_all_idx ON _smithers_frame_ids (id);
`

const (
	// sqlNewestIDs selects the frames of a workflow's runs that are no forks, that with the greatest id first. CROSS JOIN
	// keeps the order of the tables, so that the query ends after a few ids.
	sqlNewestIDs = `SELECT DISTINCT i.id, i.run_id FROM _smithers_frame_ids AS i
		CROSS JOIN _smithers_runs AS r USING (run_id) CROSS JOIN _smithers_snapshots AS s USING (run_id, frame_no)
		WHERE i.id < ?2 AND r.workflow_name = ?1 AND r.parent_run_id IS NULL AND s.subject LIKE ?3
		ORDER BY i.id DESC LIMIT ?4`

	// sqlForkIDs selects the forks among a workflow's runs.
	sqlForkIDs = `SELECT run_id FROM _smithers_runs WHERE parent_run_id > '' AND workflow_name = ?1`

	// sqlIDsOfFrame joins the ids of the frame s with commas. The ids are in hexadecimal, because an id may contain a
	// comma.
	sqlIDsOfFrame = `(SELECT group_concat(hex(i.id)) FROM _smithers_frame_ids AS i
		WHERE i.run_id = s.run_id AND i.frame_no = s.frame_no)`

	// sqlWithID selects the frames with the id, and the frames that are a step back: each is based on an older frame
	// than the frame before it, so it may drop frames with the id. The newest frame comes first. A frame that has the
	// id and is a step back has two rows; the row for its id comes first.
	sqlWithID = `SELECT frame_no, NULL AS based_on FROM _smithers_frame_ids WHERE run_id = ?1 AND id = ?2 AND frame_no <= ?3
		UNION ALL
		SELECT frame_no, based_on FROM _smithers_snapshots
		WHERE run_id = ?1 AND frame_no <= ?3 AND based_on IS NOT NULL
			AND frame_no > (SELECT min(frame_no) FROM _smithers_frame_ids WHERE run_id = ?1 AND id = ?2)
		ORDER BY frame_no DESC, based_on NULLS FIRST`
)

// FrameWithID finds a frame of a run by one of its ids. from is the number of the frame where the search begins. The
// line of this frame consists of the frame, the frame that it is based on, the base of that frame, and so on. The
// result frame is the number of the newest frame of the line that has the id. The result dropped is the number of the
// newest frame between frame and from that has the id and is not on the line. Each result is snapshot.NoFrame if there
// is no such frame.
func (x *Index) FrameWithID(ctx context.Context, runID, id string, from int64) (frame, dropped int64, err error) {
	rows, err := list[stepRow](ctx, x, sqlWithID, runID, id, from)
	if err != nil {
		return snapshot.NoFrame, snapshot.NoFrame, err
	}
	dropped = snapshot.NoFrame
	reached := from // the frames of the line that the loop has not passed have at most this number
	for _, row := range rows {
		switch {
		case row.Based != nil && row.Frame <= reached:
			reached = *row.Based // the frames between *row.Based and row.Frame are not on the line
		case row.Based != nil: // a step back of a frame that is not on the line
		case row.Frame <= reached: // the frame has the id and is on the line
			return row.Frame, dropped, nil
		default:
			dropped = max(dropped, row.Frame)
		}
	}
	return snapshot.NoFrame, dropped, nil
}

// WithNewestIDs returns the runs of a workflow that have the greatest ids of frames, and all forks among its runs, sorted. It looks at the
// given number of ids: those below an id, of frames whose subjects match the pattern of LIKE. All ids of other runs are below reached, which
// is "" if there are no others.
func (x *Index) WithNewestIDs(ctx context.Context, workflow, below, subject string, limit int) (runs []string, reached string, err error) {
	rows, err := list[runID](ctx, x, sqlNewestIDs, workflow, below, subject, limit)
	if err != nil {
		return nil, "", err
	}
	if runs, err = list[string](ctx, x, sqlForkIDs, workflow); err != nil {
		return nil, "", err
	}
	if len(rows) == limit {
		reached = rows[limit-1].ID + "\x00" // more runs can have the last id
	}
	for _, row := range rows {
		runs = append(runs, row.Run)
	}
	slices.Sort(runs)
	return slices.Compact(runs), reached, nil
}

// runID is one row of sqlNewestIDs.
type runID struct{ ID, Run string }

// stepRow is one row of sqlWithID.
type stepRow struct {
	Frame int64
	Based *int64 // nil: the frame has the id
}

// parseIDs parses the result of sqlIDsOfFrame. It returns the ids, sorted, or nil if text is empty. If text is not
// hexadecimal, it returns an error.
func parseIDs(text string) (ids []string, err error) {
	if text == "" {
		return nil, nil
	}
	for one := range strings.SplitSeq(text, ",") {
		id, decodeErr := hex.DecodeString(one)
		ids, err = append(ids, string(id)), cmp.Or(err, decodeErr)
	}
	slices.Sort(ids)
	return ids, err
}
