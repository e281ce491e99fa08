package sqliteindex

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/git-smithers/git-smithers/snapshot"
)

const (
	sqlSetNode = `INSERT OR REPLACE INTO _smithers_nodes (run_id, node_id, iteration, state, last_attempt,
		updated_at_ms, output_table, label, ralph_id, needs_json) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	sqlDropNode = `DELETE FROM _smithers_nodes WHERE run_id = ? AND node_id = ? AND iteration = ?`

	sqlSetLoop = `INSERT OR REPLACE INTO _smithers_ralph (run_id, ralph_id, iteration, done, updated_at_ms)
		VALUES (?, ?, ?, ?, ?)`
	sqlDropLoop = `DELETE FROM _smithers_ralph WHERE run_id = ? AND ralph_id = ?`

	sqlAddEvent = `INSERT OR REPLACE INTO _smithers_events (run_id, seq, timestamp_ms, type, payload_json, node_id)
		VALUES (?, ?, ?, ?, ?, ?)`

	sqlSetOp = `INSERT OR REPLACE INTO _smithers_ops (run_id, op, kind, at_ms, from_frame_no, to_frame_no, frame_no,
		node_id, iteration, attempt, no_deps, files, worktree, undoes, undone_by, git_before)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

	sqlSetInput  = `INSERT OR REPLACE INTO input (run_id, payload) VALUES (?, ?)`
	sqlDropInput = `DELETE FROM input WHERE run_id = ?`
)

// rows writes all details of a run except its outputs.
func (w *detailWriter) rows(ctx context.Context, d *detail) error {
	steps := []func(context.Context, *detail) error{
		w.nodes, w.loops, w.events, w.approvals, w.humanRequests, w.signals, w.waits, w.ops, w.calls, w.scores, w.sandboxes, w.input, w.hashes,
	}
	for _, step := range steps {
		if err := step(ctx, d); err != nil {
			return err
		}
	}
	return nil
}

// nodes writes the added and changed nodes in d, and deletes the rows of removed nodes.
func (w *detailWriter) nodes(ctx context.Context, d *detail) error {
	for _, n := range d.nodes {
		if n.row == nil {
			nodeID, iteration, err := snapshot.SplitKey(n.key)
			if err != nil {
				return err
			}
			if err := w.exec(ctx, sqlDropNode, d.runID, nodeID, iteration); err != nil {
				return err
			}
			continue
		}
		// A node without needs has the JSON text [], not null.
		needs, err := json.Marshal(append([]string{}, n.row.Needs...))
		if err != nil {
			return err
		}
		if err := w.exec(ctx, sqlSetNode, d.runID, n.row.NodeID, n.row.Iteration, string(n.row.State), n.row.LastAttempt,
			n.atMs, n.row.OutputTable, n.row.Label, n.row.RalphID, string(needs)); err != nil {
			return err
		}
	}
	return nil
}

// loops writes the added and changed loops in d, and deletes the rows of removed loops.
func (w *detailWriter) loops(ctx context.Context, d *detail) error {
	for _, l := range d.loops {
		err := error(nil)
		if l.row == nil {
			err = w.exec(ctx, sqlDropLoop, d.runID, l.key)
		} else {
			err = w.exec(ctx, sqlSetLoop, d.runID, l.row.RalphID, l.row.Iteration, l.row.Done, l.atMs)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// events writes the new events, oldest first: the reverse of their order in d.
func (w *detailWriter) events(ctx context.Context, d *detail) error {
	for i, e := range slices.Backward(d.events) {
		if err := w.exec(ctx, sqlAddEvent, d.runID, e.Seq, e.TimestampMs, e.Type, e.Payload, nullable(d.nodeIDs[i])); err != nil {
			return err
		}
	}
	return nil
}

// ops writes the added and changed ops in d. A column without a value, such as the node of an op on the run, is NULL.
func (w *detailWriter) ops(ctx context.Context, d *detail) error {
	for _, o := range d.ops {
		var before, iteration, attempt any
		if !o.Before.IsZero() {
			before = o.Before.String()
		}
		if o.NodeID != "" {
			iteration, attempt = o.Iteration, positive(o.Attempt)
		}
		if err := w.exec(ctx, sqlSetOp, d.runID, o.Number, o.Kind, o.AtMs, o.from, o.To, o.Frame, nullable(o.NodeID),
			iteration, attempt, o.NoDeps, o.Files, nullable(o.Worktree), positive(o.Undoes), positive(o.UndoneBy), before); err != nil {
			return err
		}
	}
	return nil
}

// positive returns n, or nil (NULL) if n is 0.
func positive(n int) any {
	if n == 0 {
		return nil
	}
	return n
}

// input writes the run's new input, or removes the row of a removed input. It does nothing if the input is
// unchanged.
func (w *detailWriter) input(ctx context.Context, d *detail) error {
	switch {
	case !d.input.changed:
		return nil
	case d.input.text == nil:
		return w.exec(ctx, sqlDropInput, d.runID)
	}
	return w.exec(ctx, sqlSetInput, d.runID, string(d.input.text))
}
