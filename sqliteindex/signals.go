package sqliteindex

import "context"

// DefaultSignalLimit is the maximum number of signals if SignalQuery.Limit is 0 or less.
const DefaultSignalLimit = 200

// SignalQuery selects signals of one run. Only RunID is required.
type SignalQuery struct {
	RunID         string
	Name          string  // only signals with this name; "" means all names
	Correlated    bool    // only signals whose correlation id is CorrelationID
	CorrelationID *string // used if Correlated is true; nil means signals without a correlation id
	AfterMs       *int64  // only signals received at this time or later, in Unix milliseconds; nil means all signals
	Limit         int     // maximum number of signals; 0 or less means DefaultSignalLimit
}

// SignalRow is a signal that a run has received.
type SignalRow struct {
	RunID         string
	Seq           int64
	Name          string
	CorrelationID *string // nil if the signal has no correlation id
	Payload       string  // JSON
	ReceivedAtMs  int64   // Unix milliseconds
	ReceivedBy    *string // nil if the sender is unknown
}

// Signals returns the signals that q selects, sorted by seq: at most q.Limit signals, or DefaultSignalLimit if q.Limit
// is 0 or less.
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
		and("received_at_ms >= ?", *q.AfterMs)
	}
	limit := q.Limit
	if limit <= 0 {
		limit = DefaultSignalLimit
	}
	return list[SignalRow](ctx, d, query+" ORDER BY seq LIMIT ?", append(args, limit)...)
}
