package sqliteindex

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/snapshot"
)

// EventQuery selects events of one run. Only RunID is required.
type EventQuery struct {
	RunID   string
	After   *int64   // only events with a greater seq; nil means all events
	Types   []string // only events of these types; empty means all types
	Node    string   // only events with this node id; "" means all events
	SinceMs int64    // only events at or after this time, in Unix milliseconds; 0 means all events
	Limit   int      // maximum number of events; 0 or less means all events
}

// EventRow is an event. Payload has the members type, runId and timestampMs, as in Smithers, besides the
// event's own members.
type EventRow struct {
	RunID       string
	Seq         int64
	TimestampMs int64
	Type        string
	Payload     string // a JSON object
}

// Queries of details use the state of the last SyncDetails.

// Events returns the events that q selects, sorted by seq. If q.Limit is greater than 0, it returns only the first
// q.Limit events. It returns no events for an unknown run.
func (x *Index) Events(ctx context.Context, q EventQuery) ([]EventRow, error) {
	d, err := x.openDetails(ctx)
	if err != nil {
		return nil, err
	}
	where, args := q.where()
	query := "SELECT run_id, seq, timestamp_ms, type, payload_json" + where + " ORDER BY seq"
	if q.Limit > 0 {
		query, args = query+" LIMIT ?", append(args, q.Limit)
	}
	return list[EventRow](ctx, d, query, args...)
}

// EventTypes returns the different types of a run's events, sorted by name.
func (x *Index) EventTypes(ctx context.Context, runID string) ([]string, error) {
	d, err := x.openDetails(ctx)
	if err != nil {
		return nil, err
	}
	return list[string](ctx, d, "SELECT DISTINCT type FROM _smithers_events WHERE run_id = ? ORDER BY type", runID)
}

// CountEvents returns the number of events that [Index.Events] returns for q. If q.Limit is greater than 0, the number
// is at most q.Limit.
func (x *Index) CountEvents(ctx context.Context, q EventQuery) (int64, error) {
	d, err := x.openDetails(ctx)
	if err != nil {
		return 0, err
	}
	where, args := q.where()
	query := "SELECT count(*)" + where
	if q.Limit > 0 {
		query, args = "SELECT count(*) FROM (SELECT 1"+where+" LIMIT ?)", append(args, q.Limit)
	}
	count, _, err := first(list[int64](ctx, d, query, args...))
	return count, err
}

// where returns the FROM and WHERE clauses that select the events of q, and the arguments of the clauses. A field of q
// without a value selects all events.
func (q EventQuery) where() (clause string, args []any) {
	clause, args = " FROM _smithers_events WHERE run_id = ?", []any{q.RunID}
	and := func(condition string, values ...any) {
		clause, args = clause+" AND "+condition, append(args, values...)
	}
	if q.After != nil {
		and("seq > ?", *q.After)
	}
	if q.SinceMs != 0 {
		and("timestamp_ms >= ?", q.SinceMs)
	}
	if q.Node != "" {
		and("node_id = ?", q.Node)
	}
	if len(q.Types) > 0 {
		types := make([]any, len(q.Types))
		for i, t := range q.Types {
			types[i] = t
		}
		and("type IN (?"+strings.Repeat(", ?", len(types)-1)+")", types...)
	}
	return clause, args
}

// eventPayload returns the payload of e, an event of the run runID. As in Smithers, it also has the members type, runId
// and timestampMs. If the payload of e already has the member runId, that member stays. nodeID is the member nodeId of
// the payload, or "" if the payload has no such member or the member is not a string. If the payload of e is not a JSON
// object, eventPayload returns an error.
func eventPayload(runID string, e snapshot.Event) (text, nodeID string, err error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(e.Payload, &members); err != nil {
		return "", "", err
	}
	payload := page.AppendString([]byte(`{"type":`), e.Type)
	if _, named := members["runId"]; !named {
		payload = page.AppendString(append(payload, `,"runId":`...), runID)
	}
	if len(members) > 0 {
		payload = append(append(payload, ','), e.Payload[1:len(e.Payload)-1]...)
	}
	payload = strconv.AppendInt(append(payload, `,"timestampMs":`...), e.AtMs, 10)
	if text, ok := members["nodeId"]; ok && text[0] == '"' {
		if err := json.Unmarshal(text, &nodeID); err != nil {
			return "", "", err
		}
	}
	return string(append(payload, '}')), nodeID, nil
}
