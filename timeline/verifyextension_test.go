package timeline_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// extended is a run "one" with an attempt in frame 5, and a fork of it by the name "side"
// that goes on from the extension of frame 3.
type extended struct {
	*testing.T

	repo    *repotest.Repo
	store   *timeline.Store
	run     *timeline.Head
	parent  snapshot.Parent
	journal []snapshot.Change // of the fork's first entry
	edit    func(*snapshot.Run)
}

func newExtended(t *testing.T) *extended {
	t.Helper()
	repo := repotest.New(t)
	s := open(t, repo)
	x := &extended{T: t, repo: repo, store: s, run: triage(t, s, "one")}
	require.NoError(t, x.run.Append(t.Context(), snapshot.Draft{Frame: &snapshot.FrameDraft{}, Journal: []snapshot.Change{x.attempt(5), logRow("a", "said")}}))
	x.parent = snapshot.Parent{RunID: "one", Frame: 3, Commit: x.frame(3), AtMs: 1}
	x.journal = []snapshot.Change{x.attempt(2), opRow(snapshot.Op{Number: 1, Kind: snapshot.OpFork, AtMs: 1})}
	return x
}

func (x *extended) frame(number int64) objstore.ID {
	x.Helper()
	name, err := refs.Frame("one", number)
	require.NoError(x, err)
	id, err := x.store.Refs().Resolve(x.Context(), name)
	require.NoError(x, err)
	return id
}

func (x *extended) attempt(frame int64) snapshot.Change {
	row := snapshot.EncodeAttempt(snapshot.Attempt{NodeID: "a", Attempt: 1, State: snapshot.AttemptFinished, StartedAtMs: 1, Frame: &frame})
	return snapshot.Change{Op: snapshot.OpSet, Collection: snapshot.CollectionAttempts, Key: row.Key, Value: row.Value}
}

func logRow(id, text string) snapshot.Change {
	row := snapshot.EncodeLog(id, 0, 1, text)
	return snapshot.Change{Op: snapshot.OpSet, Collection: snapshot.CollectionLogs, Key: row.Key, Value: row.Value}
}

// fork makes the fork, whatever is wrong with it.
func (x *extended) fork() *timeline.Head {
	x.Helper()
	batch := x.store.Objects().Begin()
	tip := x.run.Entry()
	entry, err := snapshot.Append(batch, snapshot.NewFrameCache(1), tip, snapshot.Draft{
		Journal: x.journal, AtMs: 1, Events: []snapshot.Event{{Type: "RunForked", AtMs: 1}},
		Run: func(row *snapshot.Run) {
			parent := x.parent
			parent.Extension = tip.ID
			row.ID, row.Parent = "side", &parent
		},
	})
	require.NoError(x, err)
	name, err := refs.Tip("side")
	require.NoError(x, err)
	require.NoError(x, x.store.Commit(x.Context(), batch, []refs.Update{{Name: name, New: entry.ID}}))
	head, err := x.store.Head(context.WithoutCancel(x.Context()), "side")
	if err == nil && x.edit != nil {
		require.NoError(x, head.Append(x.Context(), snapshot.Draft{Frame: &snapshot.FrameDraft{}}))
		require.NoError(x, head.Append(x.Context(), snapshot.Draft{Run: x.edit}))
	}
	return head
}

func TestVerifyChecksAnExtension(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(*extended)
		what   string
	}{
		{"one that is sound", func(*extended) {}, ""},
		{"one that goes on", func(x *extended) { x.edit = func(*snapshot.Run) {} }, ""},
		{"one of ops, the first of which was done to the frame that the fork begins with", func(x *extended) {
			x.parent.Frame, x.parent.Commit = 5, x.frame(5)
			x.journal[0] = x.attempt(5)
			require.NoError(x, x.run.Append(x.Context(), snapshot.Draft{Frame: &snapshot.FrameDraft{}, Journal: []snapshot.Change{opRow(snapshot.Op{
				Number: 1, Kind: snapshot.OpTravel, AtMs: 1, Before: x.run.Entry().ID, Frame: new(int64(6)), NodeID: "a", Attempt: 1,
			})}}))
		}, ""},
		{"from a frame of another number", func(x *extended) {
			x.parent.Frame = 2
			x.journal[0] = x.attempt(3)
		}, "the run was forked from frame 2, but its first entry follows "},
		{"from what is no frame of the run", func(x *extended) { x.parent.Commit = triage(x, x.store, "two").Entry().ID }, "in run \"side\" the frame would be before frame 1"},
		{"an attempt that another frame is said to have", func(x *extended) { x.journal[0] = x.attempt(1) }, `"a::0::1" differs from the row before the fork`},
		{"an attempt that was not there", func(x *extended) { x.journal = append(x.journal, attemptRow("b", snapshot.AttemptFinished)) }, `"b::0::1" differs from the row before the fork`},
		{"a log of which something else is said", func(x *extended) { x.journal = append(x.journal, logRow("a", "never said")) }, `logs: `},
		{"an op that was done before the fork", func(x *extended) {
			x.journal = append(x.journal, opRow(snapshot.Op{Number: 2, Kind: snapshot.OpTravel, AtMs: 1, Before: x.frame(4)}))
		}, "the run's first entry has op 2 of kind travel"},
		{"that comes from somewhere else later", func(x *extended) {
			x.edit = func(row *snapshot.Run) { row.Parent.Frame = 2 }
		}, "the run's parent has changed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			x := newExtended(t)
			c.change(x)
			x.fork()
			found := problems(t, x.repo)
			if c.what == "" {
				require.Empty(t, found)
				return
			}
			x.repo.Damaged()
			require.NotEmpty(t, found)
			assert.Equal(t, "side", found[0].Run)
			assert.Equal(t, fault.CorruptObject, found[0].Code)
			assert.Contains(t, found[0].What, c.what)
		})
	}
}

func TestVerifyReadsTheEntriesOfAnExtension(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		damage func(*extended)
		what   string
	}{
		{"a row that is none", func(x *extended) {
			f := forger{x.repo, x.T, "one"}
			f.row(`"status":"running"`, `"status":"dancing"`)
			f.row(`"status":"dancing"`, `"status":"running"`)
		}, `unknown status "dancing"`},
		{"an op that is left out", func(x *extended) {
			require.NoError(x, x.run.Append(x.Context(), snapshot.Draft{Journal: []snapshot.Change{opRow(snapshot.Op{
				Number: 2, Kind: snapshot.OpTravel, AtMs: 1, Before: x.run.Entry().ID,
			})}}))
		}, "1 ops, but op 1 is missing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			x := newExtended(t)
			before := x.run.Entry().ID
			c.damage(x)
			require.NoError(t, x.run.Refresh(t.Context()))
			side := x.fork()
			x.repo.Git("update-ref", "refs/smithers/_tip/one", before.String())
			x.repo.Damaged()

			found := problems(t, x.repo)
			require.Len(t, found, 1, "%+v", found)
			assert.Equal(t, "side", found[0].Run)
			assert.Contains(t, found[0].What, c.what)
			assert.EqualValues(t, 2, side.Row().Frame)
		})
	}
}
