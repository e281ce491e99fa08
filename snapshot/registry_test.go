package snapshot

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/objstore/objstoretest"
	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/internal/snapshot/row"
)

// probe is a row of journal/probes, a collection that only these tests register.
type probe struct {
	NodeID         string
	Iteration      int
	Attempt        int
	Seq            int
	ToolName       string
	Status         string // intended, succeeded, unknown
	StartedAtMs    int64
	FinishedAtMs   *int64
	Input          json.RawMessage
	Output         json.RawMessage
	SideEffect     bool
	Idempotent     bool
	IdempotencyKey string
	RevertStatus   string
}

var probeKind = row.Kind[probe]{
	Name: "probe",
	Key: row.Key[probe]{
		Of: func(c *probe) string {
			return AttemptKey(c.NodeID, c.Iteration, c.Attempt) + "::" + strconv.Itoa(c.Seq)
		},
		Split: func(c *probe, key string) (err error) {
			i := strings.LastIndex(key, "::")
			if i < 0 {
				return errors.New("not nodeId::iteration::attempt::seq")
			}
			if c.Seq, err = strconv.Atoi(key[i+2:]); err != nil {
				return err
			}
			c.NodeID, c.Iteration, c.Attempt, err = SplitAttemptKey(key[:i])
			return err
		},
		Fields: []row.Field[probe]{row.Int("seq", func(c *probe) *int { return &c.Seq })},
	},
	Fields: []row.Field[probe]{
		row.NullInt("finishedAtMs", func(c *probe) **int64 { return &c.FinishedAtMs }),
		row.OptionalText("idempotencyKey", func(c *probe) *string { return &c.IdempotencyKey }),
		row.Bool("idempotent", func(c *probe) *bool { return &c.Idempotent }),
		row.JSON("input", func(c *probe) *json.RawMessage { return &c.Input }),
		row.JSON("output", func(c *probe) *json.RawMessage { return &c.Output }),
		row.OptionalText("revertStatus", func(c *probe) *string { return &c.RevertStatus }),
		row.True("sideEffect", func(c *probe) *bool { return &c.SideEffect }),
		row.Int("startedAtMs", func(c *probe) *int64 { return &c.StartedAtMs }),
		row.Text("status", func(c *probe) *string { return &c.Status }),
		row.Text("toolName", func(c *probe) *string { return &c.ToolName }),
	},
	Check: func(c probe) error {
		switch c.Status {
		case "intended", "succeeded", "unknown":
			return checkTimes(&c.StartedAtMs, c.FinishedAtMs)
		}
		return fmt.Errorf("status: unknown status %q", c.Status)
	},
	Valid: checkRaw,
}

func TestANewCollectionIsADeclarationAndARegistration(t *testing.T) {
	t.Parallel()
	known := append(registry{rowsOf("probes", inJournal, &probeKind)}, registered...)
	store, frames := new(objstoretest.Memory), NewFrameCache(8)
	start := Draft{Frame: &FrameDraft{State: []Change{SetNode(NewNode("a", NodePending))}, Silent: true}, Run: func(r *Run) { *r = Run{ID: "r", Status: RunRunning} }}
	first, err := known.append(store, frames, nil, start)
	require.NoError(t, err)
	const written = `{"toolName":"bash","status":"intended","startedAtMs":3,"sideEffect":true,"input":{ "command":"make" }}`
	const stored = `{"finishedAtMs":null,"idempotent":false,"input":{ "command":"make" },"output":null,"sideEffect":true,"startedAtMs":3,"status":"intended","toolName":"bash"}`
	called, err := known.append(store, frames, first, Draft{
		Journal: []Change{{Op: OpSet, Collection: "probes", Key: "a::0::1::1", Value: json.RawMessage(written)}},
	})
	require.NoError(t, err)

	traveled, err := known.append(store, frames, called, Draft{Frame: &FrameDraft{Restore: EmptyState(), Silent: true}})
	require.NoError(t, err)
	again, err := known.readEntry(store, traveled.ID)
	require.NoError(t, err)
	calls, err := again.journalRows("probes")
	require.NoError(t, err)
	value, found, err := calls.Get("a::0::1::1")
	require.NoError(t, err)
	assert.True(t, found, "the journal does not go back")
	assert.Equal(t, page.Row{Key: "a::0::1::1", Value: []byte(stored)}, page.Row{Key: "a::0::1::1", Value: value})
	assert.Equal(t, first.ContentHash, called.ContentHash)
	require.NoError(t, new(Sound).verify("probes", calls, known.named("probes").decode, nil))
	assert.Error(t, known.named("probes").decode(page.Row{Key: "a::0::1::1", Value: []byte(written)}))

	_, err = known.append(store, frames, called, Draft{
		Journal: []Change{{Op: OpSet, Collection: "probes", Key: "a::0::1::2", Value: json.RawMessage(`{"status":"done"}`)}},
	})
	require.ErrorIs(t, err, ErrInvalid)
	old, err := ReadEntry(store, traveled.ID)
	require.NoError(t, err)
	attempts, err := old.Attempts()
	require.NoError(t, err, "a version that does not know the collection reads everything else")
	assert.Zero(t, attempts.Len())
	carried, err := old.Carried()
	require.NoError(t, err)
	require.Len(t, carried, 1)
	assert.Equal(t, "journal/probes", carried[0].Name)
	next, err := Append(store, frames, old, Draft{
		Journal: []Change{SetRow(CollectionAttempts, EncodeAttempt(Attempt{NodeID: "a", Attempt: 1, State: AttemptFinished, FinishedAtMs: new(int64(5))}))},
	})
	require.NoError(t, err)
	again, err = known.readEntry(store, next.ID)
	require.NoError(t, err)
	kept, err := again.journalRows("probes")
	require.NoError(t, err)
	assert.Equal(t, calls.ID(), kept.ID(), "and hands it on")
}

func TestACollectionIsDumpedByItsRegistration(t *testing.T) {
	t.Parallel()
	known := append(slices.Clone(registered), rowsOf("probes", inMailbox, &probeKind))
	dump, err := DumpState(known.emptyState())
	require.NoError(t, err)
	assert.JSONEq(t, `{"nodes":[],"outputs":[],"loops":[],"approvals":[],"humanRequests":[],"signals":[],"waits":[],"probes":[]}`, string(dump))
}

func TestWhatIsStoredDoesNotDependOnWhatIsRegistered(t *testing.T) {
	t.Parallel()
	start := Draft{Frame: &FrameDraft{State: []Change{SetNode(NewNode("a", NodePending))}, Silent: true}, Run: func(r *Run) { *r = Run{ID: "r", Status: RunRunning} }}
	for _, known := range []registry{registered, append(registry{rowsOf("probes", inJournal, &probeKind)}, registered...)} {
		e, err := known.append(new(objstoretest.Memory), NewFrameCache(8), nil, start)
		require.NoError(t, err)
		standard, err := Append(new(objstoretest.Memory), NewFrameCache(8), nil, start)
		require.NoError(t, err)
		assert.Equal(t, standard.ID, e.ID)
	}
}
