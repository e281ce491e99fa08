package telemetry

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/app/summary"
	"github.com/git-smithers/git-smithers/internal/engine/trace"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

const (
	maxSpans = 500 // of a request
	internal = 1   // SPAN_KIND_INTERNAL
	server   = 2   // SPAN_KIND_SERVER
	failed   = 2   // STATUS_CODE_ERROR
)

// TraceRequest is the body of an ExportTraceServiceRequest in OTLP's JSON encoding, in which ids are hexadecimal and 64-bit numbers are texts.
type TraceRequest struct {
	ResourceSpans []resourceSpans `json:"resourceSpans"`
}

type resourceSpans struct {
	Resource   resource     `json:"resource"`
	ScopeSpans []scopeSpans `json:"scopeSpans"`
}

type scopeSpans struct {
	Scope scope  `json:"scope"`
	Spans []span `json:"spans"`
}

// span is a span of a trace.
type span struct {
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

// prefix is how the names of attributes begin.
const prefix = "smithers."

// pipeline begins the names of attributes by OpenTelemetry's conventions for CI/CD.
const pipeline = "cicd.pipeline."

// TracesOf returns the requests that report the run of head, of which none is too large. It returns no requests for a run that never started. Attempts
// that a fork has from its parent belong to the parent. hide takes secrets out of texts: see app.SecretHider.
func TracesOf(head *timeline.Head, env []string, hide func(string) string) ([]TraceRequest, error) {
	row := head.Row()
	if row.StartedAtMs == nil {
		return nil, nil
	}
	spans, err := spansOf(head, maker{hide})
	if err != nil {
		return nil, timeline.Explain(err)
	}
	from := sender(env)
	var out []TraceRequest
	for part := range slices.Chunk(spans, maxSpans) {
		out = append(out, TraceRequest{[]resourceSpans{{from, []scopeSpans{{self(), part}}}}})
	}
	return out, nil
}

// maker makes spans. hide takes the secrets out of a text: names and ids are stored as they are.
type maker struct{ hide func(string) string }

// text returns an attribute with a text, without its secrets.
func (m maker) text(key, of string) attribute { return textAttribute(key, m.hide(of)) }

// spansOf returns the span of the run, and then the spans of its attempts and tool calls in the order of their starts.
func spansOf(head *timeline.Head, m maker) ([]span, error) {
	row, entry := head.Row(), head.Entry()
	own, parent := trace.Of(row)
	end := entry.AtMs
	if row.FinishedAtMs != nil {
		end = *row.FinishedAtMs
	}
	run := span{
		TraceID: own.Trace, SpanID: own.Span, ParentSpanID: parent, Name: shortened("run " + m.hide(row.Workflow)), Kind: server, Start: nanos(*row.StartedAtMs), End: nanos(max(end, *row.StartedAtMs)),
		Attributes: []attribute{
			m.text(prefix+"run_id", row.ID), m.text(prefix+"workflow_name", row.Workflow), m.text(prefix+"status", string(row.Status)),
			textAttribute(pipeline+"action.name", "RUN"), m.text(pipeline+"name", row.Workflow), m.text(pipeline+"run.id", row.ID),
		},
	}
	run.ended(pipeline+"result", string(row.Status), "run_failed")
	if row.Status == snapshot.RunFailed {
		run.Status = &status{failed, shortened(m.hide(row.Error))}
	}
	since := int64(0)
	if row.Parent != nil {
		since = row.Parent.AtMs
	}
	var inner []timed
	newest := make(map[string]int) // by the node's key, the index of its newest finished attempt in inner
	for a, err := range entry.AllAttempts() {
		if err != nil {
			return nil, err
		}
		if a.StartedAtMs >= since {
			key := snapshot.Key(a.NodeID, a.Iteration)
			if at, ok := newest[key]; a.State == snapshot.AttemptFinished && (!ok || inner[at].atMs <= a.StartedAtMs) {
				newest[key] = len(inner)
			}
			inner = append(inner, timed{a.StartedAtMs, m.attemptSpan(row, own, &a, end)})
		}
	}
	if err := m.addUsage(entry, inner, newest); err != nil {
		return nil, err
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
	spans := make([]span, 0, len(inner)+1)
	spans = append(spans, run)
	for _, t := range inner {
		spans = append(spans, t.span)
	}
	return spans, nil
}

// ended adds, by OpenTelemetry's conventions, how what the span is of has ended, if it has: key is the attribute for the result, and reason the class
// of the error.
func (s *span) ended(key, state, reason string) {
	result := map[string]string{snapshot.AttemptFinished: "success", snapshot.AttemptFailed: "failure", snapshot.AttemptCancelled: "cancellation"}[state]
	if result == "" {
		return
	}
	if result == "failure" && reason == "timeout" {
		result = reason
	}
	s.Attributes = append(s.Attributes, textAttribute(key, result))
	if state == snapshot.AttemptFailed {
		s.Attributes = append(s.Attributes, textAttribute("error.type", reason))
	}
}

// reasonOf returns the code of an attempt's error, which is "code: reason"; "_OTHER", as the conventions want it, for the errors of other engines.
func reasonOf(text string) string {
	code, _, ok := strings.Cut(text, ": ")
	if !ok || strings.Trim(code, "abcdefghijklmnopqrstuvwxyz_") != "" {
		return "_OTHER"
	}
	return code
}

// addUsage adds the usage of each node to the span of its newest finished attempt. newest has the index of this attempt by node.
func (m maker) addUsage(entry *snapshot.Entry, attempts []timed, newest map[string]int) error {
	state, err := entry.State()
	if err != nil {
		return err
	}
	for r, err := range state.Outputs(summary.UsageTable).Rows() {
		if err != nil {
			return err
		}
		if at, ok := newest[r.Key]; ok {
			var used summary.Usage
			used.Add(r.Value)
			span := &attempts[at].span
			span.Attributes = append(span.Attributes, numberAttribute("gen_ai.usage.input_tokens", int(used.InputTokens)), numberAttribute("gen_ai.usage.output_tokens", int(used.OutputTokens)))
			if models := used.ByModel(); len(models) == 1 {
				span.Attributes = append(span.Attributes, m.text("gen_ai.response.model", models[0].Name))
			}
		}
	}
	return nil
}

// timed is a span with its start.
type timed struct {
	atMs int64
	span span
}

// attemptSpan returns the span of an attempt. An attempt that has not ended ends with the run.
func (m maker) attemptSpan(row snapshot.Run, own trace.Place, a *snapshot.Attempt, end int64) span {
	if a.FinishedAtMs != nil {
		end = *a.FinishedAtMs
	}
	s := span{
		TraceID: own.Trace, SpanID: trace.Attempt(row.ID, a.NodeID, a.Iteration, a.Attempt), ParentSpanID: own.Span, Name: shortened("task " + m.hide(a.NodeID)), Kind: internal,
		Start: nanos(a.StartedAtMs), End: nanos(max(end, a.StartedAtMs)),
		Attributes: []attribute{
			m.text(prefix+"run_id", row.ID), m.text(prefix+"workflow_name", row.Workflow), m.text(prefix+"node_id", a.NodeID), numberAttribute(prefix+"iteration", a.Iteration),
			numberAttribute(prefix+"attempt", a.Attempt), m.text(prefix+"status", a.State),
			m.text(pipeline+"name", row.Workflow), m.text(pipeline+"run.id", row.ID), m.text(pipeline+"task.name", a.NodeID), textAttribute(pipeline+"task.run.id", trace.Attempt(row.ID, a.NodeID, a.Iteration, a.Attempt)),
		},
	}
	s.ended(pipeline+"task.run.result", a.State, reasonOf(a.Error))
	if a.ExitStatus != nil {
		s.Attributes = append(s.Attributes, numberAttribute(prefix+"exit_status", *a.ExitStatus))
	}
	if a.CachedFrom != "" {
		s.Attributes = append(s.Attributes, yesAttribute(prefix+"cached"))
	}
	if a.Child != "" {
		s.Attributes = append(s.Attributes, m.text(prefix+"child_run_id", a.Child))
	}
	if a.State == snapshot.AttemptFailed {
		s.Status = &status{failed, shortened(m.hide(a.Error))}
	}
	return s
}

// callSpan returns the span of a tool call. A call that has not ended ends with the run.
func (m maker) callSpan(row snapshot.Run, own trace.Place, c *snapshot.ToolCall, end int64) span {
	if c.FinishedAtMs != nil {
		end = *c.FinishedAtMs
	}
	s := span{
		TraceID: own.Trace, SpanID: trace.ToolCall(row.ID, c), ParentSpanID: trace.Attempt(row.ID, c.NodeID, c.Iteration, c.Attempt), Name: shortened("execute_tool " + m.hide(c.ToolName)), Kind: internal,
		Start: nanos(c.StartedAtMs), End: nanos(max(end, c.StartedAtMs)),
		Attributes: []attribute{
			m.text(prefix+"run_id", row.ID), m.text(prefix+"node_id", c.NodeID), numberAttribute(prefix+"iteration", c.Iteration), numberAttribute(prefix+"attempt", c.Attempt),
			m.text(prefix+"tool_name", c.ToolName), m.text(prefix+"status", c.Status),
			textAttribute("gen_ai.operation.name", "execute_tool"), m.text("gen_ai.tool.name", c.ToolName),
		},
	}
	if c.CallToken != "" {
		s.Attributes = append(s.Attributes, m.text("gen_ai.tool.call.id", c.CallToken))
	}
	if c.Status == snapshot.ToolCallFailed {
		s.Status = &status{Code: failed}
	}
	return s
}

// Encode returns the request as JSON.
func (r TraceRequest) Encode() ([]byte, error) { return json.Marshal(r) }
