package snapshot_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// extend makes a fork of another id that goes on from the tip's extension of a frame.
func (c *chain) extend(t testing.TB, id string, number int64, frame objstore.ID) *chain {
	t.Helper()
	fork := *c
	fork.append(t, snapshot.Draft{Run: func(r *snapshot.Run) {
		r.Parent = &snapshot.Parent{RunID: r.ID, Frame: number, Commit: frame, Extension: c.tip.ID, AtMs: someTime}
		r.ID = id
	}})
	return &fork
}

// entries reads a chain.
func entries(t testing.TB, c *chain) []*snapshot.Entry {
	t.Helper()
	var out []*snapshot.Entry
	for e, err := range snapshot.Chain(c.store, c.tip) {
		require.NoError(t, err)
		out = append(out, e)
	}
	return out
}

// frameCommits are the commits of a chain's frames by their numbers.
func frameCommits(t testing.TB, c *chain) map[int64]objstore.ID {
	t.Helper()
	frames := make(map[int64]objstore.ID)
	for _, e := range entries(t, c) {
		if e.Frame != snapshot.NoFrame {
			require.NotContains(t, frames, e.Frame)
			frames[e.Frame] = e.ID
		}
	}
	return frames
}

func TestAForkSeesItsExtensionInItsOwnNumbers(t *testing.T) {
	t.Parallel()
	c := start(t, snapshot.Draft{})
	c.append(t, snapshot.Draft{Frame: &snapshot.FrameDraft{Silent: true}})
	from := c.append(t, snapshot.Draft{Frame: &snapshot.FrameDraft{Silent: true}})
	c.append(t, snapshot.Draft{Subject: "something arrived"})
	third := c.append(t, snapshot.Draft{Frame: &snapshot.FrameDraft{Silent: true}, Events: []snapshot.Event{{Type: "NodeFinished", AtMs: 1}}})
	c.append(t, snapshot.Draft{Frame: &snapshot.FrameDraft{Silent: true}})
	inside := c.append(t, snapshot.Draft{Frame: &snapshot.FrameDraft{Based: new(int64(3)), Silent: true}})
	before := c.append(t, snapshot.Draft{Frame: &snapshot.FrameDraft{Based: new(int64(1)), Silent: true}})
	first := c.append(t, snapshot.Draft{Frame: &snapshot.FrameDraft{Based: new(int64(2)), Silent: true}})

	fork := c.extend(t, "fork", 2, from.ID)
	own := fork.append(t, snapshot.Draft{Frame: &snapshot.FrameDraft{Silent: true}, Events: []snapshot.Event{{Type: "NodeStarted", AtMs: 1}}})
	assert.EqualValues(t, 6, own.Frame-0, "it counts on")
	assert.Equal(t, snapshot.NoFrame, entries(t, fork)[1].Frame)

	seen := make(map[objstore.ID]*snapshot.Entry)
	for _, e := range entries(t, fork) {
		assert.Equal(t, "fork", e.Run)
		seen[e.ID] = e
	}
	assert.NotContains(t, seen, from.ID, "frame 0 is the parent's")
	assert.Len(t, seen, 2+6)
	assert.EqualValues(t, 1, seen[third.ID].Frame)
	assert.EqualValues(t, 1, *seen[inside.ID].Based)
	assert.Equal(t, snapshot.NoFrame, *seen[before.ID].Based, "it goes on from an ancestor's frame")
	assert.EqualValues(t, 0, *seen[first.ID].Based)

	view := seen[third.ID]
	assert.True(t, view.IsView())
	assert.False(t, seen[own.ID].IsView())
	assert.Equal(t, third.ID, view.Stored().ID)
	row, err := view.RunRow()
	require.NoError(t, err)
	assert.Equal(t, "fork", row.ID)
	assert.EqualValues(t, 1, row.Frame)
	assert.Equal(t, c.tip.ID, row.Parent.Extension)
	events, err := view.Events()
	require.NoError(t, err)
	assert.Empty(t, events, "the fork's first entry has them again")
	state, err := view.State()
	require.NoError(t, err)
	want, err := third.State()
	require.NoError(t, err)
	assert.Equal(t, want.ID(), state.ID())
}

