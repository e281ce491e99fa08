package langgraph_test

import (
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/back/travel"
	"github.com/git-smithers/git-smithers/internal/peer/langgraph"
	"github.com/git-smithers/git-smithers/internal/share"
	"github.com/git-smithers/git-smithers/timeline"
)

// backTo resets a thread to a frame.
func (d *desk) backTo(address string) {
	d.t.Helper()
	_, err := travel.Travel(d.t.Context(), d.Store(), travel.Request{Run: address, NoFiles: true})
	require.NoError(d.t, err)
}

// undo takes the thread's newest op back.
func (d *desk) undo() {
	d.t.Helper()
	_, err := travel.Undo(d.t.Context(), d.Store(), travel.UndoRequest{Run: "t", NoFiles: true})
	require.NoError(d.t, err)
}

// latest returns the id and the writes of the checkpoint from which LangGraph would go on, as this process and as another one sees it.
func (d *desk) latest() (id string, writes []langgraph.Write) {
	d.t.Helper()
	for _, at := range []*desk{d, deskIn(d.t, d.repo)} {
		tuple, err := at.Get(d.t.Context(), "t", langgraph.Key{})
		require.NoError(d.t, err)
		require.NotNil(d.t, tuple)
		if at != d {
			assert.Equal(d.t, id, tuple.ID)
			assert.Equal(d.t, writes, tuple.Writes)
			assert.Equal(d.t, d.ids(), at.ids())
		}
		id, writes = tuple.ID, tuple.Writes
	}
	return id, writes
}

// chain stores checkpoints from 1 to last, each with a write of its task.
func (d *desk) chain(last int) {
	d.t.Helper()
	parent := ""
	for i := 1; i <= last; i++ {
		id := strconv.Itoa(i)
		d.store(put(id, parent, i, `"`+id+`"`))
		require.NoError(d.t, d.PutWrites(d.t.Context(), "t", langgraph.Key{ID: id}, writeOf(id), false))
		parent = id
	}
}

// writeOf returns a task's write of a value.
func writeOf(value string) []langgraph.Write {
	return []langgraph.Write{{Task: "task", Channel: "a", Value: langgraph.Value{Type: "json", Data: []byte(`"` + value + `"`)}}}
}

func TestAThreadGoesOnFromTheFrameToWhichItWasReset(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.chain(4)
	d.backTo("t:1")
	id, writes := d.latest()
	assert.Equal(t, "2", id)
	assert.Empty(t, writes, "the task runs again")
	assert.Equal(t, []string{"2", "1"}, d.ids())
	assert.Equal(t, map[string]string{"a": `"4"`}, d.values("4"), "what was left out can be read by its id")

	// The machine that goes on may have a slow clock.
	require.NoError(t, d.PutWrites(t.Context(), "t", langgraph.Key{ID: "2"}, writeOf("other"), false))
	result := d.store(put("21", "2", 3, `"other"`))
	at, err := d.Store().Load(t.Context(), timeline.Address{Run: "t", Frame: result.Frame}.String())
	require.NoError(t, err)
	assert.Nil(t, at.Entry.Based, "the frame follows the frame of the reset")
	id, _ = d.latest()
	assert.Equal(t, "21", id)
	assert.Equal(t, []string{"21", "2", "1"}, d.ids())

	d.undo()
	id, writes = d.latest()
	assert.Equal(t, "4", id)
	assert.Equal(t, writeOf("4"), writes)
	assert.Equal(t, []string{"4", "3", "2", "1"}, d.ids())
}

