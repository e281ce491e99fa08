package sqliteindex

import (
	"context"
	"database/sql"
)

// DefaultSignalLimit is the limit of a query without one.
const DefaultSignalLimit = 200

// SignalQuery selects signals of one run. Only RunID is required.
type SignalQuery struct {
	RunID         string
	Name          string
	Correlated    bool    // only signals with CorrelationID
	CorrelationID *string // with Correlated; nil means without a correlation id
	AfterMs       *int64  // received after this time
	Limit         int     // 0 means DefaultSignalLimit
}

// SignalRow is a signal.
type SignalRow struct {
	RunID         string
	Seq           int64
	Name          string
	CorrelationID *string
	Payload       string // JSON
	ReceivedAtMs  int64
	ReceivedBy    *string
}

// Signals lists signals by seq.
func (x *Index) Signals(ctx context.Context, q SignalQuery) ([]SignalRow, error) {
	d, err := x.openDetails(ctx)
	if err != nil {
		return nil, err
	}
	query := `SELECT run_id, seq, signal_name, correlation_id, payload_json, received_at_ms, received_by
		FROM _smithers_signals WHERE run_id = ?`
	args := []any{q.RunID}
	and := func(condition string, value any) {
		query, args = query+" AND "+condition, append(args, value)
	}
	if q.Name != "" {
		and("signal_name = ?", q.Name)
	}
	if q.Correlated {
		and("correlation_id IS ?", q.CorrelationID)
	}
	if q.AfterMs != nil {
		and("received_at_ms > ?", *q.AfterMs)
	}
	limit := q.Limit
	if limit <= 0 {
		limit = DefaultSignalLimit
	}
	return list(ctx, d.Index, scanSignal, query+" ORDER BY seq LIMIT ?", append(args, limit)...)
}

func scanSignal(rows *sql.Rows) (s SignalRow, err error) {
	err = rows.Scan(&s.RunID, &s.Seq, &s.Name, &s.CorrelationID, &s.Payload, &s.ReceivedAtMs, &s.ReceivedBy)
	return s, err
}
