package langgraph_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/peer/langgraph"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/internal/share"
	"github.com/git-smithers/git-smithers/internal/upkeep/prune"
	"github.com/git-smithers/git-smithers/internal/upkeep/verify"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// desk is a repository with threads.
type desk struct {
	*langgraph.Threads

	t    testing.TB
	repo *repotest.Repo
}

// newDesk returns an empty repository, which is verified when the test ends.
func newDesk(t testing.TB) *desk {
	t.Helper()
	return deskIn(t, repotest.New(t, repotest.Commit))
}

// deskIn returns the threads of a repository, as another process has them.
func deskIn(t testing.TB, repo *repotest.Repo) *desk {
	t.Helper()
	s, err := timeline.Open(t.Context(), timeline.Options{Dir: repo.Dir, Env: append(repo.Env, "GIT_SMITHERS_FSYNC=0"), Now: time.Now, Warn: func(err error) { t.Log(err) }})
	require.NoError(t, err)
	t.Cleanup(func() {
		report, err := verify.Runs(context.Background(), s)
		assert.NoError(t, err)
		assert.Empty(t, report.Problems)
		assert.NoError(t, s.Close())
	})
	return &desk{langgraph.Open(s), t, repo}
}

// put returns a put of a checkpoint whose channel "a" has a value.
func put(id, parent string, version int, value string) langgraph.Put {
	p := langgraph.Put{
		Key:        langgraph.Key{ID: id},
		Checkpoint: json.RawMessage(fmt.Sprintf(`{"v":4,"id":%q,"ts":"2026-01-02T03:04:05.678Z","channel_versions":{"a":%d}}`, id, version)),
		Metadata:   json.RawMessage(fmt.Sprintf(`{"source":"loop","step":%d,"parents":{}}`, version)),
		Present:    []string{"a"},
		Sent:       map[string]langgraph.Sent{"a": {Value: langgraph.Value{Type: "json", Data: []byte(value)}}},
	}
	if parent != "" {
		p.Parent = &parent
	}
	return p
}

// store stores a put in the thread t.
func (d *desk) store(p langgraph.Put) langgraph.PutResult {
	d.t.Helper()
	result, err := d.Put(d.t.Context(), "t", p)
	require.NoError(d.t, err)
	return result
}

// values returns the values of a checkpoint of the thread as texts; nil if there is no such checkpoint.
func (d *desk) values(id string) map[string]string {
	d.t.Helper()
	tuple, err := d.Get(d.t.Context(), "t", langgraph.Key{ID: id})
	require.NoError(d.t, err)
	if tuple == nil {
		return nil
	}
	out := make(map[string]string)
	for channel, v := range tuple.Values {
		out[channel] = string(v.Data)
	}
	return out
}

// ids returns the ids of the thread's checkpoints, the greatest first.
func (d *desk) ids() []string {
	d.t.Helper()
	thread := "t"
	var ids []string
	for tuple, err := range d.List(d.t.Context(), langgraph.Query{Thread: &thread}) {
		require.NoError(d.t, err)
		ids = append(ids, tuple.ID)
	}
	return ids
}

func TestAPutIsAFrameWithTheTimeAndTheIDOfItsCheckpoint(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	result := d.store(put("1", "", 1, `"x"`))
	assert.Equal(t, int64(0), result.Frame)

	at, err := d.Store().Load(t.Context(), "t@1")
	require.NoError(t, err)
	assert.Equal(t, result.Commit, at.Entry.ID)
	assert.Equal(t, time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC).UnixMilli(), at.Entry.AtMs)
	assert.Equal(t, "step 1: loop", at.Entry.Subject)
	row, err := at.Entry.RunRow()
	require.NoError(t, err)
	assert.Equal(t, "langgraph", row.Workflow)
	assert.Equal(t, snapshot.RunFinished, row.Status)
}

func TestAPutThatIsRepeatedStoresNothing(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	first := d.store(put("1", "", 1, `"x"`))
	d.store(put("2", "1", 2, `"y"`))
	assert.Equal(t, first, d.store(put("1", "", 1, `"x"`)))
	assert.Equal(t, int64(2), d.store(put("1", "", 1, `"z"`)).Frame, "another value replaces the checkpoint")
	assert.Equal(t, map[string]string{"a": `"z"`}, d.values("1"))

	again := deskIn(t, d.repo) // another process sees the same
	assert.Equal(t, []string{"2", "1"}, again.ids())
	assert.Equal(t, map[string]string{"a": `"z"`}, again.values("1"))
}

func TestTheSamePutsMakeTheSameCommits(t *testing.T) {
	t.Parallel()
	var commits [2][]string
	for i := range commits {
		d := newDesk(t)
		for n := range 3 {
			commits[i] = append(commits[i], d.store(put(strconv.Itoa(n), "", n, strconv.Itoa(n))).Commit.String())
		}
	}
	assert.Equal(t, commits[0], commits[1])
}

