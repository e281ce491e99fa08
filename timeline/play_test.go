package timeline_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/back/travel"
	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// play is a run that a test makes step by step, as an engine does. Every step is a frame.
type play struct {
	t     testing.TB
	store *timeline.Store
	head  *timeline.Head
	files *files.WorkingCopy  // captured for every frame; nil: none is
	needs map[string][]string // by node id
	loops map[string]string   // by node id
	steps int64
}

// newPlay makes a run with nodes that are pending, each "id" or "id<need,need".
func newPlay(t testing.TB, s *timeline.Store, id string, files *files.WorkingCopy, nodes ...string) *play {
	t.Helper()
	p := &play{t: t, store: s, files: files, needs: make(map[string][]string), loops: make(map[string]string)}
	changes := []snapshot.Change{input(`{"ticket":"T-1"}`)}
	for _, spec := range nodes {
		id, needs, has := strings.Cut(spec, "<")
		if has {
			p.needs[id] = strings.Split(needs, ",")
		}
		changes = append(changes, p.node(id, 0, snapshot.NodePending))
	}
	row := snapshot.Run{
		ID: id, Workflow: "triage", WorkflowPath: "triage.yaml", Status: snapshot.RunRunning, StartedAtMs: new(int64(1)),
	}
	draft := p.draft("started", changes)
	draft.Workflow = &snapshot.Workflow{Definition: []byte("name: triage\n")}
	var err error
	p.head, err = s.Create(context.Background(), row, draft)
	require.NoError(t, err)
	return p
}

// in goes on with a run that is there.
func (p *play) in(run string) *play {
	p.t.Helper()
	next := *p
	var err error
	next.head, err = p.store.Head(context.Background(), run)
	require.NoError(p.t, err)
	return &next
}

func (p *play) draft(subject string, changes []snapshot.Change) snapshot.Draft {
	p.t.Helper()
	d := snapshot.Draft{}
	if p.files != nil {
		d = shot(p.t, p.files, subject)
	}
	p.steps++
	d.Frame, d.Subject = &snapshot.FrameDraft{Rendered: json.RawMessage(tree(int(p.steps)))}, subject
	for _, c := range changes {
		switch c.Collection {
		case snapshot.CollectionAttempts, snapshot.CollectionLogs:
			d.Journal = append(d.Journal, c)
		default:
			d.Frame.State = append(d.Frame.State, c)
		}
	}
	return d
}

// step appends a frame.
func (p *play) step(subject string, changes ...[]snapshot.Change) {
	p.t.Helper()
	var all []snapshot.Change
	for _, c := range changes {
		all = append(all, c...)
	}
	require.NoError(p.t, p.head.Append(context.Background(), p.draft(subject, all)))
}

// arrive appends an entry that is no frame.
func (p *play) arrive(subject string, changes ...snapshot.Change) {
	p.t.Helper()
	require.NoError(p.t, p.head.Append(context.Background(), snapshot.Draft{Subject: subject, Mailbox: changes}))
}

// become gives the run a status.
func (p *play) become(status snapshot.RunStatus) {
	p.t.Helper()
	require.NoError(p.t, p.head.Append(context.Background(), snapshot.Draft{Subject: string(status), Run: func(row *snapshot.Run) {
		row.Status = status
		if status.Ended() {
			row.FinishedAtMs = new(int64(99))
		}
		if status == snapshot.RunFailed {
			row.Error = "c: it broke"
		}
	}}))
}

func (p *play) node(id string, iteration int, state snapshot.NodeState, last ...int) snapshot.Change {
	n := snapshot.Node{NodeID: id, Iteration: iteration, State: state, OutputTable: "results", Needs: p.needs[id]}
	if loop, ok := p.loops[id]; ok {
		n.RalphID = &loop
	}
	if len(last) > 0 {
		n.LastAttempt = &last[0]
	}
	row := snapshot.EncodeNode(n)
	return snapshot.Change{Op: snapshot.OpSet, Collection: snapshot.CollectionNodes, Key: row.Key, Value: row.Value}
}

// starts is an attempt, "node::iteration::attempt", that starts, and where it is.
func (p *play) starts(key string, in ...snapshot.NodeState) []snapshot.Change {
	p.t.Helper()
	id, iteration, number, err := snapshot.SplitAttemptKey(key)
	require.NoError(p.t, err)
	state := append(in, snapshot.NodeInProgress)[0]
	a := snapshot.Attempt{NodeID: id, Iteration: iteration, Attempt: number, State: string(state), StartedAtMs: p.steps}
	return []snapshot.Change{p.node(id, iteration, state, number), setAttempt(a)}
}

// finishes is an attempt that ends well, with an output.
func (p *play) finishes(key, value string) []snapshot.Change {
	p.t.Helper()
	a := p.attempt(key)
	a.State, a.FinishedAtMs, a.ExitStatus = snapshot.AttemptFinished, &p.steps, new(int)
	return []snapshot.Change{
		p.node(a.NodeID, a.Iteration, snapshot.NodeFinished, a.Attempt), setAttempt(a),
		{Op: snapshot.OpSet, Collection: snapshot.OutputCollection("results"), Key: snapshot.Key(a.NodeID, a.Iteration), Value: json.RawMessage(value)},
	}
}

