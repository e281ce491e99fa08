package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/git-smithers/git-smithers/internal/engine"
	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/internal/objstore/objstoretest"
	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

var _ engine.Recorder = (*timeline.Head)(nil)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// history is one run's entries in memory: real objects, no repository. Several
// recorders may append to it, each on the tip that it knows.
type history struct {
	mu      sync.Mutex
	objects objstoretest.Memory
	frames  *snapshot.FrameCache
	entries []*snapshot.Entry // from the run's first
	// refuse may fail an append instead of making it.
	refuse func(snapshot.Draft) error
	// before is called before an append; nil: nothing is.
	before func(snapshot.Draft)
}

func (h *history) tip() *snapshot.Entry {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.entries[len(h.entries)-1]
}

// recorder is an engine.Recorder on a history.
type recorder struct {
	history *history
	entry   *snapshot.Entry
	row     snapshot.Run
	state   *snapshot.State
}

// open is a recorder on the tip.
func (h *history) open(t *testing.T) *recorder {
	t.Helper()
	r := &recorder{history: h}
	require.NoError(t, r.adopt(h.tip()))
	return r
}

func (r *recorder) Entry() *snapshot.Entry { return r.entry }
func (r *recorder) Row() snapshot.Run      { return r.row }
func (r *recorder) State() *snapshot.State { return r.state }

func (r *recorder) Reveal(_ snapshot.Place, text []byte) ([]byte, error) { return text, nil }

func (r *recorder) Stored(c snapshot.Change) (snapshot.Change, error) { return c, nil }

func (r *recorder) Refresh(context.Context) error { return r.adopt(r.history.tip()) }

func (r *recorder) adopt(entry *snapshot.Entry) error {
	row, err := entry.RunRow()
	if err != nil {
		return err
	}
	state, err := entry.State()
	if err != nil {
		return err
	}
	r.entry, r.row, r.state = entry, row, state
	return nil
}

func (r *recorder) Append(ctx context.Context, d snapshot.Draft) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	h := r.history
	if h.before != nil {
		h.before(d)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if n := len(h.entries); n > 0 && h.entries[n-1] != r.entry {
		return fault.New(fault.Conflict, "the tip has moved")
	}
	if h.refuse != nil {
		if err := h.refuse(d); err != nil {
			return err
		}
	}
	if d.Frame != nil {
		silent := *d.Frame
		silent.Silent, d.Frame = true, &silent
	}
	next, err := snapshot.Append(&h.objects, h.frames, r.entry, d)
	if err != nil {
		return err
	}
	h.entries = append(h.entries, next)
	return r.adopt(next)
}

func (r *recorder) Update(ctx context.Context, build func() (*snapshot.Draft, error)) error {
	for {
		d, err := build()
		if err != nil || d == nil {
			return err
		}
		if err := r.Append(ctx, *d); fault.CodeOf(err) != fault.Conflict || err == nil {
			return err
		}
		if err := r.Refresh(ctx); err != nil {
			return err
		}
	}
}

// scratch is a folder that commands run in, a run, and the options to run it with.
type scratch struct {
	*history
	t    *testing.T
	dir  string
	wf   *workflow.Workflow
	opts engine.Options
}

// newScratch makes a run of the workflow, at frame 0. input is JSON, "" for none.
func newScratch(t *testing.T, workflow, input string) *scratch {
	t.Helper()
	s := &scratch{t: t, dir: t.TempDir(), wf: parse(t, workflow)}
	var ms atomic.Int64
	ms.Store(1_700_000_000_000)
	s.opts = engine.Options{
		Now:     func() time.Time { return time.UnixMilli(ms.Add(1)) },
		WorkDir: s.dir,
		Env:     os.Environ(),
		Grace:   200 * time.Millisecond,
	}
	var raw json.RawMessage
	if input != "" {
		raw = json.RawMessage(input)
	}
	d, err := engine.Initial("r", s.wf, raw, s.opts.Now())
	require.NoError(t, err)
	edit := d.Run
	d.Run = func(row *snapshot.Run) {
		row.ID, row.CreatedAtMs = "r", d.AtMs
		edit(row)
	}
	s.history = &history{frames: snapshot.NewFrameCache(16)}
	require.NoError(t, (&recorder{history: s.history}).Append(t.Context(), d))
	return s
}

func parse(t *testing.T, file string) *workflow.Workflow {
	t.Helper()
	wf, err := workflow.Parse("wf.yaml", []byte(file))
	require.NoError(t, err)
	return wf
}

// run runs what is left, with a deadline far beyond what any test takes.
func (s *scratch) run() (engine.Result, error) {
	s.t.Helper()
	return s.runWithin(s.t.Context())
}

func (s *scratch) runWithin(ctx context.Context) (engine.Result, error) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return engine.RunParsed(ctx, s.open(s.t), s.wf, s.opts)
}