func TestAttemptsAreAtTheFramesOfTheForkThatTookThemOver(t *testing.T) {
	t.Parallel()
	attempt := func(node string, frame int64) snapshot.Attempt {
		return snapshot.Attempt{NodeID: node, Attempt: 1, State: snapshot.AttemptFinished, StartedAtMs: 1, Frame: &frame}
	}
	put := func(a snapshot.Attempt) []snapshot.Change {
		return []snapshot.Change{set(snapshot.CollectionAttempts, snapshot.EncodeAttempt(a))}
	}
	c := start(t, snapshot.Draft{Journal: put(attempt("ancestor's", 9))})
	from := c.append(t, snapshot.Draft{Frame: &snapshot.FrameDraft{Silent: true}, Journal: put(attempt("before", 1))})
	c.append(t, snapshot.Draft{Frame: &snapshot.FrameDraft{Silent: true}, Journal: put(attempt("after", 2))})
	fork := c.extend(t, "fork", 1, from.ID)
	view := entries(t, fork)[1]
	for _, tc := range []struct {
		given snapshot.Attempt
		want  int64
	}{
		{attempt("after", 2), 1},
		{attempt("before", 1), 1},
		{attempt("ancestor's", 9), 9},
	} {
		got, err := view.Renumber(tc.given)
		require.NoError(t, err)
		assert.Equal(t, tc.want, *got.Frame, tc.given.NodeID)
		got, err = view.Stored().Renumber(tc.given)
		require.NoError(t, err)
		assert.Equal(t, tc.given, got)
	}
}

func TestAnExtensionThatIsNoneIsDamage(t *testing.T) {
	t.Parallel()
	run := func(t *testing.T) (c *chain, frames []*snapshot.Entry) {
		t.Helper()
		c = start(t, snapshot.Draft{})
		frames = append(frames, c.tip)
		for range 3 {
			frames = append(frames, c.append(t, snapshot.Draft{Frame: &snapshot.FrameDraft{Silent: true}}))
		}
		return c, frames
	}
	for _, tc := range []struct {
		name string
		make func(t *testing.T) *chain
	}{
		{"which does not come from the frame", func(t *testing.T) *chain {
			t.Helper()
			c, _ := run(t)
			return c.extend(t, "fork", 1, objstore.SHA1.ID(objstore.Commit, nil))
		}},
		{"which is older than its number", func(t *testing.T) *chain {
			t.Helper()
			c, frames := run(t)
			return c.extend(t, "fork", 2, frames[0].ID)
		}},
		{"which is not what comes before", func(t *testing.T) *chain {
			t.Helper()
			c, frames := run(t)
			fork := c.extend(t, "fork", 1, frames[1].ID)
			fork.append(t, snapshot.Draft{Run: func(r *snapshot.Run) { r.Parent.Extension = frames[2].ID }})
			return fork
		}},
		{"of an extension that is shorter", func(t *testing.T) *chain {
			t.Helper()
			c, frames := run(t)
			fork := c.extend(t, "fork", 1, frames[1].ID)
			return fork.extend(t, "other", 0, frames[0].ID)
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := tc.make(t)
			for _, err := range snapshot.Chain(c.store, c.tip) {
				if err != nil {
					require.ErrorIs(t, err, objstore.ErrCorrupt)
					return
				}
			}
			require.Fail(t, "the chain was read")
		})
	}
}

func TestOnlyAForkFollowsAnExtension(t *testing.T) {
	t.Parallel()
	c := start(t, snapshot.Draft{})
	from := c.append(t, snapshot.Draft{Frame: &snapshot.FrameDraft{Silent: true}})
	c.append(t, snapshot.Draft{Frame: &snapshot.FrameDraft{Silent: true}})
	parent := func(edit func(*snapshot.Parent)) func(*snapshot.Run) {
		return func(r *snapshot.Run) {
			r.Parent = &snapshot.Parent{RunID: r.ID, Frame: 1, Commit: from.ID, Extension: c.tip.ID}
			r.ID = "fork"
			edit(r.Parent)
		}
	}
	for name, draft := range map[string]snapshot.Draft{
		"as a frame":                {Frame: &snapshot.FrameDraft{Silent: true}, Run: parent(func(*snapshot.Parent) {})},
		"somewhere else":            {Run: parent(func(p *snapshot.Parent) { p.Extension = objstore.SHA1.ID(objstore.Commit, nil) })},
		"that extends nothing":      {Run: parent(func(p *snapshot.Parent) { p.Extension = p.Commit })},
		"from a frame after itself": {Run: parent(func(p *snapshot.Parent) { p.Frame = 3 })},
	} {
		_, err := snapshot.Append(c.store, c.frames, c.tip, draft)
		require.ErrorIs(t, err, snapshot.ErrInvalid, name)
	}
	view := entries(t, c.extend(t, "fork", 1, from.ID))[1]
	for _, id := range []string{"fork", "run"} {
		_, err := snapshot.Append(c.store, c.frames, view, snapshot.Draft{Run: func(r *snapshot.Run) { r.ID = id }})
		require.ErrorIs(t, err, snapshot.ErrInvalid, "a view is no tip of run %q", id)
	}
	_, err := snapshot.Append(c.store, c.frames, view, snapshot.Draft{Run: func(r *snapshot.Run) { r.ID, r.Parent = "child", nil }})
	require.NoError(t, err, "but a fork can be made of it")
}

