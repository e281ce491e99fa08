package agenttrace_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/app/agenttrace"
	"github.com/git-smithers/git-smithers/internal/engine/schema"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/timeline"
)

// check checks a record against the schema of Agent Trace.
func check(t *testing.T, record string) error {
	t.Helper()
	text, err := os.ReadFile("testdata/trace-record.json")
	require.NoError(t, err)
	compiled, err := schema.Compile(text, new(schema.Bounds))
	require.NoError(t, err)
	_, value, err := schema.DecodeValue([]byte(record))
	require.NoError(t, err)
	return compiled.Check("record", value)
}

func TestARecordFitsThePublishedSchema(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	at := time.Date(2026, 2, 28, 23, 59, 59, 0, time.FixedZone("", 3600))
	s, err := timeline.Open(t.Context(), timeline.Options{Dir: repo.Dir, Env: repo.Env, Now: func() time.Time { return at }})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	repo.Write("a%\xff \"b\".txt", "one\n")
	repo.Git("add", ".")
	repo.Git("commit", "--quiet", "--message=second\n\nSmithers-Frame: not here/§:7\nSmithers-Frame: ../ \x01:1")
	for _, revision := range []string{"HEAD", "HEAD~1"} {
		record, err := agenttrace.Of(t.Context(), s, revision)
		require.NoError(t, err)
		require.NotEmpty(t, record.Files)
		text, err := json.Marshal(record)
		require.NoError(t, err)
		require.NoError(t, check(t, string(text)), string(text))
		assert.Contains(t, string(text), `"timestamp":"2026-02-28T22:59:59.000Z"`)
		again, err := agenttrace.Of(t.Context(), s, revision)
		require.NoError(t, err)
		assert.Equal(t, record, again)
	}

	record, err := agenttrace.Of(t.Context(), s, "HEAD")
	require.NoError(t, err)
	text, err := json.Marshal(record)
	require.NoError(t, err)
	for _, broken := range [][2]string{
		{`"0.1.0"`, `"0.1"`}, {`"type":"unknown"`, `"type":"nobody"`}, {`"start_line":1`, `"start_line":0`}, {`"smithers:`, `"no uri `},
	} {
		require.Contains(t, string(text), broken[0])
		assert.Error(t, check(t, strings.Replace(string(text), broken[0], broken[1], 1)), "the schema is checked: %s", broken[1])
	}
}

func TestAnAddressIsAURI(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "smithers:run-1:3", agenttrace.Address("run-1:3"))
	assert.Equal(t, "smithers:run@turn:2", agenttrace.Address("run@turn:2"))
	assert.Equal(t, "smithers:a%2Fb%20%22%FF:1", agenttrace.Address("a/b \"\xff:1"))
}
