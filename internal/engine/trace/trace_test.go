package trace_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/git-smithers/git-smithers/internal/engine/trace"
	"github.com/git-smithers/git-smithers/snapshot"
)

const (
	traceID = "4bf92f3577b34da6a3ce929d0e0e4736"
	spanID  = "00f067aa0ba902b7"
)

func TestATraceparentIsRead(t *testing.T) {
	t.Parallel()
	for _, valid := range []string{"00-" + traceID + "-" + spanID + "-01", "00-" + traceID + "-" + spanID + "-00", "cc-" + traceID + "-" + spanID + "-01-what-comes-later"} {
		got, ok := trace.Parse(valid)
		assert.True(t, ok, valid)
		assert.Equal(t, trace.Place{Trace: traceID, Span: spanID}, got)
	}
	for _, invalid := range []string{
		"", "00", "00-" + traceID + "-" + spanID, "ff-" + traceID + "-" + spanID + "-01", "00-" + traceID + "-" + spanID + "-01-more",
		"00-00000000000000000000000000000000-" + spanID + "-01", "00-" + traceID + "-0000000000000000-01",
		"00-4BF92F3577B34DA6A3CE929D0E0E4736-" + spanID + "-01", "00-" + traceID[1:] + "-" + spanID + "-01", "0-" + traceID + "-" + spanID + "-01",
	} {
		_, ok := trace.Parse(invalid)
		assert.False(t, ok, invalid)
	}
}

func TestIDsFollowFromTheHistory(t *testing.T) {
	t.Parallel()
	own, parent := trace.Of(snapshot.Run{ID: "k7q2"})
	again, _ := trace.Of(snapshot.Run{ID: "k7q2", Status: snapshot.RunFinished})
	assert.Equal(t, own, again)
	assert.Empty(t, parent)
	_, ok := trace.Parse(own.String())
	assert.True(t, ok, own.String())

	within, parent := trace.Of(snapshot.Run{ID: "k7q2", TraceParent: "00-" + traceID + "-" + spanID + "-01"})
	assert.Equal(t, trace.Place{Trace: traceID, Span: own.Span}, within)
	assert.Equal(t, spanID, parent)

	ids := map[string]bool{own.Span: true}
	for _, id := range []string{
		trace.Attempt("k7q2", "a", 0, 1), trace.Attempt("k7q2", "a", 0, 2), trace.Attempt("k7q2", "a", 1, 1), trace.Attempt("other", "a", 0, 1),
		trace.ToolCall("k7q2", &snapshot.ToolCall{NodeID: "a", Attempt: 1}), trace.ToolCall("k7q2", &snapshot.ToolCall{NodeID: "a", Attempt: 1, Seq: 1}),
	} {
		assert.Len(t, id, 16)
		assert.False(t, ids[id], "each span has an id of its own")
		ids[id] = true
	}
}
