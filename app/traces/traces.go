// Package traces makes OpenTelemetry traces of runs from their history: a run, its attempts and their tool calls are spans.
//
// A trace is made after the fact, so that no run waits for a collector, and none is lost because a collector is away.
package traces

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/git-smithers/git-smithers/engine/trace"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

const (
	maxSpans = 500  // of a request
	maxText  = 1024 // bytes of an attribute
	internal = 1    // SPAN_KIND_INTERNAL
	failed   = 2    // STATUS_CODE_ERROR
)

// Request is the body of an ExportTraceServiceRequest in OTLP's JSON encoding, in which ids are hexadecimal and 64-bit numbers are texts.
type Request struct {
	ResourceSpans []resourceSpans `json:"resourceSpans"`
}

type resourceSpans struct {
	Resource   resource     `json:"resource"`
	ScopeSpans []scopeSpans `json:"scopeSpans"`
}

type resource struct {
	Attributes []attribute `json:"attributes"`
}

type scopeSpans struct {
	Scope scope  `json:"scope"`
	Spans []Span `json:"spans"`
}

type scope struct {
	Name string `json:"name"`
}

// Span is a span of a trace.
type Span struct {
	TraceID      string      `json:"traceId"`
	SpanID       string      `json:"spanId"`
	ParentSpanID string      `json:"parentSpanId,omitempty"`
	Name         string      `json:"name"`
	Kind         int         `json:"kind"`
	Start        string      `json:"startTimeUnixNano"`
	End          string      `json:"endTimeUnixNano"`
	Attributes   []attribute `json:"attributes"`
	Status       *status     `json:"status,omitempty"`
}

type status struct {
	Code    int    `json:"code"`
	Message string `json:"message,omitempty"`
}

type attribute struct {
	Key   string `json:"key"`
	Value value  `json:"value"`
}

// value has one of its fields.
type value struct {
	Text   *string `json:"stringValue,omitempty"`
	Number *string `json:"intValue,omitempty"`
	Yes    *bool   `json:"boolValue,omitempty"`
}

func text(key, of string) attribute {
	for len(of) > maxText || !utf8.ValidString(of) {
		cut := min(len(of)-1, maxText)
		for cut > 0 && !utf8.RuneStart(of[cut]) {
			cut--
		}
		of = of[:cut]
	}
	return attribute{"smithers." + key, value{Text: &of}}
}

func number(key string, of int) attribute {
	return attribute{"smithers." + key, value{Number: new(strconv.Itoa(of))}}
}

// nanos returns a time in milliseconds as nanoseconds. Times before 1970 are 1970.
func nanos(ms int64) string { return strconv.FormatInt(max(ms, 0), 10) + "000000" }

// Of returns the requests that report the run of head, of which none is too large. It returns no requests for a run that never started. Attempts
// that a fork has from its parent belong to the parent.
func Of(head *timeline.Head, env []string) ([]Request, error) {
	row := head.Row()
	if row.StartedAtMs == nil {
		return nil, nil
	}
	spans, err := spansOf(head)
	if err != nil {
		return nil, timeline.Explain(err)
	}
	from := resource{Attributes: resourceAttributes(env)}
	var out []Request
	for part := range slices.Chunk(spans, maxSpans) {
		out = append(out, Request{[]resourceSpans{{from, []scopeSpans{{scope{"git-smithers"}, part}}}}})
	}
	return out, nil
}

// spansOf returns the span of the run, and then the spans of its attempts and tool calls in the order of their starts.
func spansOf(head *timeline.Head) ([]Span, error) {
	row, entry := head.Row(), head.Entry()
	own, parent := trace.Of(row)
	end := entry.AtMs
	if row.FinishedAtMs != nil {
		end = *row.FinishedAtMs
	}
	run := Span{
		TraceID: own.Trace, SpanID: own.Span, ParentSpanID: parent, Name: "smithers.run", Kind: internal, Start: nanos(*row.StartedAtMs), End: nanos(max(end, *row.StartedAtMs)),
		Attributes: []attribute{text("run_id", row.ID), text("workflow_name", row.Workflow), text("status", string(row.Status))},
	}
	if row.Status == snapshot.RunFailed {
		run.Status = &status{failed, *text("", row.Error).Value.Text}
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
			inner = append(inner, timed{a.StartedAtMs, attemptSpan(row, own, &a, end)})
		}
	}
	for c, err := range entry.AllToolCalls() {
		if err != nil {
			return nil, err
		}
		if c.StartedAtMs >= since {
			inner = append(inner, timed{c.StartedAtMs, callSpan(row, own, &c, end)})
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
func attemptSpan(row snapshot.Run, own trace.Place, a *snapshot.Attempt, end int64) Span {
	if a.FinishedAtMs != nil {
		end = *a.FinishedAtMs
	}
	s := Span{
		TraceID: own.Trace, SpanID: trace.Attempt(row.ID, a.NodeID, a.Iteration, a.Attempt), ParentSpanID: own.Span, Name: "smithers.task", Kind: internal,
		Start: nanos(a.StartedAtMs), End: nanos(max(end, a.StartedAtMs)),
		Attributes: []attribute{
			text("run_id", row.ID), text("workflow_name", row.Workflow), text("node_id", a.NodeID), number("iteration", a.Iteration),
			number("attempt", a.Attempt), text("status", a.State),
		},
	}
	if a.ExitStatus != nil {
		s.Attributes = append(s.Attributes, number("exit_status", *a.ExitStatus))
	}
	if a.CachedFrom != "" {
		s.Attributes = append(s.Attributes, attribute{"smithers.cached", value{Yes: new(true)}})
	}
	if a.Child != "" {
		s.Attributes = append(s.Attributes, text("child_run_id", a.Child))
	}
	if a.State == snapshot.AttemptFailed {
		s.Status = &status{failed, *text("", a.Error).Value.Text}
	}
	return s
}

// callSpan returns the span of a tool call. A call that has not ended ends with the run.
func callSpan(row snapshot.Run, own trace.Place, c *snapshot.ToolCall, end int64) Span {
	if c.FinishedAtMs != nil {
		end = *c.FinishedAtMs
	}
	s := Span{
		TraceID: own.Trace, SpanID: trace.ToolCall(row.ID, c), ParentSpanID: trace.Attempt(row.ID, c.NodeID, c.Iteration, c.Attempt), Name: "smithers.tool", Kind: internal,
		Start: nanos(c.StartedAtMs), End: nanos(max(end, c.StartedAtMs)),
		Attributes: []attribute{
			text("run_id", row.ID), text("node_id", c.NodeID), number("iteration", c.Iteration), number("attempt", c.Attempt),
			text("tool_name", c.ToolName), text("status", c.Status),
		},
	}
	if c.Status == snapshot.ToolCallFailed {
		s.Status = &status{Code: failed}
	}
	return s
}

// Encode returns the request as JSON.
func (r Request) Encode() ([]byte, error) { return json.Marshal(r) }
