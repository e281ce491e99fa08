package timeline_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/list"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

func TestACommandGoesOnWithTheEntryThatItsAddressMeant(t *testing.T) {
	t.Parallel()
	s := openWith(t, repotest.New(t, repotest.Commit), newWatch().now)
	writer := running(t, s, "run")
	at, err := s.Load(t.Context(), "run")
	require.NoError(t, err)
	require.NoError(t, writer.Append(t.Context(), snapshot.Draft{Frame: new(snapshot.FrameDraft)}))

	head, err := s.HeadOf(at)
	require.NoError(t, err)
	assert.Equal(t, at.Entry.ID, head.Entry().ID)
	assert.Equal(t, at.Address.Frame, head.Row().Frame)
	assert.Equal(t, fault.Conflict, fault.CodeOf(head.Append(t.Context(), snapshot.Draft{})), "the run has gone on")
}

func TestWhatIsToldBesideAListIsOfTheEntryThatTheListKnows(t *testing.T) {
	t.Parallel()
	s := openWith(t, repotest.New(t, repotest.Commit), newWatch().now)
	writer := running(t, s, "run")
	before := writer.Entry().ID
	runs, err := list.Runs(t.Context(), s)
	require.NoError(t, err)
	frames, err := list.Timeline(t.Context(), s, "run", list.TreeOptions{})
	require.NoError(t, err)
	few, err := list.TimelineOfFrames(t.Context(), s, "run", nil)
	require.NoError(t, err)
	require.NoError(t, writer.Append(t.Context(), snapshot.Draft{Frame: new(snapshot.FrameDraft), Run: func(row *snapshot.Run) { row.Status = snapshot.RunFinished }}))

	for name, read := range map[string]func() (*timeline.Head, error){
		"a list of runs":          func() (*timeline.Head, error) { return list.HeadOf(s, runs[0]) },
		"a timeline":              func() (*timeline.Head, error) { return frames.Timeline.Head(s) },
		"a timeline of a summary": func() (*timeline.Head, error) { return few.Head(s) },
	} {
		head, err := read()
		require.NoError(t, err, name)
		assert.Equal(t, before, head.Entry().ID, name)
		assert.Equal(t, snapshot.RunRunning, head.Row().Status, name)
	}
}

func TestAForkIsToldAsTheListOfForksKnowsIt(t *testing.T) {
	t.Parallel()
	s := openWith(t, repotest.New(t, repotest.Commit), newWatch().now)
	running(t, s, "run")
	fork, err := s.Fork(t.Context(), timeline.ForkRequest{From: "run:0", RunID: "fork"})
	require.NoError(t, err)
	before := fork.Entry().ID
	forks, err := list.Branches(t.Context(), s, "run")
	require.NoError(t, err)
	require.NoError(t, fork.Append(t.Context(), snapshot.Draft{Frame: new(snapshot.FrameDraft)}))

	head, err := forks[0].Head(s)
	require.NoError(t, err)
	assert.Equal(t, before, head.Entry().ID)
}

func TestWhoCancelledARunIsToldOfTheEntryThatWasRead(t *testing.T) {
	t.Parallel()
	s := openWith(t, repotest.New(t, repotest.Commit), newWatch().now)
	head := running(t, s, "run")
	status := func(to snapshot.RunStatus, events ...snapshot.Event) {
		events = append(events, snapshot.Event{Type: "RunStatusChanged", Payload: []byte(`{"status":"` + to + `"}`)})
		require.NoError(t, head.Append(t.Context(), snapshot.Draft{Events: events, Run: func(row *snapshot.Run) { row.Status = to }}))
	}
	status(snapshot.RunCancelled, snapshot.Event{Type: "RunCancelled", Payload: []byte(`{"by":"ada"}`)})
	row := head.Row()
	status(snapshot.RunRunning)

	who, err := list.CancelledBy(t.Context(), s, row)
	require.NoError(t, err)
	require.NotNil(t, who)
	assert.Equal(t, "ada", *who.By)
	who, err = list.CancelledBy(t.Context(), s, head.Row())
	require.NoError(t, err)
	assert.Nil(t, who, "the run has gone on")
}

func TestWhatTheNewestEntryIsToAnotherEngineIsReadFromIt(t *testing.T) {
	t.Parallel()
	s := open(t, repotest.New(t, repotest.Commit))
	head := running(t, s, "run")
	require.NoError(t, head.Append(t.Context(), snapshot.Draft{Ext: peerDraft("frames", "0", `{"frameNo":4}`)}))
	at, err := s.Load(t.Context(), "run")
	require.NoError(t, err)
	require.NoError(t, head.Append(t.Context(), snapshot.Draft{Ext: peerDraft("frames", "0", `{"frameNo":5}`)}))

	peers, err := timeline.PeerFrames(t.Context(), s, at)
	require.NoError(t, err)
	assert.Equal(t, new(int64(4)), peers[0].Frame)
}
