package smithers_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/back/travel"
	"github.com/git-smithers/git-smithers/internal/list"
	"github.com/git-smithers/git-smithers/internal/peer/smithers"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source/sourcetest"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

func TestARunThatGoesOnIsContinued(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	path := filepath.Join(t.TempDir(), "smithers.db")
	engine, err := sourcetest.Begin(t.Context(), copyOf(t, jjFixture), path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, engine.Close()) })
	for frame := range int64(31) {
		require.NoError(t, engine.Frame(t.Context(), "run-j", frame+1))
		if frame%10 != 4 {
			continue
		}
		run := h.take(path)["run-j"]
		require.NoError(t, run.Err)
		assert.Equal(t, frame+1, run.Frame)
		assert.Equal(t, min(frame+1, 10), run.Frames)
	}
	require.NoError(t, engine.End(t.Context(), "run-j"))
	run := h.take(path)["run-j"]
	assert.Equal(t, smithers.OutcomeContinued, run.Outcome)
	assert.Len(t, h.frames("run-j"), 32)
	assert.Equal(t, smithers.OutcomeUnchanged, h.take(path)["run-j"].Outcome)
	h.exact(path)
}

// wentBackTo is a database in which somebody went back to a frame of run-a, and nothing else was done.
func wentBackTo(to int) string {
	return fmt.Sprintf(`
		DELETE FROM _smithers_snapshot_payload_refs WHERE run_id = 'run-a' AND frame_no > %[1]d;
		DELETE FROM _smithers_snapshots WHERE run_id = 'run-a' AND frame_no > %[1]d;
		DELETE FROM _smithers_frames WHERE run_id = 'run-a' AND frame_no > %[1]d;
		UPDATE _smithers_runs SET status = 'running', finished_at_ms = NULL WHERE run_id = 'run-a';
		INSERT INTO _smithers_events SELECT 'run-a', max(seq) + 1, 1795199300000, 'TimeTravelJumped',
			'{"type":"TimeTravelJumped","runId":"run-a","fromFrameNo":31,"toFrameNo":%[1]d,"timestampMs":1795199300000,"caller":"cli"}'
			FROM _smithers_events WHERE run_id = 'run-a'`, to)
}

// again adds a frame of run-a with the contents of another.
func again(no, like int, atMs int64) string {
	return fmt.Sprintf(`
		INSERT INTO _smithers_snapshots SELECT run_id, %[1]d, nodes_json, outputs_json, ralph_json, input_json, vcs_pointer,
			workflow_hash, content_hash, %[3]d FROM _smithers_snapshots WHERE run_id = 'run-a' AND frame_no = %[2]d;
		INSERT INTO _smithers_snapshot_payload_refs SELECT run_id, %[1]d, content_hash FROM _smithers_snapshot_payload_refs
			WHERE run_id = 'run-a' AND frame_no = %[2]d`, no, like, atMs)
}

func TestARewindIsATravelFrameAndTheReusedNumberAnAlias(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	path := copyOf(t, gitFixture)
	h.take(path, "run-a")
	require.NoError(t, sourcetest.Exec(t.Context(), path, wentBackTo(7)))
	run := h.take(path, "run-a")["run-a"]
	require.NoError(t, run.Err)
	assert.True(t, run.Rewound)
	assert.Zero(t, run.Frames)
	assert.Equal(t, int64(32), run.Frame)

	frames := h.frames("run-a")
	assert.Equal(t, []int64{0, 1, 2, 3, 4, 5, 6, 7, 32}, numbers(frames))
	assert.Equal(t, "rewound to 7", frames[8].Subject)
	assert.Equal(t, frames[7].ContentHash, frames[8].ContentHash)
	ops, err := timeline.OpsOf(t.Context(), h.Store, "run-a")
	require.NoError(t, err)
	require.Len(t, ops, 1)
	assert.Equal(t, "travel", ops[0].Kind)
	h.exactRun(path, "run-a")

	require.NoError(t, sourcetest.Exec(t.Context(), path, again(8, 6, 1795199300001)))
	run = h.take(path, "run-a")["run-a"]
	require.NoError(t, run.Err)
	assert.False(t, run.Rewound)
	assert.Equal(t, int64(33), run.Frame)
	assert.Equal(t, h.entry("run-a:33").ID, h.entry("run-a:smithers/8").ID)
	assert.Equal(t, h.entry("run-a:7").ID, h.entry("run-a:smithers/7").ID)
	assert.Equal(t, "verify finished", h.entry("run-a:8").Subject, "what was dropped keeps its number")
	h.exactRun(path, "run-a")
}

