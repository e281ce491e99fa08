// Package traces makes OpenTelemetry traces of runs from their history: a run, its attempts and their tool calls are spans.
//
// A trace is made after the fact, so that no run waits for a collector, and none is lost because a collector is away.
package traces

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/git-smithers/git-smithers/app/otlp"
	"github.com/git-smithers/git-smithers/engine/trace"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

const (
	maxSpans = 500 // of a request
	internal = 1   // SPAN_KIND_INTERNAL
	failed   = 2   // STATUS_CODE_ERROR
)

// Request is the body of an ExportTraceServiceRequest in OTLP's JSON encoding, in which ids are hexadecimal and 64-bit numbers are texts.
type Request struct {
	ResourceSpans []resourceSpans `json:"resourceSpans"`
}

type resourceSpans struct {
	Resource   otlp.Resource `json:"resource"`
	ScopeSpans []scopeSpans  `json:"scopeSpans"`
}

type scopeSpans struct {
	Scope otlp.Scope `json:"scope"`
	Spans []Span     `json:"spans"`
}

// Span is a span of a trace.
type Span struct {
	TraceID      string           `json:"traceId"`
	SpanID       string           `json:"spanId"`
	ParentSpanID string           `json:"parentSpanId,omitempty"`
	Name         string           `json:"name"`
	Kind         int              `json:"kind"`
	Start        string           `json:"startTimeUnixNano"`
	End          string           `json:"endTimeUnixNano"`
	Attributes   []otlp.Attribute `json:"attributes"`
	Status       *status          `json:"status,omitempty"`
}

type status struct {
	Code    int    `json:"code"`
	Message string `json:"message,omitempty"`
}

// prefix is how the names of attributes begin.
const prefix = "smithers."

// Of returns the requests that report the run of head, of which none is too large. It returns no requests for a run that never started. Attempts
// that a fork has from its parent belong to the parent. hide takes secrets out of texts: see app.SecretHider.
func Of(head *timeline.Head, env []string, hide func(string) string) ([]Request, error) {
	row := head.Row()
	if row.StartedAtMs == nil {
		return nil, nil
	}
	spans, err := spansOf(head, maker{hide})
	if err != nil {
		return nil, timeline.Explain(err)
	}
	from := otlp.Sender(env)
	var out []Request
	for part := range slices.Chunk(spans, maxSpans) {
		out = append(out, Request{[]resourceSpans{{from, []scopeSpans{{otlp.Self(), part}}}}})
	}
	return out, nil
}

// maker makes spans. hide takes the secrets out of a text: names and ids are stored as they are.
type maker struct{ hide func(string) string }

// text returns an attribute with a text, without its secrets.
func (m maker) text(key, of string) otlp.Attribute { return otlp.Text(key, m.hide(of)) }

// spansOf returns the span of the run, and then the spans of its attempts and tool calls in the order of their starts.
func spansOf(head *timeline.Head, m maker) ([]Span, error) {
	row, entry := head.Row(), head.Entry()
	own, parent := trace.Of(row)
	end := entry.AtMs
	if row.FinishedAtMs != nil {
		end = *row.FinishedAtMs
	}
	run := Span{
		TraceID: own.Trace, SpanID: own.Span, ParentSpanID: parent, Name: "smithers.run", Kind: internal, Start: otlp.Nanos(*row.StartedAtMs), End: otlp.Nanos(max(end, *row.StartedAtMs)),
		Attributes: []otlp.Attribute{m.text(prefix+"run_id", row.ID), m.text(prefix+"workflow_name", row.Workflow), m.text(prefix+"status", string(row.Status))},
	}
	if row.Status == snapshot.RunFailed {
		run.Status = &status{failed, otlp.Cut(m.hide(row.Error))}
	}
	since := int64(0)
	if row.Parent != nil {
		since = row.Parent.AtMs
	}
	attempts, err := entry.Attempts()
	if err != nil {
		return nil, err
	}
	var inner []timed
	for r, err := range attempts.Rows() {
		if err != nil {
			return nil, err
		}
		a, err := snapshot.DecodeAttempt(r)
		if err != nil {
			return nil, err
		}
		if a.StartedAtMs >= since {
			inner = append(inner, timed{a.StartedAtMs, m.attemptSpan(row, own, &a, end)})
		}
	}
	for c, err := range entry.AllToolCalls() {
		if err != nil {
			return nil, err
		}
		if c.StartedAtMs >= since {
			inner = append(inner, timed{c.StartedAtMs, m.callSpan(row, own, &c, end)})
		}
	}
	slices.SortStableFunc(inner, func(a, b timed) int { return cmp.Compare(a.atMs, b.atMs) })
	spans := make([]Span, 0, len(inner)+1)
	spans = append(spans, run)
	for _, t := range inner {
		spans = append(spans, t.span)
	}
	return spans, nil
}

