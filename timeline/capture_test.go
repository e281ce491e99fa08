package timeline_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/captures"
	"github.com/git-smithers/git-smithers/internal/list"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// capture gives a line to a capturer.
func capture(t *testing.T, c *captures.Capturer, line string) (captures.Answer, error) {
	t.Helper()
	req, err := captures.ParseCapture([]byte(line))
	if err != nil {
		return captures.Answer{}, err
	}
	return c.Capture(t.Context(), req)
}

func capturer(t *testing.T, s *timeline.Store) *captures.Capturer {
	t.Helper()
	c, err := captures.Open(t.Context(), s, "run")
	require.NoError(t, err)
	return c
}

const wholeState = `{"nodes":[{"nodeId":"a","iteration":0,"state":"finished","outputTable":"results"}],` +
	`"outputs":[{"table":"results","nodeId":"a","iteration":0,"value":{"n":9007199254740993,"b":1,"a":1}}],` +
	`"loops":[{"ralphId":"review","iteration":1,"done":false}],"input":{"topic":"x"}}`

func TestTheFirstCaptureMakesTheRun(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	answer, err := capture(t, capturer(t, s), `{"id":"c0","expect":null,"run":{"workflowName":"theirs"},"state":`+wholeState+`}`)
	require.NoError(t, err)
	require.NotNil(t, answer.Frame)
	assert.EqualValues(t, 0, *answer.Frame)
	assert.Equal(t, answer.Commit, repo.Git("rev-parse", "refs/smithers/run/0"))
	loaded, err := s.Load(t.Context(), "run")
	require.NoError(t, err)
	state, err := loaded.Entry.State()
	require.NoError(t, err)
	assert.Equal(t, map[string]string{
		"node a::0":           "finished",
		"output results/a::0": `{"n":9007199254740993,"b":1,"a":1}`,
		"input":               `{"topic":"x"}`,
	}, stateOf(t, state))
}

func TestAWholeStateAndItsChangesMeetInTheSameObjects(t *testing.T) {
	t.Parallel()
	s := open(t, repotest.New(t, repotest.Commit))
	whole, err := capture(t, capturer(t, s), `{"state":`+wholeState+`}`)
	require.NoError(t, err)
	other, err := captures.Open(t.Context(), s, "other")
	require.NoError(t, err)
	_, err = capture(t, other, `{"state":{"nodes":[{"nodeId":"z","iteration":3,"state":"pending"}]}}`)
	require.NoError(t, err)
	changed, err := capture(t, other, `{"changes":[
		{"op":"remove","collection":"nodes","key":"z::3"},
		{"op":"set","collection":"input","value":{"topic":"x"}},
		{"op":"set","collection":"loops","key":"review","value":{"done":false,"iteration":1}},
		{"op":"set","collection":"outputs/results","key":"a::0","value":{"n":9007199254740993,"b":1,"a":1}},
		{"op":"set","collection":"nodes","key":"a::0","value":{"state":"finished","outputTable":"results"}}]}`)
	require.NoError(t, err)
	assert.Equal(t, whole.ContentHash, changed.ContentHash)
}

func TestARepeatedIDGetsTheFirstAnswerAgain(t *testing.T) {
	t.Parallel()
	s := open(t, repotest.New(t, repotest.Commit))
	c := capturer(t, s)
	first, err := capture(t, c, `{"id":"one","state":`+wholeState+`}`)
	require.NoError(t, err)
	behind := capturer(t, s)
	const removal = `{"id":"two","changes":[{"op":"remove","collection":"nodes","key":"a::0"}]}`
	second, err := capture(t, c, removal)
	require.NoError(t, err)
	answer, err := capture(t, behind, removal)
	require.NoError(t, err, "from a process that has not read the tip since")
	assert.Equal(t, second, answer)
	for name, again := range map[string]*captures.Capturer{"from the same process": c, "from another process": capturer(t, s)} {
		answer, err := capture(t, again, `{"id":"one","state":`+wholeState+`}`)
		require.NoError(t, err, name)
		assert.Equal(t, first, answer, name)
	}
	answer, err = capture(t, capturer(t, s), `{"id":"one","expect":null,"state":`+wholeState+`}`)
	require.NoError(t, err, "also when it expects the tip of then")
	assert.Equal(t, first, answer)
	head, err := s.Head(t.Context(), "run")
	require.NoError(t, err)
	assert.EqualValues(t, 1, head.Row().Frame)
}

func TestACaptureThatExpectsAnotherTipIsAConflict(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	slow, quick := capturer(t, s), capturer(t, s)
	first, err := capture(t, quick, `{"expect":null,"state":`+wholeState+`}`)
	require.NoError(t, err)
	line := `{"expect":%q,"changes":[{"op":"set","collection":"input","value":%d}]}`
	_, err = capture(t, slow, fmt.Sprintf(line, first.Commit, 1))
	require.NoError(t, err, "a tip that somebody else moved to is fine when it is the expected one")
	before := repo.Git("for-each-ref")
	for _, expect := range []string{`null`, `"` + first.Commit + `"`} {
		_, err = capture(t, quick, `{"expect":`+expect+`,"changes":[{"op":"set","collection":"input","value":2}]}`)
		assert.Equal(t, fault.Conflict, fault.CodeOf(err))
	}
	assert.Equal(t, before, repo.Git("for-each-ref"))
}

