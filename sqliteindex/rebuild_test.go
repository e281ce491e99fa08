package sqliteindex_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/sqliteindex"
)

// TestRebuildEqualsSync does what users, colleagues and plain git do to runs, in any
// order, while one index keeps up, now and then.
func TestRebuildEqualsSync(t *testing.T) {
	t.Parallel()
	repotest.Check(t, func(rt *rapid.T) {
		w := newWorld(t)
		w.quick = true
		x := w.index(t)
		names := []string{"a", "B/x", "c", strings.Repeat("long", 60)}
		tips := map[string]*snapshot.Entry{}
		pick := func() (string, *snapshot.Entry) {
			name := rapid.SampledFrom(names).Draw(rt, "run")
			return name, tips[name]
		}
		actions := map[string]func(*rapid.T){
			"append": func(rt *rapid.T) {
				name, tip := pick()
				if tip == nil {
					tips[name] = w.start(t, name, rapid.IntRange(1, 3).Draw(rt, "frames"))
					return
				}
				drafts := rapid.SliceOfN(rapid.SampledFrom([]snapshot.Draft{
					frameDraft(), eventDraft(snapshot.RunFailed), eventDraft(snapshot.RunRunning),
				}), 1, 4).Draw(rt, "entries")
				tips[name] = w.write(t, tip, drafts...)
				w.setTip(t, name, tips[name].ID)
			},
			"fork": func(rt *rapid.T) {
				name, tip := pick()
				child, _ := pick()
				if tip == nil || child == name || tip.Frame == snapshot.NoFrame {
					return
				}
				tips[child] = w.fork(t, child, snapshot.Parent{RunID: name, Frame: tip.Frame}, tip, rapid.Bool().Draw(rt, "state"))
			},
			"rewind": func(*rapid.T) {
				name, tip := pick()
				if tip == nil || tip.Parent.IsZero() {
					return
				}
				back, err := snapshot.ReadEntry(w.objects, tip.Parent)
				require.NoError(t, err)
				if back.Run == name {
					tips[name] = back
					w.setTip(t, name, back.ID)
				}
			},
			"delete": func(*rapid.T) {
				name, tip := pick()
				if tip != nil {
					w.dropTip(t, name)
					delete(tips, name)
				}
			},
			"sync":     func(*rapid.T) { require.NoError(t, x.Sync(t.Context())) },
			"sync run": func(*rapid.T) { name, _ := pick(); require.NoError(t, x.SyncRun(t.Context(), name)) },
		}
		rt.Repeat(actions)
		got := synced(t, x)
		require.Equal(t, w.truth(t), got)
		require.Empty(t, x.Problems())
		require.Len(t, got.Runs, len(tips))
	})
}

func TestRebuildReportsProgressAndWhatItRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.start(t, "a", 3)
	w.setTip(t, "a", w.write(t, a, eventDraft(snapshot.RunFinished)).ID)
	w.start(t, "b", 2)
	x := w.index(t)
	before := synced(t, x)

	var seen [][2]int
	stats, err := x.Rebuild(t.Context(), func(done, total int) { seen = append(seen, [2]int{done, total}) })

	require.NoError(t, err)
	assert.Equal(t, sqliteindex.Stats{Runs: 2, Entries: 6, Frames: 5}, stats)
	assert.Equal(t, [][2]int{{1, 2}, {2, 2}}, seen)
	assert.Equal(t, before, synced(t, x))
}
