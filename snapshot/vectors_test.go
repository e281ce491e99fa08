package snapshot_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/objstore/objstoretest"
	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/internal/snapshot/reset"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

var update = flag.Bool("update", false, "rewrite the ids and objects in testdata/vectors")

// ownAfterAnother is the vector of a file whose frame has an event of its own after the lines.
const ownAfterAnother = `{"seq":3,"timestampMs":1,"type":"A"}` + "\n"

func vectorFile(hash objstore.Algorithm, name string) string {
	folder := filepath.Join("..", "testdata", "vectors")
	if hash == objstore.SHA256 {
		folder = filepath.Join(folder, "sha256")
	}
	return filepath.Join(folder, name+".txtar")
}

// eachHash runs a test with the vectors of each hash.
func eachHash(t *testing.T, test func(*testing.T, objstore.Algorithm)) {
	t.Helper()
	for _, hash := range []objstore.Algorithm{objstore.SHA1, objstore.SHA256} {
		t.Run(hash.String(), func(t *testing.T) {
			t.Parallel()
			test(t, hash)
		})
	}
}

// TestFileVectors runs every file of the vectors through what reads it. The first
// part of a file's name says what must come of it; what is accepted must have the
// id that the archive's ids give.
func TestFileVectors(t *testing.T) {
	t.Parallel()
	eachHash(t, testFileVectors)
}

func testFileVectors(t *testing.T, hash objstore.Algorithm) {
	t.Helper()
	for _, tc := range []struct {
		name string
		kind objstore.Kind
		// read reads data, stored as the object id in m.
		read func(t *testing.T, m *objstoretest.Memory, id objstore.ID, data []byte) error
	}{
		{"commit", objstore.Commit, func(_ *testing.T, m *objstoretest.Memory, id objstore.ID, data []byte) error {
			if _, err := snapshot.DecodeHeader(id, data); err != nil {
				return err
			}
			_, err := snapshot.ReadEntry(m, id)
			return err
		}},
		{"run", objstore.Blob, readPart("run.json", func(_ objstore.Reader, e *snapshot.Entry) error {
			_, err := e.RunRow()
			return err
		})},
		{"vcs", objstore.Blob, readVCS},
		{"events", objstore.Blob, readEvents},
		{"frame", objstore.Blob, readPart("frame", func(r objstore.Reader, e *snapshot.Entry) error {
			_, err := snapshot.NewFrameCache(4).Rendered(r, e)
			return err
		})},
		{"node", objstore.Blob, readRow(decoding(snapshot.DecodeNode))},
		{"loop", objstore.Blob, readRow(decoding(snapshot.DecodeLoop))},
		{"approval", objstore.Blob, readRow(decoding(snapshot.DecodeApproval))},
		{"humanrequest", objstore.Blob, readRow(decoding(snapshot.DecodeHumanRequest))},
		{"signal", objstore.Blob, readRow(decoding(snapshot.DecodeSignal))},
		{"wait", objstore.Blob, readRow(decoding(snapshot.DecodeWait))},
		{"attempt", objstore.Blob, readRow(decoding(snapshot.DecodeAttempt))},
		{"toolcall", objstore.Blob, readRow(decoding(snapshot.DecodeToolCall))},
		{"score", objstore.Blob, readRow(decoding(snapshot.DecodeScore))},
		{"log", objstore.Blob, readRow(decoding(snapshot.DecodeLog))},
		{"op", objstore.Blob, readRow(decoding(snapshot.DecodeOp))},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(vectorFile(hash, tc.name))
			require.NoError(t, err)
			m := &objstoretest.Memory{Algorithm: hash}
			var ids strings.Builder
			for _, f := range archive.Files {
				if f.Name == "ids" {
					continue
				}
				id := m.Add(tc.kind, f.Data)
				if name, ok := strings.CutPrefix(f.Name, "ok/"); ok {
					fmt.Fprintf(&ids, "%v %s\n", id, name)
				}
			}
			for _, f := range archive.Files {
				expect, _, found := strings.Cut(f.Name, "/")
				if !found {
					continue
				}
				err := tc.read(t, m, hash.ID(tc.kind, f.Data), f.Data)
				switch expect {
				case "ok":
					assert.NoError(t, err, f.Name)
				case "corrupt":
					assert.ErrorIs(t, err, objstore.ErrCorrupt, f.Name)
				case "older":
					assert.ErrorIs(t, err, snapshot.ErrOlderFormat, f.Name)
				case "newer":
					assert.ErrorIs(t, err, snapshot.ErrNewerFormat, f.Name)
				case "missing":
					assert.ErrorIs(t, err, objstore.ErrNotFound, f.Name)
				default:
					assert.Fail(t, "unknown expectation", f.Name)
				}
			}
			compareFile(t, vectorFile(hash, tc.name), archive, "ids", ids.String())
		})
	}
}

