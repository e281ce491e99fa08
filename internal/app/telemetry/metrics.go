// Package telemetry tells Prometheus and the collectors of OpenTelemetry what the runs of a repository did.
//
// Metrics count runs. The numbers come from the history, not from a process: they are the same whoever asks, and outlive every process. A pruned run
// is no longer counted, which Prometheus takes for a counter that begins anew.
//
// In the trace of a run, the run, its attempts and their tool calls are spans. A trace is made after the fact, so that no run waits for a collector,
// and none is lost because a collector is away.
//
// What is sent is OpenTelemetry's protocol in its JSON encoding, opentelemetry-proto 1.x, in which 64-bit numbers are texts.
package telemetry

import (
	"context"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/git-smithers/git-smithers/sqliteindex"
)

// Family is a metric with its samples.
type Family struct {
	Name    string   `json:"name"`
	Help    string   `json:"help"`
	Type    string   `json:"type"` // counter, gauge or histogram
	Samples []Sample `json:"samples"`
}

// Sample is a value of a metric.
type Sample struct {
	Suffix string  `json:"suffix,omitempty"` // of the name: _bucket, _sum or _count of a histogram
	Labels []Label `json:"labels,omitempty"`
	Value  float64 `json:"value"`
}

// Label is a label of a sample.
type Label struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// maxScorers is the largest number of scorers that have samples of their own: scorers have free names.
const maxScorers = 100

// own is the condition that an attempt, or a row of one, belongs to the run itself: a fork has the rows of its parent, too.
const own = `(r.forked_at_ms IS NULL OR x.started_at_ms >= r.forked_at_ms)`

// grouped are the metrics that are a query: a number for each value of a label, or a number alone.
var grouped = []struct {
	name, kind, help, label, query string
}{
	{"smithers_runs", "gauge", "Runs in the repository by status.", "status", `SELECT status, count(*) FROM _smithers_runs GROUP BY 1 ORDER BY 1`},
	{"smithers_snapshots_captured_total", "counter", "Frames of all runs.", "", `SELECT count(*) FROM _smithers_snapshots AS x JOIN _smithers_runs AS r USING (run_id) WHERE r.forked_at_ms IS NULL OR x.created_at_ms >= r.forked_at_ms`},
	{"smithers_forks_created_total", "counter", "Runs that are forks of others.", "", `SELECT count(*) FROM _smithers_runs WHERE parent_run_id IS NOT NULL`},
	{"smithers_replays_started_total", "counter", "Forks that were made to run again.", "", `SELECT count(*) FROM _smithers_events WHERE type = 'ReplayStarted'`},
	{"smithers_attempts_total", "counter", "Ended attempts of tasks by state.", "state", `SELECT x.state, count(*) FROM _smithers_attempts AS x JOIN _smithers_runs AS r USING (run_id) WHERE x.finished_at_ms IS NOT NULL AND ` + own + ` GROUP BY 1 ORDER BY 1`},
	{"smithers_queue_depth", "gauge", "Pending tasks of runs that are running or pending.", "", `SELECT count(*) FROM _smithers_nodes AS x JOIN _smithers_runs AS r USING (run_id) WHERE x.state = 'pending' AND r.status IN ('running', 'pending')`},
	{"smithers_cache_hits_total", "counter", "Attempts that took their result from the cache.", "", `SELECT count(*) FROM _smithers_attempts AS x JOIN _smithers_runs AS r USING (run_id) WHERE x.cached AND ` + own},
	{"smithers_cache_misses_total", "counter", "Attempts that looked for a result in the cache and ran.", "", `SELECT count(*) FROM _smithers_events WHERE type = 'CacheMiss'`},
	{"smithers_tool_calls_total", "counter", "Ended tool calls by status.", "status", `SELECT x.status, count(*) FROM _smithers_tool_calls AS x JOIN _smithers_runs AS r USING (run_id) WHERE x.finished_at_ms IS NOT NULL AND ` + own + ` GROUP BY 1 ORDER BY 1`},
	{"smithers_scores_total", "counter", "Scores by scorer.", "scorer", `SELECT scorer_id, count(*) FROM _smithers_scorers GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT ` + strconv.Itoa(maxScorers)},
	{"smithers_score_mean", "gauge", "Mean of the scores of a scorer.", "scorer", `SELECT scorer_id, avg(score) FROM _smithers_scorers GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT ` + strconv.Itoa(maxScorers)},
	{"smithers_schedules", "gauge", "Schedules by whether they fire in this clone.", "enabled", `SELECT CASE enabled WHEN 1 THEN 'yes' ELSE 'no' END, count(*) FROM _smithers_cron GROUP BY 1 ORDER BY 1`},
	{"smithers_schedule_errors", "gauge", "Schedules whose last time came to nothing.", "", `SELECT count(*) FROM _smithers_cron WHERE error_json IS NOT NULL`},
	{"smithers_sandboxes_total", "counter", "Ended attempts in sandboxes by status.", "status", `SELECT status, count(*) FROM _smithers_sandboxes WHERE completed_at_ms IS NOT NULL GROUP BY 1 ORDER BY 1`},
}

// waits is the query of what runs wait for: the kind and since when.
const waits = `SELECT 'approval', requested_at_ms FROM _smithers_approvals WHERE status = 'requested'
	UNION ALL SELECT 'human', requested_at_ms FROM _smithers_human_requests WHERE status = 'pending'
	UNION ALL SELECT kind, started_at_ms FROM _smithers_waits WHERE status = 'waiting'`

