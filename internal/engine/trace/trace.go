// Package trace gives runs, attempts and tool calls their ids in OpenTelemetry traces. The ids follow from the history, so that whoever makes the trace
// of a run makes the same one.
package trace

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/git-smithers/git-smithers/snapshot"
)

// Parent is the variable that names a span of the caller to a command, as in the W3C recommendation Trace Context.
const Parent = "TRACEPARENT"

// Place is a span of a trace.
type Place struct {
	Trace string // 32 lower-case hex digits
	Span  string // 16 lower-case hex digits; "" for none
}

// Parse reads a traceparent, "00-TRACE-SPAN-FLAGS". ok is false if it is invalid. Of a version after 00, it reads what version 00 has.
func Parse(traceparent string) (_ Place, ok bool) {
	parts := strings.SplitN(traceparent, "-", 5)
	if len(parts) < 4 || !isHex(parts[0], 2) || parts[0] == "ff" || !isHex(parts[1], 32) || !isHex(parts[2], 16) || !isHex(parts[3], 2) ||
		parts[0] == "00" && len(parts) != 4 || strings.Trim(parts[1], "0") == "" || strings.Trim(parts[2], "0") == "" {
		return Place{}, false
	}
	return Place{Trace: parts[1], Span: parts[2]}, true
}

// isHex reports whether s has size lower-case hex digits.
func isHex(s string, size int) bool {
	return len(s) == size && strings.Trim(s, "0123456789abcdef") == ""
}

// String returns the place as a traceparent that is sampled.
func (p Place) String() string { return "00-" + p.Trace + "-" + p.Span + "-01" }

// Of returns the place of a run's own span, and the span that contains it: that of the caller who started the run, or "" if there is none.
func Of(row snapshot.Run) (own Place, parent string) {
	own = Place{Trace: digest(16, "trace", row.ID), Span: digest(8, "run", row.ID)}
	if from, ok := Parse(row.TraceParent); ok {
		own.Trace, parent = from.Trace, from.Span
	}
	return own, parent
}

// Attempt returns the id of the span of an attempt of the run.
func Attempt(run, node string, iteration, attempt int) string {
	return digest(8, "attempt", run, snapshot.AttemptKey(node, iteration, attempt))
}

// ToolCall returns the id of the span of a tool call of the run.
func ToolCall(run string, c *snapshot.ToolCall) string {
	return digest(8, "tool call", run, snapshot.AttemptKey(c.NodeID, c.Iteration, c.Attempt), strconv.Itoa(c.Seq))
}

// digest returns size bytes of the SHA-256 of the parts in hex.
func digest(size int, parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:size])
}