func TestACaptureOfEventsAloneIsNoFrame(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	c := capturer(t, s)
	_, err := capture(t, c, `{"state":`+wholeState+`,"events":[{"type":"RunStarted"}]}`)
	require.NoError(t, err)
	answer, err := capture(t, c, `{"events":[{"type":"Heartbeat","timestampMs":5,"payload":{"at":1.50}},{"type":"Heartbeat"}]}`)
	require.NoError(t, err)
	assert.Nil(t, answer.Frame)
	loaded, err := s.Load(t.Context(), "run")
	require.NoError(t, err)
	events, err := loaded.Entry.Events()
	require.NoError(t, err)
	require.Len(t, events, 2)
	assert.EqualValues(t, 2, events[0].Seq, "after RunStarted and the frame's own SnapshotCaptured")
	assert.Equal(t, `{"at":1.50}`, string(events[0].Payload), "a number keeps its spelling")
}

func TestACaptureNamesItsFrameByIDs(t *testing.T) {
	t.Parallel()
	s := open(t, repotest.New(t, repotest.Commit))
	c := capturer(t, s)
	_, err := capture(t, c, `{"state":{},"ids":["call_2","call_1","call_2"]}`)
	require.NoError(t, err)
	_, err = capture(t, c, `{"changes":[],"ids":["call_3"]}`)
	require.NoError(t, err)
	at, err := s.Load(t.Context(), "run@call_1")
	require.NoError(t, err)
	assert.Equal(t, "run:0", at.Address.String())
	assert.Equal(t, []string{"call_1", "call_2"}, at.Entry.IDs)
	tree, err := list.Timeline(t.Context(), s, "run", list.TreeOptions{})
	require.NoError(t, err)
	assert.Equal(t, []string{"call_3"}, tree.Timeline.Frames[1].IDs)

	for line, code := range map[string]fault.Code{
		`{"events":[{"type":"A"}],"ids":["a"]}`:                     fault.InvalidInput,
		`{"changes":[],"ids":[""]}`:                                 fault.InvalidState,
		`{"changes":[],"ids":["` + strings.Repeat("x", 513) + `"]}`: fault.LimitExceeded,
		`{"changes":[],"ids":"a"}`:                                  fault.InvalidInput,
	} {
		_, err = capture(t, c, line)
		assert.Equal(t, code, fault.CodeOf(err), "%s: %v", line, err)
	}
	at, err = s.Load(t.Context(), "run")
	require.NoError(t, err)
	assert.EqualValues(t, 1, at.Address.Frame, "nothing was written")
}

func TestABadCaptureChangesNothing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, line string
		code       fault.Code
	}{
		{"not JSON", `{"state":`, fault.InvalidInput},
		{"not an object", `[1]`, fault.InvalidInput},
		{"two values", `{} {}`, fault.InvalidInput},
		{"an unknown member", `{"stat":{}}`, fault.InvalidInput},
		{"both state and changes", `{"state":{},"changes":[]}`, fault.InvalidInput},
		{"an expect that is no id", `{"expect":"abc","changes":[]}`, fault.InvalidInput},
		{"an event without a type", `{"events":[{}]}`, fault.InvalidInput},
		{"an unknown collection", `{"changes":[{"op":"set","collection":"node","key":"a::0","value":{}}]}`, fault.InvalidState},
		{"an unknown op", `{"changes":[{"op":"add","collection":"nodes","key":"a::0","value":{}}]}`, fault.InvalidState},
		{"a key without an iteration", `{"changes":[{"op":"set","collection":"nodes","key":"a","value":{"state":"pending"}}]}`, fault.InvalidState},
		{"a node of an unknown state", `{"changes":[{"op":"set","collection":"nodes","key":"a::0","value":{"state":"happy"}}]}`, fault.InvalidState},
		{"a node with an unknown member", `{"changes":[{"op":"set","collection":"nodes","key":"a::0","value":{"state":"pending","colour":1}}]}`, fault.InvalidState},
		{"a rendered tree that is none", `{"frame":{"kind":"box"}}`, fault.InvalidState},
		{"nesting without end", `{"changes":[{"op":"set","collection":"input","value":` + nested(20_000) + `}]}`, fault.LimitExceeded},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			repo := repotest.New(t, repotest.Commit)
			s := open(t, repo)
			run := capturer(t, s)
			_, err := capture(t, run, `{"state":`+wholeState+`}`)
			require.NoError(t, err)
			before := repo.Git("for-each-ref")
			_, err = capture(t, run, c.line)
			assert.Equal(t, c.code, fault.CodeOf(err), "%v", err)
			assert.Equal(t, before, repo.Git("for-each-ref"))
		})
	}
}

func nested(depth int) string {
	out := make([]byte, 0, 2*depth)
	for range depth {
		out = append(out, '[')
	}
	for range depth {
		out = append(out, ']')
	}
	return string(out)
}
