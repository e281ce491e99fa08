package sqliteindex_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/sqliteindex"
)

// TestARunWhoseEventsCannotBeReadHasNoDetails but is in lists, which do not need them.
func TestARunWhoseEventsCannotBeReadHasNoDetails(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	good := w.run(t, "good", w.first("good"), eventDraft(snapshot.RunRunning))
	tip := w.run(t, "bad", w.first("bad"), eventDraft(snapshot.RunRunning))
	x := w.detailed(t)
	require.Len(t, ask(t, x, "SELECT DISTINCT run_id FROM _smithers_events"), 2)
	w.extend(t, good, eventDraft(snapshot.RunFinished))
	broken := w.breakEvents(t, w.write(t, tip, eventDraft(snapshot.RunFinished)))
	w.setTip(t, "bad", broken)

	require.NoError(t, x.SyncDetails(t.Context()))

	require.Len(t, x.Problems(), 1)
	var problem *sqliteindex.RunError
	require.ErrorAs(t, x.Problems()[0], &problem)
	assert.Equal(t, "bad", problem.Ref)
	require.ErrorIs(t, problem, objstore.ErrCorrupt)
	assert.Equal(t, [][]any{{"good", int64(2)}}, ask(t, x, "SELECT run_id, count(*) FROM _smithers_events GROUP BY 1"))
	rows, err := x.Runs(t.Context())
	require.NoError(t, err)
	assert.Len(t, rows, 2)

	w.setTip(t, "bad", tip.ID)
	require.NoError(t, x.SyncDetails(t.Context()))
	assert.Empty(t, x.Problems())
	assert.Len(t, ask(t, x, "SELECT DISTINCT run_id FROM _smithers_events"), 2, "and has them again as soon as it can be read")
}

// breakEvents writes the entry again with events that no encoder writes.
func (w *world) breakEvents(tb testing.TB, e *snapshot.Entry) objstore.ID {
	tb.Helper()
	batch := w.objects.Begin()
	parts, err := objstore.ReadTree(w.objects, e.Tree)
	require.NoError(tb, err)
	for i := range parts {
		if parts[i].Name == "events" {
			parts[i].ID = batch.Add(objstore.Blob, []byte("no events\n"))
		}
	}
	header := e.Header
	header.Tree = batch.Add(objstore.Tree, objstore.EncodeTree(parts))
	id := batch.Add(objstore.Commit, snapshot.EncodeHeader(header))
	require.NoError(tb, batch.Commit(tb.Context(), func() error { return nil }))
	return id
}

// TestDetailsThatAreDamagedAreReadAgain, whatever has become of their file.
func TestDetailsThatAreDamagedAreReadAgain(t *testing.T) {
	t.Parallel()
	damage := func(path, text string) func(*testing.T) {
		return func(t *testing.T) {
			t.Helper()
			for _, suffix := range []string{"-wal", "-shm"} {
				_ = os.Remove(path + suffix)
			}
			writeFile(t, path, text)
		}
	}
	for _, name := range []string{"garbage", "empty", "the index of lists", "removed", "removed while it is open"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.run(t, "a", w.first("a"), eventDraft(snapshot.RunRunning))
			x := w.detailed(t)
			path := detailsPath(w.indexPath())
			if name != "removed while it is open" {
				require.NoError(t, x.Close())
			}
			switch name {
			case "garbage":
				damage(path, "garbage")(t)
			case "empty":
				damage(path, "")(t)
			case "the index of lists":
				list, err := os.ReadFile(w.indexPath())
				require.NoError(t, err)
				damage(path, string(list))(t)
			default:
				files, err := filepath.Glob(path + "*")
				require.NoError(t, err)
				for _, file := range files {
					require.NoError(t, os.Remove(file))
				}
			}
			if name != "removed while it is open" {
				x = w.index(t)
			}

			require.NoError(t, x.SyncDetails(t.Context()))

			assert.Len(t, ask(t, x, "SELECT * FROM _smithers_events"), 1)
			assert.NoError(t, x.Degraded())
			assert.Equal(t, w.detailTruth(t), tablesAt(t, path))
		})
	}
}

// TestAQueryThatFindsDetailsDamagedIsAnsweredAnyway with what was asked for last.
func TestAQueryThatFindsDetailsDamagedIsAnsweredAnyway(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(t, "a", w.first("a"), eventDraft(snapshot.RunRunning))
	w.run(t, "b", w.first("b"), eventDraft(snapshot.RunRunning))
	x := w.index(t)
	require.NoError(t, x.SyncDetails(t.Context(), "b"))
	spoil(t, detailsPath(w.indexPath()), "DROP TABLE _smithers_events")

	events, err := x.Events(t.Context(), sqliteindex.EventQuery{RunID: "b"})

	require.NoError(t, err)
	assert.Len(t, events, 1)
}

// TestSeveralBringDetailsUpAtOnce while the run goes on.
func TestSeveralBringDetailsUpAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.quick = true
	tip := w.run(t, "a", w.workflowDraft("a", "w", map[string]string{"out": object("v:string")}))
	w.start(t, "b", 2)
	var readers errgroup.Group
	ended := make(chan struct{})
	for range 3 {
		x := w.index(t)
		readers.Go(func() error {
			for {
				select {
				case <-ended:
					return x.SyncDetails(t.Context())
				default:
					if err := x.SyncDetails(t.Context()); err != nil {
						return err
					}
				}
			}
		})
	}
	for i := range 30 {
		draft := stateDraft(setOutput("out", "n", i, `{"v":"x"}`))
		draft.Events = []snapshot.Event{event("NodeFinished", 1, `{"nodeId":"n"}`)}
		if i%10 == 5 {
			draft.Workflow = definition(map[string]string{"out": object("v:string", fmt.Sprintf("v%d:number", i))})
		}
		tip = w.extend(t, tip, draft)
	}
	close(ended)

	require.NoError(t, readers.Wait())

	assert.Equal(t, w.detailTruth(t), tablesAt(t, detailsPath(w.indexPath())))
}