// compareFile compares a file of an archive, or rewrites it with -update.
func compareFile(t *testing.T, path string, archive *txtar.Archive, name, got string) {
	t.Helper()
	i := slices.IndexFunc(archive.Files, func(f txtar.File) bool { return f.Name == name })
	if *update {
		if i < 0 {
			archive.Files = append(archive.Files, txtar.File{Name: name})
			i = len(archive.Files) - 1
		}
		archive.Files[i].Data = []byte(got)
		require.NoError(t, os.WriteFile(path, txtar.Format(archive), 0o644))
		return
	}
	require.GreaterOrEqual(t, i, 0, "%s has no %s", path, name)
	assert.Equal(t, string(archive.Files[i].Data), got)
}

// readPart puts data into an entry of run "r", frame 1, under a name, and reads that part.
func readPart(name string, read func(objstore.Reader, *snapshot.Entry) error) func(*testing.T, *objstoretest.Memory, objstore.ID, []byte) error {
	return func(_ *testing.T, m *objstoretest.Memory, id objstore.ID, _ []byte) error {
		tree := m.Add(objstore.Tree, objstore.EncodeTree([]objstore.TreeEntry{{Name: name, Mode: objstore.ModeFile, ID: id}}))
		e, err := snapshot.ReadEntry(m, m.Add(objstore.Commit, snapshot.EncodeHeader(snapshot.Header{Run: "r", Frame: 1, Newest: 1, Tree: tree})))
		if err != nil {
			return err
		}
		return read(m, e)
	}
}

// readEvents reads data as the events of a frame. Its first line and its last say which events there are: see the head of
// the vectors.
func readEvents(t *testing.T, m *objstoretest.Memory, id objstore.ID, data []byte) error {
	t.Helper()
	header := snapshot.Header{Run: "r", Frame: 1, Newest: 1, AtMs: 1, ContentHash: snapshot.EmptyState().ContentHash()}
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	var last struct{ Seq int64 }
	if json.Unmarshal([]byte(lines[len(lines)-1]), &last) == nil {
		header.NextSeq = last.Seq + 1
	}
	if string(data) == ownAfterAnother {
		header.NextSeq++
	}
	header.Tree = m.Add(objstore.Tree, objstore.EncodeTree([]objstore.TreeEntry{{Name: "events", Mode: objstore.ModeFile, ID: id}}))
	e, err := snapshot.ReadEntry(m, m.Add(objstore.Commit, snapshot.EncodeHeader(header)))
	if err != nil {
		return err
	}
	_, err = e.Events()
	return err
}

// readVCS reads data as the vcs.json of an entry that has the trees which it names.
func readVCS(_ *testing.T, m *objstoretest.Memory, id objstore.ID, data []byte) error {
	var vcs snapshot.VCS
	_ = json.Unmarshal(data, &vcs) // what is not JSON names no trees
	parts := []objstore.TreeEntry{{Name: "vcs.json", Mode: objstore.ModeFile, ID: id}}
	if !vcs.Tree.IsZero() {
		parts = append(parts, objstore.TreeEntry{Name: "worktree", Mode: objstore.ModeTree, ID: vcs.Tree})
	}
	var worktrees []objstore.TreeEntry
	for _, w := range vcs.Worktrees {
		if !w.Tree.IsZero() {
			worktrees = append(worktrees, objstore.TreeEntry{Name: strings.ReplaceAll(w.Name, " ", "%20"), Mode: objstore.ModeTree, ID: w.Tree})
		}
	}
	if worktrees != nil {
		parts = append(parts, objstore.TreeEntry{Name: "worktrees", Mode: objstore.ModeTree, ID: m.Add(objstore.Tree, objstore.EncodeTree(worktrees))})
	}
	header := snapshot.Header{Run: "r", Frame: 1, Newest: 1, Tree: m.Add(objstore.Tree, objstore.EncodeTree(parts))}
	e, err := snapshot.ReadEntry(m, m.Add(objstore.Commit, snapshot.EncodeHeader(header)))
	if err != nil {
		return err
	}
	_, err = e.VCSRevision()
	return err
}