// LangGraph stores the writes of a fast task, and the checkpoints of a subgraph, before the checkpoint whose task it runs.
func TestAFrameHasItsCheckpointWithoutWhatItsTasksDid(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	inner := put("25", "", 1, `"inner"`)
	inner.NS, inner.Metadata = "sub:task", []byte(`{"source":"loop","step":0,"parents":{"":"2"}}`)
	d.store(put("1", "", 1, `"1"`))
	require.NoError(t, d.PutWrites(t.Context(), "t", langgraph.Key{ID: "2"}, writeOf("2"), false))
	d.store(inner)
	d.store(put("2", "1", 2, `"2"`)) // frame 2
	d.store(put("3", "2", 3, `"3"`))
	for _, thread := range []struct {
		id    string
		make  func() error
		inner bool
	}{
		{"fork", func() error {
			_, err := d.Store().Fork(t.Context(), timeline.ForkRequest{From: "t:2", RunID: "fork"})
			return err
		}, false},
		{"fork of fork", func() error {
			_, err := d.Store().Fork(t.Context(), timeline.ForkRequest{From: "fork:0", RunID: "fork of fork"})
			return err
		}, false},
		{"t", func() error { d.backTo("t:2"); return nil }, false},
		{"copy of reset", func() error { return d.Copy(t.Context(), "t", "copy of reset", "") }, false},
		{"t", func() error { d.undo(); return nil }, true},
		{"copy", func() error { return d.Copy(t.Context(), "t", "copy", "") }, true},
		{"copy of one", func() error {
			d.store(put("4", "3", 4, `"4"`))
			return d.Copy(t.Context(), "t", "copy of one", "2")
		}, false},
	} {
		require.NoError(t, thread.make())
		for _, at := range []*desk{d, deskIn(t, d.repo)} {
			found, err := at.Get(t.Context(), thread.id, langgraph.Key{NS: inner.NS})
			require.NoError(t, err)
			assert.Equal(t, thread.inner, found != nil, thread.id)
			tuple, err := at.Get(t.Context(), thread.id, langgraph.Key{ID: "2"})
			require.NoError(t, err)
			assert.Equal(t, thread.inner || thread.id == "copy of one", len(tuple.Writes) > 0, thread.id)
		}
	}
}

// Up to 0.1.2, a fork or reset to a frame counted what the tasks had done before it, and LangGraph went on from there.
func TestAThreadThatWentOnFromWhatItsTasksHadDoneKeepsIt(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.store(put("1", "", 1, `"1"`))
	require.NoError(t, d.PutWrites(t.Context(), "t", langgraph.Key{ID: "2"}, writeOf("2"), false))
	d.store(put("2", "1", 2, `"2"`)) // frame 1
	_, err := d.Store().Fork(t.Context(), timeline.ForkRequest{From: "t:1", RunID: "fork"})
	require.NoError(t, err)
	d.store(put("3", "2", 3, `"3"`))
	d.backTo("t:1")
	for _, thread := range []string{"fork", "t"} {
		_, err := d.Put(t.Context(), thread, put("4", "2", 4, `"4"`))
		require.NoError(t, err)
		for _, at := range []*desk{d, deskIn(t, d.repo)} {
			tuple, err := at.Get(t.Context(), thread, langgraph.Key{ID: "2"})
			require.NoError(t, err)
			assert.Len(t, tuple.Writes, 1, thread)
		}
	}
}

func TestResetsOfAThreadAreTakenBackOneByOne(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.chain(4)
	d.backTo("t:2")
	d.backTo("t:0")
	assert.Equal(t, []string{"1"}, d.ids())
	d.backTo("t:2") // also a frame that was dropped
	assert.Equal(t, []string{"3", "2", "1"}, d.ids())
	d.undo()
	assert.Equal(t, []string{"1"}, d.ids())
	d.undo()
	id, writes := d.latest()
	assert.Equal(t, "3", id)
	assert.Empty(t, writes)
	d.undo()
	id, writes = d.latest()
	assert.Equal(t, "4", id)
	assert.Equal(t, writeOf("4"), writes)
}

