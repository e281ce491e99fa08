package engine

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

func TestTheLineOfASignalHasItsSecretsWhereTheyAreKnown(t *testing.T) {
	t.Parallel()
	signal := snapshot.Signal{Seq: 3, Name: "n", Payload: json.RawMessage("[\n\"[secret 1]\"]"), ReceivedAtMs: 5, ReceivedBy: new("[secret 2]")}
	known := func(at snapshot.Place, _ []byte) ([]byte, error) {
		assert.Equal(t, snapshot.CollectionSignals, at.Collection)
		assert.Equal(t, signal.Digest(), at.Key)
		return map[string][]byte{"payload": []byte("[\n\"hunter2\"]"), "receivedBy": []byte(`"Ada"`)}[at.Member], nil
	}
	line, err := lineOf(signal, known)
	require.NoError(t, err)
	assert.JSONEq(t, `{"seq":3,"name":"n","correlationId":null,"payload":["hunter2"],"receivedAtMs":5,"receivedBy":"Ada","receivedAt":"1970-01-01T00:00:00.005Z"}`, string(line))

	missing := func(snapshot.Place, []byte) ([]byte, error) { return nil, fault.New(fault.SecretMissing, "gone") }
	line, err = lineOf(signal, missing)
	require.NoError(t, err, "another clone goes on")
	assert.Contains(t, string(line), `"payload":["[secret 1]"]`)
	assert.Contains(t, string(line), `"receivedBy":"[secret 2]"`)

	_, err = lineOf(signal, func(snapshot.Place, []byte) ([]byte, error) { return nil, fault.New(fault.Internal, "damaged") })
	assert.Equal(t, fault.Internal, fault.CodeOf(err))
}

func TestALineOfASignalIsOneLine(t *testing.T) {
	t.Parallel()
	asIs := func(_ snapshot.Place, text []byte) ([]byte, error) { return text, nil }
	line, err := lineOf(snapshot.Signal{Name: "a\n{\"seq\":9}\n", CorrelationID: new("\n"), Payload: json.RawMessage("{\"a\":\n1}"), ReceivedBy: new("\r\n")}, asIs)
	require.NoError(t, err)
	assert.NotContains(t, string(line), "\n")
	assert.True(t, json.Valid(line))
}

func TestEarlierSignalsAreBounded(t *testing.T) {
	t.Parallel()
	var s steering
	s.keep([]byte("first\n" + strings.Repeat("x", maxEarlier) + "\nlast\n"))
	assert.Equal(t, "last\n", string(s.earlier), "the oldest go first, as whole lines")
	long := strings.Repeat("y", maxEarlier+1) + "\n"
	s.keep([]byte(long))
	assert.Equal(t, long, string(s.earlier), "the newest one stays")
}

func TestAfterAnErrorAFileOfSignalsGetsNoMoreLines(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "signals")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	file, err := os.Open(path) // which cannot be written
	require.NoError(t, err)
	var warned []string
	r := &runner{opts: Options{Warn: func(err error) { warned = append(warned, err.Error()) }}}
	j := &job{task: &workflow.Task{ID: "a"}, key: workflow.NodeKey{ID: "a"}, signals: file}
	r.tellSignals(j, []byte("1\n"))
	r.tellSignals(j, []byte("2\n"))
	require.Len(t, warned, 1)
	assert.Contains(t, warned[0], "task a: signals are missing: ")
}