// readRow reads a line of a page: ["<key>",<value>].
func readRow(read func(page.Row) error) func(*testing.T, *objstoretest.Memory, objstore.ID, []byte) error {
	return func(t *testing.T, _ *objstoretest.Memory, _ objstore.ID, data []byte) error {
		t.Helper()
		var parts []json.RawMessage
		require.NoError(t, json.Unmarshal(data, &parts))
		require.Len(t, parts, 2)
		var key string
		require.NoError(t, json.Unmarshal(parts[0], &key))
		return read(page.Row{Key: key, Value: parts[1]})
	}
}

// decoding is a decoder of which only the error is wanted.
func decoding[T any](decode func(page.Row) (T, error)) func(page.Row) error {
	return func(row page.Row) error {
		_, err := decode(row)
		return err
	}
}

// recorder remembers what was written, in order.
type recorder struct {
	objstoretest.Memory
	order []objstore.ID
	seen  map[objstore.ID]bool
}

func (r *recorder) Add(kind objstore.Kind, data []byte) objstore.ID {
	id := r.Memory.Add(kind, data)
	if !r.seen[id] {
		r.seen[id] = true
		r.order = append(r.order, id)
	}
	return id
}

// TestHistoryVector writes the reference history, and reads the one in the vector:
// both must be the same objects.
func TestHistoryVector(t *testing.T) {
	t.Parallel()
	eachHash(t, testHistoryVector)
}

func testHistoryVector(t *testing.T, hash objstore.Algorithm) {
	t.Helper()
	written := &recorder{Memory: objstoretest.Memory{Algorithm: hash}, seen: make(map[objstore.ID]bool)}
	entries := referenceHistory(t, written)
	var summary strings.Builder
	for _, e := range entries {
		frame := "-"
		if e.Frame != snapshot.NoFrame {
			frame = strconv.FormatInt(e.Frame, 10)
		}
		fmt.Fprintf(&summary, "%v %s %s %v\n", e.ID, e.Run, frame, e.ContentHash)
	}
	archive, err := txtar.ParseFile(vectorFile(hash, "history"))
	require.NoError(t, err)
	if *update {
		archive.Files = []txtar.File{{Name: "entries", Data: []byte(summary.String())}}
		for _, id := range written.order {
			kind, data, err := written.Get(id)
			require.NoError(t, err)
			archive.Files = append(archive.Files, objectFile(t, id, kind, data))
		}
		require.NoError(t, os.WriteFile(vectorFile(hash, "history"), txtar.Format(archive), 0o644))
	}
	require.Equal(t, "entries", archive.Files[0].Name)
	assert.Equal(t, string(archive.Files[0].Data), summary.String())
	require.Len(t, archive.Files[1:], len(written.order))

	read := &objstoretest.Memory{Algorithm: hash}
	for i, f := range archive.Files[1:] {
		kind, data := parseObject(t, f)
		id := read.Add(kind, data)
		assert.True(t, strings.HasPrefix(f.Name, id.String()), "%s is really %v", f.Name, id)
		assert.Equal(t, written.order[i], id)
	}
	for _, e := range entries {
		again, err := snapshot.ReadEntry(read, e.ID)
		require.NoError(t, err)
		require.NoError(t, readAll(read, again))
		requireSame(t, e, again)
	}
}