// durations are the histograms: a query of milliseconds, and the first of the buckets, each twice the one before, in seconds.
var durations = []struct {
	name, help, query string
	first             float64
	buckets           int
}{
	{"smithers_attempt_duration_seconds", "How long attempts took.", `SELECT x.finished_at_ms - x.started_at_ms FROM _smithers_attempts AS x JOIN _smithers_runs AS r USING (run_id) WHERE x.finished_at_ms IS NOT NULL AND NOT x.cached AND ` + own, 0.1, 16},
	{"smithers_tool_duration_seconds", "How long tool calls took.", `SELECT x.finished_at_ms - x.started_at_ms FROM _smithers_tool_calls AS x JOIN _smithers_runs AS r USING (run_id) WHERE x.finished_at_ms IS NOT NULL AND ` + own, 0.01, 16},
	{"smithers_scorer_duration_seconds", "How long scorers took.", `SELECT duration_ms FROM _smithers_scorers WHERE duration_ms IS NOT NULL`, 0.1, 12},
	{"smithers_run_duration_seconds", "How long ended runs took from their first start.", `SELECT finished_at_ms - started_at_ms FROM _smithers_runs WHERE finished_at_ms IS NOT NULL AND started_at_ms IS NOT NULL`, 1, 18},
}

// ReadMetrics returns the metrics of an index with details, whose repository-wide tables are up to date.
func ReadMetrics(ctx context.Context, index *sqliteindex.Index, now time.Time) ([]Family, error) {
	var all []Family
	for _, g := range grouped {
		answer, err := index.Query(ctx, g.query)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", g.name, err)
		}
		f := Family{Name: g.name, Help: g.help, Type: g.kind, Samples: []Sample{}}
		for _, row := range answer.Rows {
			s := Sample{Value: number(row[len(row)-1])}
			if g.label != "" {
				s.Labels = []Label{{g.label, fmt.Sprint(row[0])}}
			}
			f.Samples = append(f.Samples, s)
		}
		all = append(all, f)
	}
	waiting, err := readWaits(ctx, index, now)
	if err != nil {
		return nil, err
	}
	all = append(all, waiting...)
	for _, d := range durations {
		answer, err := index.Query(ctx, d.query)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", d.name, err)
		}
		f := Family{Name: d.name, Help: d.help, Type: "histogram"}
		f.Samples = histogram(answer.Rows, d.first, d.buckets)
		all = append(all, f)
	}
	return all, nil
}

// number returns a number of a row.
func number(value any) float64 {
	switch value := value.(type) {
	case int64:
		return float64(value)
	case float64:
		return value
	}
	return 0
}

// readWaits returns how much runs wait for, and since when.
func readWaits(ctx context.Context, index *sqliteindex.Index, now time.Time) ([]Family, error) {
	answer, err := index.Query(ctx, waits)
	if err != nil {
		return nil, fmt.Errorf("waits: %w", err)
	}
	count := Family{Name: "smithers_waits", Help: "What runs wait for by kind.", Type: "gauge"}
	oldest := Family{Name: "smithers_wait_oldest_seconds", Help: "Age of the oldest wait by kind; 0 without one.", Type: "gauge"}
	for _, kind := range []string{"approval", "human", "signal", "timer"} {
		n, age := 0, 0.0
		for _, row := range answer.Rows {
			if row[0] == kind {
				n++
				age = max(age, float64(now.UnixMilli())/1000-number(row[1])/1000)
			}
		}
		labels := []Label{{"kind", kind}}
		count.Samples = append(count.Samples, Sample{Labels: labels, Value: float64(n)})
		oldest.Samples = append(oldest.Samples, Sample{Labels: labels, Value: age})
	}
	return []Family{count, oldest}, nil
}

// histogram returns the samples of a histogram of milliseconds.
func histogram(rows [][]any, first float64, buckets int) []Sample {
	counts, sum := make([]int, buckets), 0.0
	for _, row := range rows {
		seconds := max(number(row[0]), 0) / 1000
		sum += seconds
		for i := range counts {
			if seconds <= first*math.Pow(2, float64(i)) {
				counts[i]++
			}
		}
	}
	samples := make([]Sample, 0, buckets+3)
	for i, n := range counts {
		samples = append(samples, Sample{"_bucket", []Label{{"le", format(first * math.Pow(2, float64(i)))}}, float64(n)})
	}
	total := float64(len(rows))
	return append(samples, Sample{"_bucket", []Label{{"le", "+Inf"}}, total}, Sample{"_sum", nil, sum}, Sample{"_count", nil, total})
}

// format returns a number in Prometheus' text format.
func format(value float64) string { return strconv.FormatFloat(value, 'g', -1, 64) }

// escape returns a label's value in Prometheus' text format.
var escape = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// WriteMetrics writes metrics in Prometheus' text format, version 0.0.4.
func WriteMetrics(w io.Writer, families []Family) error {
	var b strings.Builder
	for _, f := range families {
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s %s\n", f.Name, f.Help, f.Name, f.Type)
		for _, s := range f.Samples {
			b.WriteString(f.Name + s.Suffix)
			for i, label := range s.Labels {
				fmt.Fprintf(&b, `%s%s="%s"`, map[bool]string{true: "{", false: ","}[i == 0], label.Name, escape.Replace(label.Value))
			}
			if len(s.Labels) > 0 {
				b.WriteByte('}')
			}
			b.WriteString(" " + format(s.Value) + "\n")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