// file writes a file into the folder; scripts are executable.
func (s *scratch) file(name, content string) {
	s.t.Helper()
	require.NoError(s.t, os.WriteFile(filepath.Join(s.dir, name), []byte(content), 0o755))
}

// read reads a file of the folder, "" when there is none.
func (s *scratch) read(name string) string {
	s.t.Helper()
	data, err := os.ReadFile(filepath.Join(s.dir, name))
	if errors.Is(err, os.ErrNotExist) {
		return ""
	}
	require.NoError(s.t, err)
	return string(data)
}

// subjects are the subject lines of all entries after the first.
func (s *scratch) subjects() []string {
	var out []string
	for _, e := range s.entries[1:] {
		out = append(out, e.Subject)
	}
	return out
}

// states are the nodes at the tip and the state of each.
func (s *scratch) states() map[string]snapshot.NodeState {
	s.t.Helper()
	return statesOf(s.t, s.tip())
}

func statesOf(t *testing.T, e *snapshot.Entry) map[string]snapshot.NodeState {
	t.Helper()
	state, err := e.State()
	require.NoError(t, err)
	out := make(map[string]snapshot.NodeState)
	for row, err := range state.Nodes().Rows() {
		require.NoError(t, err)
		n, err := snapshot.DecodeNode(row)
		require.NoError(t, err)
		out[row.Key] = n.State
	}
	return out
}

// outputs are the rows of a table at the tip.
func (s *scratch) outputs(table string) map[string]string {
	s.t.Helper()
	state, err := s.tip().State()
	require.NoError(s.t, err)
	out := make(map[string]string)
	for row, err := range state.Outputs(table).Rows() {
		require.NoError(s.t, err)
		out[row.Key] = string(row.Value)
	}
	return out
}

// attempts are the attempts at the tip by their keys.
func (s *scratch) attempts() map[string]snapshot.Attempt {
	s.t.Helper()
	rows, err := s.tip().Attempts()
	require.NoError(s.t, err)
	out := make(map[string]snapshot.Attempt)
	for row, err := range rows.Rows() {
		require.NoError(s.t, err)
		a, err := snapshot.DecodeAttempt(row)
		require.NoError(s.t, err)
		out[row.Key] = a
	}
	return out
}

// log is the log of an attempt at the tip.
func (s *scratch) log(key string) string {
	s.t.Helper()
	rows, err := s.tip().Logs()
	require.NoError(s.t, err)
	value, ok, err := rows.Get(key)
	require.NoError(s.t, err)
	if !ok {
		return ""
	}
	text, err := snapshot.DecodeLog(page.Row{Key: key, Value: value})
	require.NoError(s.t, err)
	return text
}

// events are the types of all events of the run, in order.
func (s *scratch) events() []string {
	s.t.Helper()
	var out []string
	for _, e := range s.entries {
		events, err := e.Events()
		require.NoError(s.t, err)
		for _, event := range events {
			out = append(out, event.Type)
		}
	}
	return out
}

// fails asserts that err has the code, and returns its message.
func fails(t *testing.T, code fault.Code, err error) string {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, code, fault.CodeOf(err), "%v", err)
	return err.Error()
}

func (s *scratch) tipRow() snapshot.Run {
	s.t.Helper()
	row, err := s.tip().RunRow()
	require.NoError(s.t, err)
	return row
}

// node is a node at the tip.
func (s *scratch) node(key string) snapshot.Node {
	s.t.Helper()
	state, err := s.tip().State()
	require.NoError(s.t, err)
	value, ok, err := state.Nodes().Get(key)
	require.NoError(s.t, err)
	require.True(s.t, ok, key)
	n, err := snapshot.DecodeNode(page.Row{Key: key, Value: value})
	require.NoError(s.t, err)
	return n
}

// loop is a loop at the tip.
func (s *scratch) loop(id string) snapshot.Loop {
	s.t.Helper()
	state, err := s.tip().State()
	require.NoError(s.t, err)
	value, ok, err := state.Loops().Get(id)
	require.NoError(s.t, err)
	require.True(s.t, ok, id)
	l, err := snapshot.DecodeLoop(page.Row{Key: id, Value: value})
	require.NoError(s.t, err)
	return l
}

// fifo makes named pipes in the folder: scripts wait on them.
func (s *scratch) fifo(names ...string) {
	s.t.Helper()
	for _, name := range names {
		require.NoError(s.t, syscall.Mkfifo(filepath.Join(s.dir, name), 0o600))
	}
}

// gone asserts that the process whose id is in the file has ended.
func (s *scratch) gone(name string) {
	s.t.Helper()
	pid, err := strconv.Atoi(strings.TrimSpace(s.read(name)))
	require.NoError(s.t, err)
	assert.Eventually(s.t, func() bool {
		state, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if err != nil {
			return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
		}
		return strings.Contains(string(state), ") Z ") // a zombie is only waiting for its parent
	}, 10*time.Second, time.Millisecond)
}
