package timeline_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// peerDraft says what frames of ours are to the engine "peer": keys and values in turn.
func peerDraft(collection string, pairs ...string) *snapshot.ExtDraft {
	var changes []page.Change
	for i := 0; i < len(pairs); i += 2 {
		changes = append(changes, page.Change{Key: pairs[i], Value: []byte(pairs[i+1])})
	}
	return &snapshot.ExtDraft{Engine: "peer", Rows: map[string][]page.Change{collection: changes}}
}

// rewound makes the run "run" as it is after an engine has gone back in it: frames 1 to 3, a frame 4
// of ours that goes back to frame 1, and frame 5, which the engine calls 2 again. Frame 6 is ours alone.
func rewound(t *testing.T, s *timeline.Store) *timeline.Head {
	t.Helper()
	head := running(t, s, "run")
	draft := func(d snapshot.Draft) {
		if d.Frame == nil {
			d.Frame = new(snapshot.FrameDraft)
		}
		require.NoError(t, head.Append(t.Context(), d))
	}
	for range 3 {
		draft(snapshot.Draft{})
	}
	before := head.Entry().ID
	draft(snapshot.Draft{Frame: &snapshot.FrameDraft{Based: new(int64(1))}, Subject: "rewound to 1", Journal: []snapshot.Change{opRow(snapshot.Op{
		Number: 1, Kind: snapshot.OpTravel, AtMs: 1, Before: before, Frame: new(int64(4)), To: new(int64(1)),
	})}})
	draft(snapshot.Draft{})
	draft(snapshot.Draft{Ext: peerDraft("frames", "4", `{"frameNo":1}`, "5", `{"frame":null,"frameNo":2}`, "6", `{"frameNo":-1}`)})
	return head
}

func TestAFrameIsFoundByTheNumberThatAnotherEngineHasForIt(t *testing.T) {
	t.Parallel()
	s := open(t, repotest.New(t, repotest.Commit))
	rewound(t, s)
	for address, want := range map[string]int64{
		"run:peer/0": 0, // as ours, where nothing else is said
		"run:peer/1": 4, // the newest of two
		"run:peer/2": 5, // frame 2 was stepped over
		"ru:peer/2":  5,
	} {
		loaded, err := s.Load(t.Context(), address)
		require.NoError(t, err)
		assert.Equal(t, timeline.Address{Run: "run", Frame: want}, loaded.Address, address)
		assert.Equal(t, want, loaded.Entry.Frame, address)
	}
}

func TestANumberThatNoFrameOfTheTimelineHasIsNotFound(t *testing.T) {
	t.Parallel()
	s := open(t, repotest.New(t, repotest.Commit))
	rewound(t, s)
	for _, number := range []int{
		3, // was stepped over
		4, // is another number of the engine's
		6, // is ours alone
		7,
	} {
		_, err := s.Load(t.Context(), fmt.Sprintf("run:peer/%d", number))
		assert.Equal(t, fault.FrameNotFound, fault.CodeOf(err), "%d: %v", number, err)
		assert.ErrorContains(t, err, fmt.Sprintf(`run "run" has no frame %d of peer`, number))
	}
}

func TestAnAddressOfAnEngineThatTheRunHasNothingOfIsRefused(t *testing.T) {
	t.Parallel()
	s := open(t, repotest.New(t, repotest.Commit))
	rewound(t, s)
	running(t, s, "plain")
	for _, address := range []string{"plain:peer/0", "run:other/0", "run:/0", "run:peer/", "run:peer/01", "run:peer/1/2"} {
		_, err := s.Load(t.Context(), address)
		assert.Equal(t, fault.InvalidAddress, fault.CodeOf(err), "%s: %v", address, err)
	}
	_, err := s.Load(t.Context(), "run:other/0")
	refused, _ := errors.AsType[*fault.Error](err)
	assert.Equal(t, []string{"leave out other/ to use git-smithers' own frame number: run:0", "type run:peer/0 to use the frame number of engine peer"}, refused.Hints)
}

func TestARunNeverTakesTheAddressOfAPeersFrame(t *testing.T) {
	t.Parallel()
	s := open(t, repotest.New(t, repotest.Commit))
	rewound(t, s)
	before := found(t, s, "run:peer/2")
	running(t, s, "run:peer/2")
	assert.Equal(t, before, found(t, s, "run:peer/2"))
	running(t, s, "gone:peer/2")
	assert.Equal(t, "gone:peer/2:0", found(t, s, "gone:peer/2"))
}