// fails is an attempt that ends badly, and its node's state after it.
func (p *play) fails(key, why string, then snapshot.NodeState) []snapshot.Change {
	p.t.Helper()
	a := p.attempt(key)
	a.State, a.FinishedAtMs, a.ExitStatus, a.Error = snapshot.AttemptFailed, &p.steps, new(1), why
	return []snapshot.Change{p.node(a.NodeID, a.Iteration, then, a.Attempt), setAttempt(a)}
}

// run starts and finishes attempts, one after the other, with two frames each.
func (p *play) run(keys ...string) {
	p.t.Helper()
	for _, key := range keys {
		p.step(key+" started", p.starts(key))
		p.step(key+" finished", p.finishes(key, `{"of":"`+key+`"}`))
	}
}

// loop is the loop in which nodes of a play may be.
func (p *play) loop(iteration int, done bool) []snapshot.Change {
	row := snapshot.EncodeLoop(snapshot.Loop{RalphID: "mend", Iteration: iteration, Done: done})
	return []snapshot.Change{{Op: snapshot.OpSet, Collection: snapshot.CollectionLoops, Key: row.Key, Value: row.Value}}
}

// attempt reads an attempt of the journal.
func (p *play) attempt(key string) snapshot.Attempt {
	p.t.Helper()
	attempts, err := p.head.Entry().Attempts()
	require.NoError(p.t, err)
	value, ok, err := attempts.Get(key)
	require.NoError(p.t, err)
	require.True(p.t, ok, key)
	a, err := snapshot.DecodeAttempt(page.Row{Key: key, Value: value})
	require.NoError(p.t, err)
	return a
}

func setAttempt(a snapshot.Attempt) snapshot.Change {
	row := snapshot.EncodeAttempt(a)
	return snapshot.Change{Op: snapshot.OpSet, Collection: snapshot.CollectionAttempts, Key: row.Key, Value: row.Value}
}

// rowsOf are the rows of a collection.
func rowsOf(t testing.TB, c *page.Collection, err error) map[string]string {
	t.Helper()
	require.NoError(t, err)
	out := make(map[string]string)
	for row, err := range c.Rows() {
		require.NoError(t, err)
		out[row.Key] = string(row.Value)
	}
	return out
}

// attemptsAt are the states of the attempts at an address, with the codes of their errors.
func attemptsAt(t testing.TB, s *timeline.Store, address string) map[string]string {
	t.Helper()
	out := make(map[string]string)
	attempts, err := entryAt(t, s, address).Attempts()
	for key, value := range rowsOf(t, attempts, err) {
		a, err := snapshot.DecodeAttempt(page.Row{Key: key, Value: []byte(value)})
		require.NoError(t, err)
		out[key] = a.State
		if code, _, ok := strings.Cut(a.Error, ":"); ok {
			out[key] += " " + code
		}
	}
	return out
}

func entryAt(t testing.TB, s *timeline.Store, address string) *snapshot.Entry {
	t.Helper()
	loaded, err := s.Load(context.Background(), address)
	require.NoError(t, err)
	return loaded.Entry
}

func stateAt(t testing.TB, s *timeline.Store, address string) *snapshot.State {
	t.Helper()
	state, err := entryAt(t, s, address).State()
	require.NoError(t, err)
	return state
}

func rowAt(t testing.TB, s *timeline.Store, run string) snapshot.Run {
	t.Helper()
	row, err := entryAt(t, s, run).RunRow()
	require.NoError(t, err)
	return row
}

// travel goes back to before an attempt, "node::iteration::attempt", and leaves files alone.
func travelTo(t testing.TB, s *timeline.Store, run, key string) *travel.Result {
	t.Helper()
	id, iteration, number, err := snapshot.SplitAttemptKey(key)
	require.NoError(t, err)
	done, err := travel.Travel(context.Background(), s, travel.Request{
		Run: run, Node: id, Iteration: iteration, Attempt: number, NoFiles: true,
	})
	require.NoError(t, err)
	return done
}

func undo(t testing.TB, s *timeline.Store, run string) *travel.Result {
	t.Helper()
	done, err := travel.Undo(context.Background(), s, travel.UndoRequest{Run: run})
	require.NoError(t, err)
	return done
}

// objectsOf adds what both add.
func objectsOf(a, b func(objstore.Writer) error) func(objstore.Writer) error {
	return func(w objstore.Writer) error {
		if err := a(w); err != nil {
			return err
		}
		return b(w)
	}
}

// requireUnclaimed finds no trace of a claim of any run.
func requireUnclaimed(t testing.TB, repo *repotest.Repo) {
	t.Helper()
	for _, run := range []string{"run", "first", "child"} {
		entries, err := os.ReadDir(filepath.Join(repo.GitDir, "smithers", "claims", run))
		require.True(t, err == nil || errors.Is(err, fs.ErrNotExist), "%v", err)
		require.Empty(t, entries)
	}
}