func TestAForkOfAThreadThatWasResetGoesOnFromThere(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.chain(4)
	d.backTo("t:1")
	require.NoError(t, d.Copy(t.Context(), "t", "copy", ""))
	fork, err := d.Get(t.Context(), "copy", langgraph.Key{})
	require.NoError(t, err)
	assert.Equal(t, "2", fork.ID)
	parent := "2"
	p := put("3", parent, 3, `"in the copy"`)
	_, err = d.Put(t.Context(), "copy", p)
	require.NoError(t, err)
	_, err = travel.Travel(t.Context(), d.Store(), travel.Request{Run: "copy:0", NoFiles: true})
	require.NoError(t, err)
	fork, err = d.Get(t.Context(), "copy", langgraph.Key{})
	require.NoError(t, err)
	assert.Equal(t, "2", fork.ID)
	assert.Equal(t, []string{"2", "1"}, d.ids(), "the thread itself is as it was")
}

// Applications name threads as they like.
func TestAThreadWhoseIDIsAnAddressIsCopied(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.chain(4)
	require.NoError(t, d.Copy(t.Context(), "t", "t:1", ""))
	require.NoError(t, d.Copy(t.Context(), "t:1", "t:2", ""))
	for _, thread := range []string{"t:1", "t:2"} {
		got, err := d.Get(t.Context(), thread, langgraph.Key{})
		require.NoError(t, err)
		assert.Equal(t, "4", got.ID, thread)
	}
}

func TestAQuestionIsAskedAgainAfterAReset(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	p := put("1", "", 1, `"x"`)
	p.Present = []string{"a", "branch:to:ask"}
	p.Sent["branch:to:ask"] = langgraph.Sent{Value: langgraph.Value{Type: "json", Data: []byte("null")}}
	p.Checkpoint = []byte(`{"v":4,"id":"1","ts":"2026-01-02T03:04:05.678Z","channel_versions":{"a":1,"branch:to:ask":1}}`)
	d.store(p)
	question := []langgraph.Write{{
		Task: "task", Idx: -3, Channel: "__interrupt__", Value: langgraph.Value{Type: "json", Data: []byte(`[{"value":"ship?"}]`)},
	}}
	key := langgraph.Key{ID: "1"}
	require.NoError(t, d.PutWrites(t.Context(), "t", key, question, false))
	asked := func() int {
		t.Helper()
		head, err := d.Store().Head(t.Context(), "t")
		require.NoError(t, err)
		return head.State().HumanRequests().Len()
	}
	assert.Equal(t, 1, asked())
	d.backTo("t:0")
	assert.Equal(t, 0, asked())
	_, writes := d.latest()
	assert.Empty(t, writes)
	for range 2 { // the same question, once more after another reset
		require.NoError(t, d.PutWrites(t.Context(), "t", key, question, false))
		assert.Equal(t, 1, asked())
		_, writes = d.latest()
		assert.Equal(t, question, writes)
		d.backTo("t:0")
		assert.Equal(t, 0, asked())
		_, writes = d.latest()
		assert.Empty(t, writes)
	}
	d.undo()
	assert.Equal(t, 1, asked())
	_, writes = d.latest()
	assert.Equal(t, question, writes)
}

func TestAResetOfAThreadTravels(t *testing.T) {
	t.Parallel()
	here, there := newDesk(t), newDesk(t)
	fetch := func(d, from *desk) []share.FetchedRun {
		t.Helper()
		result, err := share.New(d.Store(), share.Options{Join: d.Join}).Fetch(t.Context(), share.FetchRequest{Remote: from.repo.Dir})
		require.NoError(t, err)
		return result.Runs
	}
	here.chain(4)
	here.backTo("t:1")
	fetch(there, here)
	id, writes := there.latest()
	assert.Equal(t, "2", id)
	assert.Empty(t, writes)
	there.store(put("5", "2", 5, `"there"`))
	assert.Equal(t, share.StateForwarded, fetch(here, there)[0].State)
	assert.Equal(t, []string{"5", "2", "1"}, here.ids())

	// A reset at one side and a put at the other are not joined: each side's history stays whole.
	here.backTo("t:0")
	there.store(put("6", "5", 6, `"there, too"`))
	runs := fetch(here, there)
	assert.Equal(t, share.StateSplit, runs[0].State)
	assert.Equal(t, []string{"6", "5", "2", "1"}, here.ids())
	fork, err := here.Get(t.Context(), runs[0].Fork, langgraph.Key{})
	require.NoError(t, err)
	assert.Equal(t, "1", fork.ID)
}

