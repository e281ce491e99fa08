package timeline_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/git-smithers/git-smithers/internal/back/travel"
	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/internal/upkeep/verify"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// meaning is what an address stands for.
type meaning struct {
	commit objstore.ID
	hash   page.Sum
	state  objstore.ID
}

// history is some runs to which everything happens that can happen to a run, and what
// their addresses meant when they were made.
type history struct {
	*rapid.T
	tb    testing.TB
	store *timeline.Store
	name  string // what the ids of its runs begin with
	runs  []string
	live  map[string][]int64 // by run: its timeline, newest first
	means map[string]meaning
	made  int // forks and signals
}

func (h *history) nodeIDs() []string { return []string{"a", "b", "c", "d"} }

func (h *history) begin() {
	p := newPlay(h.tb, h.store, h.name, nil, "a", "b<a", "c<a", "d<b,c")
	h.met(p.head.Row().ID, []int64{0})
}

// met learns a run's timeline, and what its frames mean that are new.
func (h *history) met(run string, live []int64) {
	if !slices.Contains(h.runs, run) {
		h.runs = append(h.runs, run)
	}
	h.live[run] = live
	for _, frame := range live {
		address := fmt.Sprintf("%s:%d", run, frame)
		if _, known := h.means[address]; !known {
			h.means[address] = h.meaning(address)
		}
	}
}

func (h *history) meaning(address string) meaning {
	loaded, err := h.store.Load(context.Background(), address)
	require.NoError(h.T, err)
	state, err := loaded.Entry.State()
	require.NoError(h.T, err)
	return meaning{loaded.Entry.ID, loaded.Entry.ContentHash, state.ID()}
}

func (h *history) run() string { return rapid.SampledFrom(h.runs).Draw(h.T, "run") }

// play opens one of the runs.
func (h *history) play(run string) *play {
	p := &play{
		t: h.tb, store: h.store, loops: map[string]string{},
		needs: map[string][]string{"b": {"a"}, "c": {"a"}, "d": {"b", "c"}},
	}
	return p.in(run)
}

// step appends a frame in which an attempt starts or ends, or an entry with a signal.
func (h *history) step(_ *rapid.T) {
	run := h.run()
	p := h.play(run)
	id := rapid.SampledFrom(h.nodeIDs()).Draw(h.T, "node")
	have := attemptsAt(h.tb, h.store, run)
	last := 0
	for have[snapshot.AttemptKey(id, 0, last+1)] != "" {
		last++
	}
	if last > 0 && have[snapshot.AttemptKey(id, 0, last)] == snapshot.AttemptInProgress {
		key := snapshot.AttemptKey(id, 0, last)
		if rapid.Bool().Draw(h.T, "ends well") {
			p.step(key+" finished", p.finishes(key, fmt.Sprintf(`{"of":%q}`, key)))
		} else {
			p.step(key+" failed", p.fails(key, "exit_status: 1", snapshot.NodePending))
		}
	} else if rapid.Bool().Draw(h.T, "starts") {
		key := snapshot.AttemptKey(id, 0, last+1)
		p.step(key+" started", p.starts(key))
	} else {
		h.made++
		p.arrive("a signal", signal(h.tb, h.store, run, strconv.Itoa(h.made)))
		return
	}
	h.met(run, append([]int64{p.head.Row().Frame}, h.live[run]...))
}

// travel goes back to before some attempt.
func (h *history) travel(_ *rapid.T) {
	run := h.run()
	keys := slices.Sorted(maps.Keys(attemptsAt(h.tb, h.store, run)))
	if len(keys) == 0 {
		return
	}
	id, iteration, number, err := snapshot.SplitAttemptKey(rapid.SampledFrom(keys).Draw(h.T, "attempt"))
	require.NoError(h.T, err)
	req := travel.Request{
		Run: run, Node: id, Iteration: iteration, Attempt: number, NoFiles: true, NoDeps: rapid.Bool().Draw(h.T, "no deps"),
	}
	done, err := travel.Travel(context.Background(), h.store, req)
	require.NoError(h.T, err)
	if req.NoDeps {
		require.Empty(h.T, done.Dropped)
		h.met(run, append([]int64{done.Frame}, h.live[run]...))
		return
	}
	h.went(run, done)
	for _, key := range append([]string{snapshot.Key(id, iteration)}, done.Reset...) {
		n := stateOf(h.tb, stateAt(h.tb, h.store, run))["node "+key]
		require.Equal(h.T, "pending", n, key)
	}
}