// objectFile is an object as a file of an archive: a tree as git ls-tree shows it,
// bytes that are no lines of text in hex.
func objectFile(t *testing.T, id objstore.ID, kind objstore.Kind, data []byte) txtar.File {
	t.Helper()
	name := id.String() + " " + kind.String()
	if kind == objstore.Tree {
		entries, err := objstore.DecodeTree(id, data)
		require.NoError(t, err)
		var text strings.Builder
		for _, e := range entries {
			of := objstore.Blob
			if e.Mode == objstore.ModeTree {
				of = objstore.Tree
			}
			fmt.Fprintf(&text, "%06o %v %v\t%s\n", uint32(e.Mode), of, e.ID, e.Name)
		}
		return txtar.File{Name: name, Data: []byte(text.String())}
	}
	if !bytes.HasSuffix(data, []byte("\n")) || !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0 {
		return txtar.File{Name: name + " hex", Data: []byte(hex.EncodeToString(data) + "\n")}
	}
	return txtar.File{Name: name, Data: data}
}

func parseObject(t *testing.T, f txtar.File) (objstore.Kind, []byte) {
	t.Helper()
	words := strings.Fields(f.Name)
	if len(words) == 3 {
		data, err := hex.DecodeString(strings.TrimSpace(string(f.Data)))
		require.NoError(t, err)
		return objstore.Blob, data
	}
	switch words[1] {
	case "blob":
		return objstore.Blob, f.Data
	case "commit":
		return objstore.Commit, f.Data
	}
	var entries []objstore.TreeEntry
	for line := range strings.Lines(string(f.Data)) {
		var e objstore.TreeEntry
		var mode uint32
		var kind, id string
		_, err := fmt.Sscanf(line, "%o %s %s\t%s\n", &mode, &kind, &id, &e.Name)
		require.NoError(t, err)
		e.Mode = objstore.Mode(mode)
		e.ID, err = objstore.ParseID(id)
		require.NoError(t, err)
		entries = append(entries, e)
	}
	return objstore.Tree, objstore.EncodeTree(entries)
}

// addFiles adds a captured working copy and returns its tree.
func addFiles(w objstore.Writer) objstore.ID {
	sources := w.Add(objstore.Tree, objstore.EncodeTree([]objstore.TreeEntry{
		{Name: "run.sh", Mode: objstore.ModeExecutable, ID: w.Add(objstore.Blob, []byte("#!/bin/sh\n"))},
	}))
	return w.Add(objstore.Tree, objstore.EncodeTree([]objstore.TreeEntry{
		{Name: "README", Mode: objstore.ModeFile, ID: w.Add(objstore.Blob, []byte("Read me.\n"))},
		{Name: "src", Mode: objstore.ModeTree, ID: sources},
	}))
}