func TestASecondRewindToAFrameNamesThatFrame(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	path := copyOf(t, gitFixture)
	h.take(path, "run-a")
	for i, statements := range []string{wentBackTo(7), again(8, 6, 1795199300001), wentBackTo(7)} {
		require.NoError(t, sourcetest.Exec(t.Context(), path, statements))
		run := h.take(path, "run-a")["run-a"]
		require.NoError(t, run.Err)
		assert.Equal(t, i != 1, run.Rewound)
	}
	frames := h.frames("run-a")
	assert.Equal(t, []int64{0, 1, 2, 3, 4, 5, 6, 7, 34}, numbers(frames))
	assert.Equal(t, "rewound to 7", frames[8].Subject)
	assert.Equal(t, frames[7].ContentHash, frames[8].ContentHash)
	assert.Equal(t, int64(7), *h.entry("run-a:34").Based)
	ops, err := timeline.OpsOf(t.Context(), h.Store, "run-a")
	require.NoError(t, err)
	require.Len(t, ops, 2)
	for _, op := range ops {
		assert.Equal(t, int64(7), *op.To)
	}
	h.exactRun(path, "run-a")
}

// exactRun requires that the rows of one run come out as the database has them.
func (h *home) exactRun(path, run string) {
	h.t.Helper()
	to := filepath.Join(h.t.TempDir(), "out.db")
	_, err := smithers.Export(h.t.Context(), h.Store, smithers.ExportRequest{Runs: []string{run}, To: to, Root: fixtureRoot})
	require.NoError(h.t, err)
	want, got := content(h.t, path), content(h.t, to)
	for table := range got {
		if len(query(h.t, to, `SELECT 1 FROM pragma_table_info(?) WHERE name = 'run_id'`, table)) > 0 {
			require.Equal(h.t, of(run, want[table]), of(run, got[table]), table)
		}
	}
}

// of keeps the lines of one run.
func of(run string, lines []string) (out []string) {
	for _, line := range lines {
		if strings.HasPrefix(line, "run_id='"+run+"'") || strings.Contains(line, " run_id='"+run+"'") {
			out = append(out, line)
		}
	}
	return out
}

func numbers(frames []list.FrameInfo) (out []int64) {
	for _, f := range frames {
		out = append(out, f.FrameNo)
	}
	return out
}

func TestARewindAndWhatFollowedInOnePass(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	path := copyOf(t, gitFixture)
	h.take(path, "run-a")
	require.NoError(t, sourcetest.Exec(t.Context(), path,
		wentBackTo(30)+";"+again(31, 6, 1795199300001)+";"+again(32, 7, 1795199300002)))
	run := h.take(path, "run-a")["run-a"]
	require.NoError(t, run.Err)
	assert.True(t, run.Rewound)
	assert.Equal(t, int64(2), run.Frames)
	assert.Equal(t, int64(34), run.Frame)
	assert.Equal(t, []int64{29, 30, 32, 33, 34}, numbers(h.frames("run-a"))[29:])
	h.exactRun(path, "run-a")
	assert.Equal(t, smithers.OutcomeUnchanged, h.take(path, "run-a")["run-a"].Outcome)
}

func TestGoingBackHereDoesNotHideWhatSmithersDoesNext(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	path := copyOf(t, gitFixture)
	h.take(path, "run-a")
	_, err := travel.Travel(t.Context(), h.Store, travel.Request{Run: "run-a", Node: "write", NoFiles: true})
	require.NoError(t, err)
	require.NoError(t, sourcetest.Exec(t.Context(), path, again(32, 30, 1795199300001)))
	run := h.take(path, "run-a")["run-a"]
	require.NoError(t, run.Err)
	assert.Equal(t, int64(33), run.Frame, "32 is the frame by which the run went back here")
	assert.Equal(t, []int64{30, 31, 33}, numbers(h.frames("run-a"))[30:])
	assert.Equal(t, h.entry("run-a:33").ID, h.entry("run-a:smithers/32").ID)
	h.exactRun(path, "run-a")
}