// went learns that a run went on from another frame.
func (h *history) went(run string, done *travel.Result) {
	based := done.Frame - 1
	if b := entryAt(h.tb, h.store, run).Based; b != nil {
		based = *b
	}
	live := []int64{done.Frame}
	for frame := based; frame != snapshot.NoFrame; {
		live = append(live, frame)
		at := h.meaningOf(run, frame)
		if frame--; at.Based != nil && at.Run == run {
			frame = *at.Based
		}
	}
	var dropped []int64
	for _, frame := range h.live[run] {
		if !slices.Contains(live, frame) {
			dropped = append([]int64{frame}, dropped...)
		}
	}
	require.Equal(h.T, append([]int64{}, dropped...), done.Dropped)
	h.met(run, live)
}

func (h *history) meaningOf(run string, frame int64) *snapshot.Entry {
	return entryAt(h.tb, h.store, fmt.Sprintf("%s:%d", run, frame))
}

// undo takes the newest op back; right after it, everything is as it was before.
func (h *history) undo(_ *rapid.T) {
	run := h.run()
	ops, err := timeline.OpsOf(context.Background(), h.store, run)
	require.NoError(h.T, err)
	done, err := travel.Undo(context.Background(), h.store, travel.UndoRequest{Run: run})
	if code := fault.CodeOf(err); err != nil && (code == fault.NothingToUndo || code == fault.UndoRefused) {
		return
	}
	require.NoError(h.T, err)
	if done.Undone.Kind == snapshot.OpFork {
		return
	}
	h.went(run, done)
	before, err := h.store.Load(context.Background(), fmt.Sprintf("%s:%d", run, done.To.Frame))
	require.NoError(h.T, err)
	require.Equal(h.T, before.Entry.ContentHash, entryAt(h.tb, h.store, run).ContentHash)
	if done.Undone.Number == len(ops) && *done.Undone.Frame == done.From {
		was, err := before.Entry.Attempts()
		require.NoError(h.T, err)
		is, err := entryAt(h.tb, h.store, run).Attempts()
		require.Equal(h.T, rowsOf(h.tb, was, nil), rowsOf(h.tb, is, err))
	}
}

func (h *history) reset(_ *rapid.T) {
	run := h.run()
	done, err := travel.Reset(context.Background(), h.store, travel.ResetRequest{Run: run})
	require.NoError(h.T, err)
	h.went(run, done)
	require.Empty(h.T, stateAt(h.tb, h.store, run).Tables())
}

// resetToFrame goes back to any frame that the run ever had.
func (h *history) resetToFrame(_ *rapid.T) {
	run := h.run()
	frame := rapid.Int64Range(0, rowAt(h.tb, h.store, run).Frame).Draw(h.T, "frame")
	address := timeline.Address{Run: run, Frame: frame}
	done, err := travel.Reset(context.Background(), h.store, travel.ResetRequest{Run: address.String()})
	require.NoError(h.T, err)
	require.Equal(h.T, address, done.To)
	h.went(run, done)
}

// fork forks any address that there ever was.
func (h *history) fork(_ *rapid.T) {
	from := rapid.SampledFrom(slices.Sorted(maps.Keys(h.means))).Draw(h.T, "from")
	h.made++
	req := timeline.ForkRequest{From: from, RunID: fmt.Sprintf("%s-%d", h.name, h.made)}
	if rapid.Bool().Draw(h.T, "resets") {
		req.Nodes = []string{rapid.SampledFrom(h.nodeIDs()).Draw(h.T, "node")}
	}
	child, err := h.store.Fork(context.Background(), req)
	require.NoError(h.T, err)
	h.met(child.Row().ID, []int64{0})
	if len(req.Nodes) == 0 {
		require.Equal(h.T, h.means[from], h.means[req.RunID+":0"])
	}
}

// check loads every address that there ever was.
func (h *history) check(*rapid.T) {
	for address, meant := range h.means {
		require.Equal(h.T, meant, h.meaning(address), address)
	}
}

// Whatever happens to runs, an address that meant a frame once means it for ever, no event
// is lost or counted twice, and the history is sound.
func TestAnAddressMeansForEverWhatItMeantOnce(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	repo.Git("config", "core.fsync", "none") // it is not about crashes
	s := open(t, repo)
	checks := 0
	repotest.Check(t, func(rt *rapid.T) {
		checks++
		h := &history{
			T: rt, tb: t, store: s, name: fmt.Sprintf("run%d", checks),
			live: make(map[string][]int64), means: make(map[string]meaning),
		}
		h.begin()
		rt.Repeat(map[string]func(*rapid.T){
			"step": h.step, "another step": h.step, "one more step": h.step,
			"travel": h.travel, "undo": h.undo, "reset": h.reset, "reset to a frame": h.resetToFrame, "fork": h.fork,
		})
		h.check(rt)
		report, err := verify.Runs(context.Background(), s, h.runs...)
		require.NoError(rt, err)
		require.Empty(rt, report.Problems)
	})
}