func TestFramesThatWereAddedHereAfterAnImportAreNoneOfTheEngines(t *testing.T) {
	t.Parallel()
	s := open(t, repotest.New(t, repotest.Commit))
	head := running(t, s, "run")
	require.NoError(t, head.Append(t.Context(), snapshot.Draft{Frame: &snapshot.FrameDraft{}, Ext: &snapshot.ExtDraft{
		Engine: "peer", Files: map[string][]byte{"pass": []byte(`{"pass":1,"frame":1}`)},
	}}))
	require.NoError(t, head.Append(t.Context(), snapshot.Draft{Frame: &snapshot.FrameDraft{}}))
	for frame, want := range []*int64{new(int64(0)), new(int64(1)), nil} {
		peers, err := timeline.PeerFrames(t.Context(), s, &timeline.LoadedEntry{Address: timeline.Address{Run: "run", Frame: int64(frame)}})
		require.NoError(t, err)
		assert.Equal(t, []timeline.PeerFrame{{Engine: "peer", Frame: want, Marks: []timeline.PeerMark{}}}, peers)
	}
	_, err := s.Load(t.Context(), "run:peer/2")
	assert.Equal(t, fault.FrameNotFound, fault.CodeOf(err))
}

func TestAForkHasItsOwnNumbers(t *testing.T) {
	t.Parallel()
	s := open(t, repotest.New(t, repotest.Commit))
	rewound(t, s)
	fork, err := s.Fork(t.Context(), timeline.ForkRequest{From: "run:6", RunID: "child"})
	require.NoError(t, err)
	for range 5 {
		require.NoError(t, fork.Append(t.Context(), snapshot.Draft{Frame: &snapshot.FrameDraft{}}))
	}
	loaded, err := s.Load(t.Context(), "child:peer/4")
	require.NoError(t, err)
	assert.EqualValues(t, 4, loaded.Address.Frame, "what it has from its parent is about the parent's frames")
	have, err := timeline.PeerFrames(t.Context(), s, &timeline.LoadedEntry{Address: timeline.Address{Run: "child", Frame: 4}})
	require.NoError(t, err)
	assert.Empty(t, have, "nor has the engine ever seen it")

	require.NoError(t, fork.Append(t.Context(), snapshot.Draft{Frame: &snapshot.FrameDraft{}, Ext: peerDraft("frames", "6", `{"frameNo":4}`)}))
	loaded, err = s.Load(t.Context(), "child:peer/4")
	require.NoError(t, err)
	assert.EqualValues(t, 6, loaded.Address.Frame)
	have, err = timeline.PeerFrames(t.Context(), s, &timeline.LoadedEntry{Address: timeline.Address{Run: "child", Frame: 4}})
	require.NoError(t, err)
	assert.Equal(t, []timeline.PeerFrame{{Engine: "peer", Frame: new(int64(4)), Marks: []timeline.PeerMark{}}}, have)
}

func TestWhatAFrameIsToAnotherEngine(t *testing.T) {
	t.Parallel()
	s := open(t, repotest.New(t, repotest.Commit))
	head := rewound(t, s)
	require.NoError(t, head.Append(t.Context(), snapshot.Draft{Ext: peerDraft("marks",
		"5/content_hash", `{"frameNo":2,"stored":"aa","found":"bb"}`, "5/xml_hash", `{"frameNo":2,"stored":"cc","found":"dd"}`,
		"5/xml_hash/2", `{"frameNo":2,"stored":"ee","found":"ff"}`,
	)}))
	for frame, want := range map[int64]timeline.PeerFrame{
		1: {Engine: "peer", Frame: new(int64(1)), Marks: []timeline.PeerMark{}},
		5: {Engine: "peer", Frame: new(int64(2)), Marks: []timeline.PeerMark{
			{What: "content_hash", Stored: "aa", Found: "bb"}, {What: "xml_hash", Stored: "cc", Found: "dd"}, {What: "xml_hash", Stored: "ee", Found: "ff"},
		}},
		6: {Engine: "peer", Marks: []timeline.PeerMark{}},
	} {
		have, err := timeline.PeerFrames(t.Context(), s, &timeline.LoadedEntry{Address: timeline.Address{Run: "run", Frame: frame}})
		require.NoError(t, err)
		assert.Equal(t, []timeline.PeerFrame{want}, have)
	}
	running(t, s, "plain")
	have, err := timeline.PeerFrames(t.Context(), s, &timeline.LoadedEntry{Address: timeline.Address{Run: "plain"}})
	require.NoError(t, err)
	assert.Empty(t, have)
}

func TestWhatAnEngineKeepsIsRefusedWhereItCannotBeUnderstood(t *testing.T) {
	t.Parallel()
	for name, draft := range map[string]*snapshot.ExtDraft{
		"no number":        peerDraft("frames", "x", "{}"),
		"no object":        peerDraft("frames", "0", "7"),
		"a bad mark":       peerDraft("marks", "0/x", "7"),
		"no one's":         peerDraft("marks", "x", "{}"),
		"a text as number": peerDraft("frames", "0", `{"frameNo":"1"}`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, repotest.New(t, repotest.Commit))
			require.NoError(t, running(t, s, "run").Append(t.Context(), snapshot.Draft{Ext: draft}))
			_, err := s.Load(t.Context(), "run:peer/0")
			assert.Equal(t, fault.CorruptObject, fault.CodeOf(err), "%v", err)
		})
	}
}