// timed is a span with its start.
type timed struct {
	atMs int64
	span Span
}

// attemptSpan returns the span of an attempt. An attempt that has not ended ends with the run.
func (m maker) attemptSpan(row snapshot.Run, own trace.Place, a *snapshot.Attempt, end int64) Span {
	if a.FinishedAtMs != nil {
		end = *a.FinishedAtMs
	}
	s := Span{
		TraceID: own.Trace, SpanID: trace.Attempt(row.ID, a.NodeID, a.Iteration, a.Attempt), ParentSpanID: own.Span, Name: "smithers.task", Kind: internal,
		Start: otlp.Nanos(a.StartedAtMs), End: otlp.Nanos(max(end, a.StartedAtMs)),
		Attributes: []otlp.Attribute{
			m.text(prefix+"run_id", row.ID), m.text(prefix+"workflow_name", row.Workflow), m.text(prefix+"node_id", a.NodeID), otlp.Number(prefix+"iteration", a.Iteration),
			otlp.Number(prefix+"attempt", a.Attempt), m.text(prefix+"status", a.State),
		},
	}
	if a.ExitStatus != nil {
		s.Attributes = append(s.Attributes, otlp.Number(prefix+"exit_status", *a.ExitStatus))
	}
	if a.CachedFrom != "" {
		s.Attributes = append(s.Attributes, otlp.Yes(prefix+"cached"))
	}
	if a.Child != "" {
		s.Attributes = append(s.Attributes, m.text(prefix+"child_run_id", a.Child))
	}
	if a.State == snapshot.AttemptFailed {
		s.Status = &status{failed, otlp.Cut(m.hide(a.Error))}
	}
	return s
}

// callSpan returns the span of a tool call. A call that has not ended ends with the run.
func (m maker) callSpan(row snapshot.Run, own trace.Place, c *snapshot.ToolCall, end int64) Span {
	if c.FinishedAtMs != nil {
		end = *c.FinishedAtMs
	}
	s := Span{
		TraceID: own.Trace, SpanID: trace.ToolCall(row.ID, c), ParentSpanID: trace.Attempt(row.ID, c.NodeID, c.Iteration, c.Attempt), Name: "smithers.tool", Kind: internal,
		Start: otlp.Nanos(c.StartedAtMs), End: otlp.Nanos(max(end, c.StartedAtMs)),
		Attributes: []otlp.Attribute{
			m.text(prefix+"run_id", row.ID), m.text(prefix+"node_id", c.NodeID), otlp.Number(prefix+"iteration", c.Iteration), otlp.Number(prefix+"attempt", c.Attempt),
			m.text(prefix+"tool_name", c.ToolName), m.text(prefix+"status", c.Status),
		},
	}
	if c.Status == snapshot.ToolCallFailed {
		s.Status = &status{Code: failed}
	}
	return s
}

// Encode returns the request as JSON.
func (r Request) Encode() ([]byte, error) { return json.Marshal(r) }