func TestAResetThatGitTakesAwayIsForgotten(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.chain(2)
	head, err := d.Store().Head(t.Context(), "t")
	require.NoError(t, err)
	before := head.Entry().ID
	d.backTo("t:0")
	assert.Equal(t, []string{"1"}, d.ids())
	d.repo.Git("update-ref", "refs/smithers/_tip/t", before.String()) // another tool takes the reset away
	d.repo.Git("update-ref", "-d", "refs/smithers/t/2")
	id, writes := d.latest()
	assert.Equal(t, "2", id)
	assert.Equal(t, writeOf("2"), writes)
}

// view is what a thread is for LangGraph.
type view struct {
	ids    []string
	writes map[string][]langgraph.Write // of each checkpoint in ids
}

// latest returns the id of the latest checkpoint.
func (v view) latest() string { return v.ids[0] }

// clone returns a view that can be changed.
func (v view) clone() view { return view{slices.Clone(v.ids), maps.Clone(v.writes)} }

func TestResetsAndUndosAtRandom(t *testing.T) {
	t.Parallel()
	threads := 3
	if os.Getenv("SOAK") != "" {
		threads = 40
	}
	for seed := range threads {
		t.Run(strconv.Itoa(seed), func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			random := rand.New(rand.NewPCG(uint64(seed), 0))
			d.store(put("100", "", 1, `"100"`))
			now := view{[]string{"100"}, map[string][]langgraph.Write{}}
			frames := []view{now.clone()} // when the frame was made
			var undos []view
			for step := range 30 {
				id := strconv.Itoa(101 + step)
				switch random.IntN(5) {
				case 0:
					parent := now.ids[random.IntN(len(now.ids))]
					early := random.IntN(2) == 0 // the task of the checkpoint is faster than its put
					if early {
						require.NoError(t, d.PutWrites(t.Context(), "t", langgraph.Key{ID: id}, writeOf("early"), false))
					}
					d.store(put(id, parent, step+2, `"`+id+`"`))
					now.ids = append([]string{id}, now.ids...)
					frames = append(frames, now.clone())
					if early {
						now.writes[id] = writeOf("early")
					}
				case 1, 2: // a task more, or a task that writes what one wrote before
					w := langgraph.Write{Task: "task" + strconv.Itoa(random.IntN(3)), Channel: "a", Value: langgraph.Value{Type: "json", Data: []byte(`"w"`)}}
					require.NoError(t, d.PutWrites(t.Context(), "t", langgraph.Key{ID: now.latest()}, []langgraph.Write{w}, false))
					had := now.writes[now.latest()]
					if !slices.ContainsFunc(had, func(h langgraph.Write) bool { return h.Task == w.Task }) {
						had = append(slices.Clip(had), w)
						slices.SortFunc(had, func(a, b langgraph.Write) int { return strings.Compare(a.Task, b.Task) })
						now.writes[now.latest()] = had
					}
				case 3:
					undos = append(undos, now.clone())
					to := random.IntN(len(frames))
					d.backTo("t:" + strconv.Itoa(to))
					now = frames[to].clone()
					frames = append(frames, now.clone())
				case 4:
					if len(undos) == 0 {
						continue
					}
					d.undo()
					now, undos = undos[len(undos)-1].clone(), undos[:len(undos)-1]
					frames = append(frames, now.clone())
				}
				latest, writes := d.latest()
				require.Equal(t, now.latest(), latest, "step %d", step)
				require.ElementsMatch(t, now.writes[latest], writes, "step %d", step)
				require.Equal(t, now.ids, d.ids(), "step %d", step)
			}
		})
	}
}