// referenceHistory is a run of two frames, a signal, and a travel back to frame 0, a
// fork of its frame 1 with another input and a node reset, one that took over what
// came after frame 1, and another entry of the first fork, in which an engine keeps what it needs.
func referenceHistory(t *testing.T, w objstore.Writer) []*snapshot.Entry {
	t.Helper()
	commit := strings.Repeat("0123456789abcdef", 4)[:2*objstore.HashOf(w).Size()]
	rendered := func(state string) json.RawMessage {
		return json.RawMessage(element("smithers:workflow", `"name":"triage"`,
			element("smithers:task", `"id":"analyze","state":"`+state+`"`, text("Read the ticket and say what it is about.")),
			element("smithers:loop", `"id":"review"`, element("smithers:task", `"id":"check","state":"pending"`))))
	}
	analyze := snapshot.Node{NodeID: "analyze", State: snapshot.NodePending, OutputTable: "analysis"}
	check := snapshot.Node{NodeID: "check", State: snapshot.NodePending, OutputTable: "verdict", Needs: []string{"analyze"}, RalphID: new("review"), Label: new("Check it")}
	finished := analyze
	finished.State, finished.LastAttempt = snapshot.NodeFinished, new(1)
	waiting := check
	waiting.State, waiting.LastAttempt = snapshot.NodeWaitingApproval, new(1)
	captured := &snapshot.VCS{
		Type: snapshot.VCSGit, CommitID: commit, Branch: "main",
		Tree: addFiles(&objstoretest.Memory{Algorithm: objstore.HashOf(w)}), Scope: snapshot.ScopeAll,
		LeftOut: []snapshot.LeftOut{{Path: "video\xff.mp4", Reason: snapshot.LeftTooLarge, Bytes: 1 << 30}},
		Worktrees: []snapshot.Worktree{{Name: "check it", VCS: snapshot.VCS{
			Type: snapshot.VCSGit, Root: ".worktrees/check", Tree: objstore.HashOf(w).EmptyTree(), Scope: snapshot.ScopeAll,
		}}},
	}
	attempt := snapshot.Attempt{
		NodeID: "analyze", Attempt: 1, State: snapshot.AttemptFinished, StartedAtMs: someTime, FinishedAtMs: new(someTime + 1000), ExitStatus: new(0),
		CommitID: captured.CommitID, Tree: captured.Tree, Frame: new(int64(1)),
	}
	frames := snapshot.NewFrameCache(8)
	var entries []*snapshot.Entry
	add := func(prev *snapshot.Entry, draft snapshot.Draft) *snapshot.Entry {
		draft.AtMs = someTime + int64(len(entries))*1500
		e, err := snapshot.Append(w, frames, prev, draft)
		require.NoError(t, err)
		entries = append(entries, e)
		return e
	}
	first := add(nil, snapshot.Draft{
		Frame: &snapshot.FrameDraft{
			State:    []snapshot.Change{node(analyze), node(check), loop(snapshot.Loop{RalphID: "review"}), input(`{"ticket": "T-1", "n": 9007199254740993}`)},
			Rendered: rendered("pending"),
			Silent:   true,
		},
		Subject: "started triage", Base: objstore.HashOf(w).ID(objstore.Commit, []byte("of the user's")),
		Events: []snapshot.Event{{Type: "RunStarted", AtMs: someTime}},
		Run: func(r *snapshot.Run) {
			*r = snapshot.Run{ID: "Triage:1", Workflow: "triage", WorkflowPath: "flows/triage.yaml", Status: snapshot.RunRunning, CreatedAtMs: someTime, StartedAtMs: new(someTime), VCSType: snapshot.VCSGit, VCSRevision: commit}
		},
		VCS:      &snapshot.VCS{Type: snapshot.VCSGit, CommitID: commit, Branch: "main"},
		Workflow: &snapshot.Workflow{Definition: []byte("name: triage\n"), Schemas: map[string]json.RawMessage{"analysis": json.RawMessage(`{"type":"object"}`), "v.1": json.RawMessage(`true`)}},
	})
	parent := add(first, snapshot.Draft{
		Frame: &snapshot.FrameDraft{
			State: []snapshot.Change{
				node(finished), node(waiting), output("analysis", "analyze", `{"severity":"high","summary":"é"}`), output("v.1", "analyze", "[1.0,\n 2]"),
				set(snapshot.CollectionApprovals, snapshot.EncodeApproval(snapshot.Approval{
					NodeID: "check", Attempt: 1, Status: snapshot.ApprovalRequested, Title: "Check it?", Summary: "severity: high", RequestedAtMs: someTime + 1000,
				})),
			},
			Rendered: rendered("finished"),
			Silent:   true,
		},
		Subject: "analyze finished", Operation: "capture/2",
		Journal: []snapshot.Change{
			set(snapshot.CollectionAttempts, snapshot.EncodeAttempt(attempt)), set(snapshot.CollectionLogs, snapshot.EncodeLog("analyze", 0, 1, "reading\ndone\n")),
		},
		VCS:     captured,
		Objects: func(w objstore.Writer) error { addFiles(w); return nil },
		Events:  []snapshot.Event{{Type: "NodeFinished", AtMs: someTime + 1000, Payload: json.RawMessage(`{"nodeId": "analyze", "iteration": 0}`)}},
	})
	sent := snapshot.Signal{Name: "go on", Payload: json.RawMessage(`{ "by": 2.0 }`), ReceivedAtMs: someTime + 2000, ReceivedBy: new("Ada")}
	received := add(parent, snapshot.Draft{
		Subject: "signal: go on", Operation: "signal:" + sent.Digest(),
		Mailbox: []snapshot.Change{set(snapshot.CollectionSignals, snapshot.EncodeSignal(sent))},
		Events:  []snapshot.Event{{Type: "SignalReceived", AtMs: someTime + 2000, Payload: json.RawMessage(`{"runId":"Triage:1","signalName":"go on","correlationId":null}`)}},
	})
	traveled := addTravel(t, add, first, received, attempt)
	state, err := parent.State()
	require.NoError(t, err)
	resets, err := reset.Nodes(state, []string{"analyze"}, false)
	require.NoError(t, err)
	retry := add(parent, snapshot.Draft{
		Frame:   &snapshot.FrameDraft{State: append(resets, input(`{"ticket":"T-2"}`)), Silent: true},
		Subject: "forked from Triage:1:1",
		Run: func(r *snapshot.Run) {
			*r = snapshot.Run{
				ID: "retry", Workflow: r.Workflow, WorkflowPath: r.WorkflowPath, WorkflowHash: r.WorkflowHash, Status: snapshot.RunPending, CreatedAtMs: someTime + 6000,
				Parent: &snapshot.Parent{RunID: "Triage:1", Frame: 1, Commit: parent.ID, Label: "another ticket", AtMs: someTime + 6000},
			}
		},
		Events: []snapshot.Event{{Type: "RunForked", AtMs: someTime + 6000, Payload: json.RawMessage(`{"parentRunId":"Triage:1"}`)}},
	})
	addSplit(t, add, parent, received, traveled)
	add(retry, snapshot.Draft{Subject: "seen by another engine", Ext: &snapshot.ExtDraft{
		Engine: "peer.js",
		Files:  map[string][]byte{"layout": []byte(`{"keys": []}`), "notes/read me": {}},
		Rows: map[string][]page.Change{
			"frames":      {{Key: "0", Value: []byte(`{"frameNo":1}`)}, {Key: "1", Value: []byte("null")}},
			"tables/runs": {{Key: `["retry"]`, Value: []byte(`{ "cost": 1.50 }`)}},
		},
	}})
	return entries
}

