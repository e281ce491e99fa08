package langgraph_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/peer/langgraph"
	"github.com/git-smithers/git-smithers/timeline"
)

// listed returns the checkpoints that a query selects, as texts.
func (d *desk) listed(q langgraph.Query) []string {
	d.t.Helper()
	out := []string{}
	for tuple, err := range d.List(d.t.Context(), q) {
		require.NoError(d.t, err)
		out = append(out, strings.Join([]string{tuple.ID, tuple.NS, tuple.Thread}, "\x00"))
	}
	return out
}

// TestAListOfAllThreadsIsThatOfEach compares with the lists of the threads one by one.
func TestAListOfAllThreadsIsThatOfEach(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	long := strings.Repeat("é", 300) // longer than an id of a frame
	threads := []string{}
	add := func(thread string, p langgraph.Put) {
		t.Helper()
		_, err := d.Put(t.Context(), thread, p)
		require.NoError(t, err)
		if !slices.Contains(threads, thread) {
			threads = append(threads, thread)
		}
	}
	for i := range 30 {
		thread := fmt.Sprintf("t%02d", i)
		add(thread, put("same", "", 1, `"x"`))
		add(thread, put(fmt.Sprintf("%03d", i*7%30), "same", 2, `"y"`))
		inner := put(fmt.Sprintf("%03d", 100-i), "", 1, `"z"`)
		inner.NS, inner.Metadata = "inner", json.RawMessage(`{"source":"update","step":1,"parents":{"":"same"}}`)
		add(thread, inner)
	}
	for i := range 3 {
		add("t01", put(long+strconv.Itoa(i), "", 3, `"long"`))
		add("t02", put(long+strconv.Itoa(2-i), "", 3, `"long"`))
	}
	require.NoError(t, d.PutWrites(t.Context(), "early", langgraph.Key{ID: "1"}, writeOf("1"), false)) // begins without a checkpoint
	add("early", put("1", "", 1, `"x"`))
	d.backTo("t05:0")
	require.NoError(t, d.Copy(t.Context(), "t03", "copy", ""))
	_, err := d.Store().Fork(t.Context(), timeline.ForkRequest{From: "t04:1", RunID: "fork"})
	require.NoError(t, err)
	threads = append(threads, "copy", "fork")
	require.NoError(t, d.Delete(t.Context(), "t06"))
	for round := range 2 {
		for _, before := range []string{"", "015", "same", long, long + "1", "zzz"} {
			for _, q := range []langgraph.Query{
				{},
				{Limit: 1},
				{Limit: 7},
				{Limit: 200},
				{ID: new("same")},
				{ID: new(long + "1")},
				{ID: new("none")},
				{NS: new("inner")},
				{Filter: map[string]json.RawMessage{"source": json.RawMessage(`"update"`)}},
				{Filter: map[string]json.RawMessage{"source": json.RawMessage(`"loop"`), "step": json.RawMessage(`2`)}},
				{Filter: map[string]json.RawMessage{"step": json.RawMessage(`2`)}},
				{After: &langgraph.Cursor{Thread: "t10", Key: langgraph.Key{ID: "same"}}, Limit: 5},
				{After: &langgraph.Cursor{Thread: "t01", Key: langgraph.Key{ID: long + "1"}}},
			} {
				if before != "" {
					q.Before = &before
				}
				got := d.listed(q)
				want := []string{}
				for _, thread := range threads {
					one := q
					one.Thread, one.Limit = &thread, 0
					want = append(want, d.listed(one)...)
				}
				slices.SortFunc(want, func(a, b string) int { return -slices.Compare(strings.Split(a, "\x00"), strings.Split(b, "\x00")) })
				if q.Limit > 0 {
					want = want[:min(len(want), q.Limit)]
				}
				require.Equal(t, want, got, "%d %+v", round, q)
			}
		}
		add("t07", put("zz", "same", 4, `"later"`)) // the index follows
	}
	other := deskIn(t, d.repo)
	other.listed(langgraph.Query{Limit: 3})
	assert.Less(t, other.Opened(), 10, "a list opens the threads that it needs")
}