// splits is a chain of runs, each of which was split off the one before.
type splits struct {
	tb     testing.TB
	runs   []*chain
	frames []map[int64]objstore.ID // of each, frame 0 included
	all    []objstore.ID           // every entry, oldest first
}

func (s *splits) now() (*chain, map[int64]objstore.ID) {
	return s.runs[len(s.runs)-1], s.frames[len(s.frames)-1]
}

func (s *splits) add(rt *rapid.T) {
	c, frames := s.now()
	var draft snapshot.Draft
	if rapid.Bool().Draw(rt, "frame") {
		draft.Frame = &snapshot.FrameDraft{Silent: true}
	}
	next := c.append(s.tb, draft)
	if next.Frame != snapshot.NoFrame {
		frames[next.Frame] = next.ID
	}
	s.all = append(s.all, next.ID)
}

func (s *splits) split(rt *rapid.T) {
	c, frames := s.now()
	newest := int64(len(frames) - 1)
	n := rapid.Int64Range(0, newest).Draw(rt, "last common frame")
	if frames[n] == c.tip.ID {
		return
	}
	fork := c.extend(s.tb, fmt.Sprintf("fork-%d", len(s.runs)), n, frames[n])
	numbers := make(map[int64]objstore.ID)
	for k := n; k <= newest; k++ {
		numbers[k-n] = frames[k]
	}
	s.runs, s.frames, s.all = append(s.runs, fork), append(s.frames, numbers), append(s.all, fork.tip.ID)
}

func (s *splits) check() {
	for i, c := range s.runs {
		frames := frameCommits(s.tb, c)
		if i > 0 {
			require.NotContains(s.tb, frames, int64(0))
			frames[0] = s.frames[i][0]
		}
		require.Equal(s.tb, s.frames[i], frames)
		for number, id := range s.frames[i] {
			e, err := snapshot.AsFrame(c.store, c.tip, c.reopen(s.tb, id), number)
			require.NoError(s.tb, err)
			if number > 0 {
				require.Equal(s.tb, c.tip.Run, e.Run)
				require.Equal(s.tb, number, e.Frame)
			}
		}
	}
	s.checkAncestry()
}

// checkAncestry checks that the newest run's ancestry has every entry once, and that one
// can go on from any entry of its chain.
func (s *splits) checkAncestry() {
	c, _ := s.now()
	var ids []objstore.ID
	for e, err := range snapshot.Ancestry(c.store, c.tip) {
		require.NoError(s.tb, err)
		ids = append([]objstore.ID{e.ID}, ids...)
	}
	require.Equal(s.tb, s.all, ids)
	chain := entries(s.tb, c)
	for i, from := range chain {
		rest := 0
		for e, err := range snapshot.Chain(c.store, from) {
			require.NoError(s.tb, err)
			require.Equal(s.tb, chain[i+rest].Header, e.Header)
			rest++
		}
		require.Equal(s.tb, len(chain)-i, rest)
	}
}

func TestTheFramesOfASplitAreTheSameCommits(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		c := start(t, snapshot.Draft{})
		s := &splits{
			tb: t, runs: []*chain{c}, frames: []map[int64]objstore.ID{{0: c.tip.ID}}, all: []objstore.ID{c.tip.ID},
		}
		rt.Repeat(map[string]func(*rapid.T){"add": s.add, "split": s.split, "": func(*rapid.T) {}})
		s.check()
	})
}

// TestAWalkThatReadsAheadReturnsTheSame and ends at once where it is stopped.
func TestAWalkThatReadsAheadReturnsTheSame(t *testing.T) {
	t.Parallel()
	c := start(t, snapshot.Draft{})
	for range 200 {
		c.append(t, snapshot.Draft{Frame: &snapshot.FrameDraft{Silent: true}})
	}
	walk := snapshot.NewWalk(c.store, c.tip)
	warmed := 0
	stop := walk.Ahead(func(*snapshot.Entry) { warmed++ })
	for _, want := range entries(t, c) {
		got, err := walk.Next()
		require.NoError(t, err)
		require.Equal(t, want.ID, got.ID)
	}
	end, err := walk.Next()
	require.NoError(t, err)
	assert.Nil(t, end)
	stop()
	assert.Equal(t, 201, warmed)

	walk, warmed = snapshot.NewWalk(c.store, c.tip), 0
	stop = walk.Ahead(func(*snapshot.Entry) { warmed++ })
	_, err = walk.Next()
	require.NoError(t, err)
	stop()
	assert.Less(t, warmed, 100)
}