// addSplit adds a fork whose frame 0 is frame 1 of its parent, and its frame 1 the parent's
// frame 2, which is the last of the entries given.
func addSplit(t *testing.T, add func(*snapshot.Entry, snapshot.Draft) *snapshot.Entry, from *snapshot.Entry, extension ...*snapshot.Entry) {
	t.Helper()
	at := someTime + 7500
	op := snapshot.EncodeOp(snapshot.Op{Number: 1, Kind: snapshot.OpFork, AtMs: at})
	events := []snapshot.Event{{Type: "RunForked", AtMs: at, Payload: json.RawMessage(`{"parentRunId":"Triage:1"}`)}}
	for _, e := range extension {
		more, err := e.Events()
		require.NoError(t, err)
		events = append(events, more...)
	}
	tip := extension[len(extension)-1]
	add(tip, snapshot.Draft{
		Subject: "split off Triage:1", Events: events, Journal: []snapshot.Change{set(snapshot.CollectionOps, op)},
		Run: func(r *snapshot.Run) {
			r.ID, r.Epoch, r.CreatedAtMs = "Triage:1-side", 0, at
			r.Parent = &snapshot.Parent{RunID: "Triage:1", Frame: 1, Commit: from.ID, Extension: tip.ID, AtMs: at}
		},
	})
}

// addTravel adds the frame that goes back to before analyze started, which is that of first.
func addTravel(
	t *testing.T, add func(*snapshot.Entry, snapshot.Draft) *snapshot.Entry, first, tip *snapshot.Entry, attempt snapshot.Attempt,
) *snapshot.Entry {
	t.Helper()
	then, err := first.State()
	require.NoError(t, err)
	attempt.State, attempt.Error = snapshot.AttemptCancelled, "stepped_over: travel to before analyze"
	op := snapshot.Op{
		Number: 1, Kind: snapshot.OpTravel, AtMs: someTime + 4500, Before: tip.ID, Frame: new(int64(2)), To: new(int64(0)), NodeID: "analyze", Attempt: 1,
	}
	return add(tip, snapshot.Draft{
		Frame: &snapshot.FrameDraft{Restore: then, Based: new(int64(0))}, Subject: "traveled to before analyze",
		Journal: []snapshot.Change{
			set(snapshot.CollectionAttempts, snapshot.EncodeAttempt(attempt)), set(snapshot.CollectionOps, snapshot.EncodeOp(op)),
		},
		Run: func(r *snapshot.Run) { r.Status, r.Epoch = snapshot.RunPending, 1 },
	})
}
