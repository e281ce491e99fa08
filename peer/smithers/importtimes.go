package smithers

import (
	"encoding/json"

	"github.com/git-smithers/git-smithers/objstore/page"
	"github.com/git-smithers/git-smithers/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/peer/smithers/source"
	"github.com/git-smithers/git-smithers/peer/smithers/tables"
	"github.com/git-smithers/git-smithers/peer/smithers/workcopy"
	"github.com/git-smithers/git-smithers/snapshot"
)

// attemptRow is a row of _smithers_attempts as ours.
type attemptRow struct {
	attempt snapshot.Attempt
	log     string
	wait    *tables.WaitRow // nil for one that does not wait
	done    bool            // a frame after the first one since it ended has it in its journal
}

// endedBy reports whether the attempt had ended at a time.
func (a *attemptRow) endedBy(atMs int64) bool {
	return a.attempt.FinishedAtMs != nil && *a.attempt.FinishedAtMs <= atMs
}

// isDone reports whether the journal has the attempt as it is in it at a time, which comes after a frame.
func (a *attemptRow) isDone(atMs int64, before *workcopy.Moment) bool {
	return a.done && before != nil && a.endedBy(min(atMs, before.AtMs))
}

// then is the attempt as it was at a time; ok is false where it had not begun.
func (a *attemptRow) then(atMs int64) (snapshot.Attempt, bool) {
	was := a.attempt
	if ended := was.FinishedAtMs; ended != nil && *ended > atMs {
		was.State, was.FinishedAtMs, was.Error, was.CommitID = snapshot.AttemptInProgress, nil, "", ""
	}
	return was, was.StartedAtMs <= atMs
}

// peerEvent is a row of _smithers_events, with what decides where it belongs.
type peerEvent struct {
	row     source.Row
	atMs    int64
	kind    string
	frameNo int64  // of a SnapshotCaptured; noPeer for none
	node    string // the key of the node that it is about; "" for none
}

// is reports whether it is, by its type and time, an event of the run.
func (e peerEvent) is(stored snapshot.Event) bool {
	return e.kind == stored.Type && e.atMs == stored.AtMs
}

func peerEventOf(row source.Row) peerEvent {
	e := peerEvent{row: row, frameNo: tables.NoNumber}
	e.atMs, _ = dbrow.ColumnNumber(row, "timestamp_ms")
	e.kind, _ = dbrow.ColumnText(row, "type")
	switch e.kind {
	case "SnapshotCaptured", "ApprovalRequested":
		var payload struct {
			FrameNo   *int64
			NodeID    string
			Iteration int
		}
		if json.Unmarshal([]byte(dbrow.TextOf(row, "payload_json")), &payload) != nil {
			break
		}
		if payload.NodeID != "" {
			e.node = snapshot.Key(payload.NodeID, payload.Iteration)
		}
		if payload.FrameNo != nil && e.kind == "SnapshotCaptured" {
			e.frameNo = *payload.FrameNo
		}
	}
	return e
}

// eventsUpTo counts the events up to and with the one by which Smithers said that it has a frame
// or, where there is none, up to its time. from are behind already.
func (p *peerRun) eventsUpTo(from int, frameNo, atMs int64) int {
	if last, ok := p.captured[frameNo]; ok && last >= from {
		return last + 1
	}
	for from < len(p.events) && p.events[from].atMs <= atMs {
		from++
	}
	return from
}

// logOf is the row of an attempt's log.
func logOf(a snapshot.Attempt, log string) page.Row {
	return snapshot.EncodeLog(a.NodeID, a.Iteration, a.Attempt, log)
}