func TestARunThatWasBegunAnewGoesOnFromItsStart(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.take(copyOf(t, gitFixture), "run-a")
	path := copyOf(t, gitFixture, `UPDATE _smithers_snapshots SET created_at_ms = created_at_ms + 1`)
	run := h.take(path, "run-a")["run-a"]
	require.NoError(t, run.Err)
	assert.True(t, run.Rewound, "none of the frames is there any more")
	assert.Equal(t, "rewound to 0", h.entry("run-a:32").Subject)
	assert.Len(t, h.frames("run-a"), 1+1+31)
	h.exactRun(path, "run-a")
}

func TestAnotherRunOfTheSameIDIsRefused(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	_, err := h.Create(t.Context(), snapshot.Run{ID: "run-a", Workflow: "mine", Status: snapshot.RunRunning}, snapshot.Draft{})
	require.NoError(t, err)
	before := h.repo.Git("rev-parse", "refs/smithers/_tip/run-a")
	runs := h.take(copyOf(t, gitFixture))
	assert.Equal(t, fault.RunExists, fault.CodeOf(runs["run-a"].Err))
	assert.Equal(t, before, h.repo.Git("rev-parse", "refs/smithers/_tip/run-a"))
	assert.Equal(t, fault.ImportRefused, fault.CodeOf(runs[replayRun].Err), "it was forked from the one in the database")
	assert.Equal(t, smithers.OutcomeRefused, runs[replayRun].Outcome)
}

func TestAForkThatWasExportedComesBackWithWhatSmithersMadeOfIt(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	path := copyOf(t, gitFixture)
	h.take(path)
	_, err := h.Fork(t.Context(), timeline.ForkRequest{From: "run-a:7", RunID: "mine", Nodes: []string{"write"}})
	require.NoError(t, err)
	_, err = smithers.Export(t.Context(), h.Store, smithers.ExportRequest{Runs: []string{"mine"}, To: path, Root: fixtureRoot})
	require.NoError(t, err)
	run := h.take(path, "mine")["mine"]
	require.NoError(t, run.Err)
	assert.Zero(t, run.Frames)
	require.NoError(t, sourcetest.Exec(t.Context(), path, strings.ReplaceAll(again(1, 8, 1795300000001), "SELECT run_id,", "SELECT 'mine',")))
	require.NoError(t, sourcetest.Exec(t.Context(), path, `UPDATE _smithers_runs SET status = 'running', started_at_ms = 1795300000000 WHERE run_id = 'mine'`))
	run = h.take(path, "mine")["mine"]
	require.NoError(t, run.Err)
	assert.Equal(t, smithers.OutcomeContinued, run.Outcome)
	assert.Equal(t, int64(1), run.Frame)
	row, err := h.entry("mine").RunRow()
	require.NoError(t, err)
	assert.Equal(t, "run-a", row.Parent.RunID)
	assert.Equal(t, []int64{0, 1}, numbers(h.frames("mine")))
	h.exactRun(path, "mine")
}

func TestWhatIsAnsweredInAForkAfterItsExportIsKeptByItsFirstImport(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	path := copyOf(t, gitFixture)
	h.take(path)
	_, err := h.Fork(t.Context(), timeline.ForkRequest{From: "run-a:7", RunID: "mine"})
	require.NoError(t, err)
	before := h.signalsOf("mine")
	_, err = smithers.Export(t.Context(), h.Store, smithers.ExportRequest{Runs: []string{"mine"}, To: path, Root: fixtureRoot})
	require.NoError(t, err)
	h.sendsTo("mine", "later", decided)
	require.NoError(t, sourcetest.Exec(t.Context(), path, strings.ReplaceAll(again(1, 8, decided+1), "SELECT run_id,", "SELECT 'mine',")))
	for range 2 {
		run := h.take(path, "mine")["mine"]
		require.NoError(t, run.Err)
		signals := h.signalsOf("mine")
		assert.Len(t, signals, len(before)+1)
		assert.Equal(t, "later", signals[int64(len(before))])
		require.NoError(t, sourcetest.Exec(t.Context(), path, touched))
	}
}

func TestATravelHereIsNoRewindOfSmithers(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	path := copyOf(t, gitFixture)
	frame := h.takes(path).Frame
	for i := range int64(3) {
		_, err := travel.Travel(t.Context(), h.Store, travel.Request{Run: replayRun, Node: "plan", NoFiles: true})
		require.NoError(t, err)
		goesOn(t, path, decided+i)
		run := h.takes(path)
		assert.False(t, run.Rewound)
		assert.Equal(t, frame+i+1, run.Frame, "the travel's, and nothing else")
	}
}