func TestABaseIsTheBeginningOfAnEarlierValue(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	first := d.store(put("1", "", 1, `["one"]`))
	next := put("2", "1", 2, `,"two"]`)
	next.Sent["a"] = langgraph.Sent{Value: next.Sent["a"].Value, Base: &langgraph.Base{Commit: first.Commit, Length: len(`["one"`)}}
	second := d.store(next)
	assert.Equal(t, map[string]string{"a": `["one","two"]`}, d.values("2"))

	for _, base := range []langgraph.Base{{Commit: first.Commit, Length: 1000}, {Commit: first.Commit, Length: -1}, {Length: 1}} {
		p := put("3", "2", 3, `]`)
		p.Sent["a"] = langgraph.Sent{Value: p.Sent["a"].Value, Base: &base}
		result := d.store(p)
		assert.Equal(t, []string{"a"}, result.Full)
		assert.Equal(t, snapshot.NoFrame, result.Frame)
	}
	assert.Equal(t, int64(1), second.Frame)
	assert.Len(t, d.ids(), 2)
}

func TestBadPutsAreRefusedAndChangeNothing(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	for name, change := range map[string]func(*langgraph.Put){
		"no id":       func(p *langgraph.Put) { p.ID = "" },
		"checkpoint":  func(p *langgraph.Put) { p.Checkpoint = json.RawMessage(`[]`) },
		"broken JSON": func(p *langgraph.Put) { p.Checkpoint = json.RawMessage(`{"a":`) },
		"metadata":    func(p *langgraph.Put) { p.Metadata = nil },
		"value too large": func(p *langgraph.Put) {
			p.Sent["a"] = langgraph.Sent{Value: langgraph.Value{Type: "bytes", Data: make([]byte, 220<<20)}}
		},
	} {
		p := put("1", "", 1, `1`)
		change(&p)
		_, err := d.Put(t.Context(), "t", p)
		require.Error(t, err, name)
	}
	_, err := d.Put(t.Context(), "", put("1", "", 1, `1`))
	require.Error(t, err, "a thread needs an id")
	assert.Empty(t, d.ids())
}

func TestALongThreadHasFewRefs(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	const puts = 200
	for i := range puts {
		d.store(put(fmt.Sprintf("%03d", i), "", 1, strconv.Itoa(i)))
	}
	assert.Less(t, len(strings.Fields(d.repo.Git("for-each-ref", "--format=%(refname)", "refs/smithers/"))), 70)
	assert.Len(t, d.ids(), puts)
	at, err := d.Store().Load(t.Context(), "t:7")
	require.NoError(t, err)
	assert.Equal(t, []string{"007"}, at.Entry.IDs)
}

func TestWritersOfOneThreadAtOnce(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	const writers, puts = 4, 10
	var all sync.WaitGroup
	for w := range writers {
		other := deskIn(t, d.repo)
		all.Go(func() {
			for i := range puts {
				id := fmt.Sprintf("%d-%d", i, w)
				_, err := other.Put(t.Context(), "t", put(id, "", 1, strconv.Quote(id)))
				assert.NoError(t, err)
				write := langgraph.Write{Task: "task", Channel: "a", Value: langgraph.Value{Type: "json", Data: []byte("1")}}
				assert.NoError(t, other.PutWrites(t.Context(), "t", langgraph.Key{ID: id}, []langgraph.Write{write}, false))
			}
		})
	}
	all.Wait()
	assert.Len(t, d.ids(), writers*puts)
	for w := range writers {
		for i := range puts {
			id := fmt.Sprintf("%d-%d", i, w)
			assert.Equal(t, map[string]string{"a": strconv.Quote(id)}, d.values(id))
		}
	}
}

func TestAThreadThatWasDeletedBeginsAgainAndAgain(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	for i := range 3 {
		d.store(put(strconv.Itoa(i), "", 1, strconv.Itoa(i)))
		assert.Equal(t, []string{strconv.Itoa(i)}, d.ids())
		require.NoError(t, d.Delete(t.Context(), "t"))
		assert.Empty(t, d.ids())
		late := d.store(put("9", strconv.Itoa(i), 2, `"late"`))
		assert.True(t, late.Commit.IsZero(), "what comes too late is dropped")
	}
}

// TestJoinHasTheCheckpointsOfBothSides joins threads whose branches have equal versions, writes of both sides for one
// checkpoint, and a checkpoint that both sides replaced.
func TestJoinHasTheCheckpointsOfBothSides(t *testing.T) {
	t.Parallel()
	here := newDesk(t)
	here.store(put("1", "", 1, `"common"`))
	there := newDesk(t)
	fetch := func(d *desk, from *desk) *share.FetchResult {
		d.t.Helper()
		result, err := share.New(d.Store(), share.Options{Join: d.Join}).Fetch(t.Context(), share.FetchRequest{Remote: from.repo.Dir})
		require.NoError(t, err)
		return result
	}
	fetch(there, here)
	write := func(d *desk, task, value string) {
		d.t.Helper()
		w := langgraph.Write{Task: task, Channel: "a", Value: langgraph.Value{Type: "json", Data: []byte(value)}}
		require.NoError(t, d.PutWrites(t.Context(), "t", langgraph.Key{ID: "1"}, []langgraph.Write{w}, false))
	}
	write(here, "ours", `1`)
	here.store(put("2", "1", 2, `"here"`))
	write(there, "theirs", `2`)
	there.store(put("3", "1", 2, `"there"`))
	there.store(put("4", "3", 3, `"there, too"`))

	result := fetch(here, there)
	require.Len(t, result.Runs, 1)
	assert.Equal(t, share.StateJoined, result.Runs[0].State)
	assert.Equal(t, []string{"4", "3", "2", "1"}, here.ids())
	assert.Equal(t, map[string]string{"a": `"here"`}, here.values("2"))
	assert.Equal(t, map[string]string{"a": `"there"`}, here.values("3"))
	tuple, err := here.Get(t.Context(), "t", langgraph.Key{ID: "1"})
	require.NoError(t, err)
	require.Len(t, tuple.Writes, 2)

	result = fetch(there, here)
	assert.Equal(t, share.StateForwarded, result.Runs[0].State)
	assert.Equal(t, []string{"4", "3", "2", "1"}, there.ids())
}

// TestASecretInAValueThatGrowsIsMarked has a secret in what is new of a large value, also where it begins in what was there.
func TestASecretInAValueThatGrowsIsMarked(t *testing.T) {
	t.Parallel()
	token := "ghp_" + "0aB3dE5fG7hI9jK1lM2nO4pQ6rS8tU0vW2xY"
	large := strings.Repeat("word ", 40<<10)
	for name, values := range map[string][2]string{
		"in what is new": {`["` + large + `"]`, `["` + large + `","` + token + `"]`},
		"across":         {`["` + large + token[:20] + `"]`, `["` + large + token + `"]`},
	} {
		d := newDesk(t)
		d.store(put("1", "", 1, values[0]))
		d.store(put("2", "1", 2, values[1]))
		head, err := d.Store().Head(t.Context(), "t")
		require.NoError(t, err)
		assert.NotEmpty(t, head.Row().Marks, name)
		assert.Equal(t, map[string]string{"a": values[1]}, d.values("2"), name)
	}
}

// collect collects what was deleted.
func collect(ctx context.Context, d *desk) (*prune.Result, error) {
	return prune.New(d.Store(), prune.Options{}).Collect(ctx, false)
}

func TestAnotherProcessFindsTheWritesOfOneCheckpointAndOfSeveral(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.store(put("1", "", 1, `"x"`))
	long := langgraph.Key{NS: strings.Repeat("outer|", 4000), ID: "2"} // longer than the first piece of a stored value
	large := []byte(`"` + strings.Repeat(`a \" b`, 100_000) + `"`)
	lines := []byte("[1,\n\n2, \"writes\", [\n]]")
	for i, key := range []langgraph.Key{{ID: "1"}, {ID: "1"}, long} {
		value := [][]byte{large, lines, large}[i]
		require.NoError(t, d.PutWrites(t.Context(), "t", key, []langgraph.Write{{Task: strconv.Itoa(i), Channel: "a", Value: langgraph.Value{Type: "json", Data: value}}}, false))
	}

	// Earlier versions wrote a list of one.
	at, err := d.Store().Head(t.Context(), "t")
	require.NoError(t, err)
	series := timeline.SeriesOf(at)
	_, err = series.Append(t.Context(), snapshot.Draft{AtMs: 1, Subject: "old", Ext: &snapshot.ExtDraft{Engine: langgraph.EngineName, Files: map[string][]byte{
		"writes": []byte("[\n{\"ns\": \"\", \"id\": \"3\", \"writes\": [\n  {\"task\": \"t\", \"idx\": 0, \"channel\": \"a\", \"value\": 7}\n]}\n]\n"),
	}}})
	require.NoError(t, err)
	_, err = series.Commit(t.Context())
	require.NoError(t, err)
	series.Close()

	other := deskIn(t, d.repo)
	other.store(put("3", "1", 2, `"y"`))
	p := put("2", "", 2, `"z"`)
	p.Key = long
	other.store(p)
	texts := func(key langgraph.Key) (out []string) {
		tuple, err := deskIn(t, d.repo).Get(t.Context(), "t", key)
		require.NoError(t, err)
		for _, w := range tuple.Writes {
			out = append(out, string(w.Value.Data))
		}
		return out
	}
	assert.Equal(t, []string{string(large), string(lines)}, texts(langgraph.Key{ID: "1"}))
	assert.Equal(t, []string{string(large)}, texts(long))
	assert.Equal(t, []string{"7"}, texts(langgraph.Key{ID: "3"}))
}
