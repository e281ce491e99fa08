package snapshot_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/objstore/objstoretest"
	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// linesOf returns texts as lines of a transcript.
func linesOf(texts ...string) [][]byte {
	lines := make([][]byte, len(texts))
	for i, text := range texts {
		lines[i] = []byte(text)
	}
	return lines
}

func TestATranscriptKeepsTheLinesOfAnAgent(t *testing.T) {
	t.Parallel()
	deep := `{"a":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `}`
	for _, lines := range [][]string{
		{`{"type":"user","a": 1 }`},
		{`{}`, ``, `{"a":`, `[1]`, `"x"`, ` {}`, `{},`, `{"a":"\u00e9 é"}`, "{}\r", `plain text, with a comma,`},
		{deep},
	} {
		row := snapshot.EncodeTranscript("main", 7, linesOf(lines...))
		assert.Equal(t, "main::00000000000000000007", row.Key)
		assert.True(t, json.Valid(row.Value))
		assert.Equal(t, len(lines)+1, strings.Count(string(row.Value), "\n"), "git shows each line on a line of its own")
		got, err := snapshot.DecodeTranscript(row)
		require.NoError(t, err)
		assert.Equal(t, linesOf(lines...), got)
	}
	assert.Equal(t, "[\n{\"a\": 1 },\n\"x\\\"y\"\n]", string(snapshot.EncodeTranscript("m", 0, linesOf(`{"a": 1 }`, `x"y`)).Value))
	assert.Equal(t, "[\n\"{\\\"a\\\":\\\"\uFFFD\\\"}\"\n]", string(snapshot.EncodeTranscript("m", 0, linesOf("{\"a\":\"\xff\"}")).Value))
}

func TestTheKeysOfATranscriptSortByOffset(t *testing.T) {
	t.Parallel()
	assert.Less(t, snapshot.TranscriptKey("a::b", 9), snapshot.TranscriptKey("a::b", 10))
	transcript, offset, err := snapshot.SplitTranscriptKey(snapshot.TranscriptKey("a::b", 1<<40))
	require.NoError(t, err)
	assert.Equal(t, "a::b", transcript)
	assert.EqualValues(t, 1<<40, offset)
	for _, key := range []string{"", "main", "main::7", "::00000000000000000007", "main::+0000000000000000007", "main::-0000000000000000007", snapshot.TranscriptKey("main", math.MaxInt64)} {
		_, _, err := snapshot.SplitTranscriptKey(key)
		assert.ErrorIs(t, err, snapshot.ErrInvalid, key)
	}
}

func TestADamagedTranscriptIsNotRead(t *testing.T) {
	t.Parallel()
	const key = "main::00000000000000000007"
	for _, r := range []page.Row{
		{Key: "main::7", Value: []byte("[\n{}\n]")},
		{Key: key, Value: []byte("[{}]")},
		{Key: key, Value: []byte("[\n\n]")},
		{Key: key, Value: []byte("[\n]")},
		{Key: key, Value: []byte("[\n1\n]")},
		{Key: key, Value: []byte("[\n\"{}\"\n]")},
		{Key: key, Value: []byte("[\n\"a\\nb\"\n]")},
		{Key: key, Value: []byte("[\n{} ,\n{}\n]")},
		{Key: key, Value: []byte(`"text"`)},
	} {
		_, err := snapshot.DecodeTranscript(r)
		assert.ErrorIs(t, err, objstore.ErrCorrupt, string(r.Value))
	}
}

func TestTranscriptsAreInTheJournal(t *testing.T) {
	t.Parallel()
	store := new(objstoretest.Memory)
	first := startRun(t, store)
	given := snapshot.Change{Op: snapshot.OpSet, Collection: snapshot.CollectionTranscript, Key: snapshot.TranscriptKey("main", 3), Value: json.RawMessage(`[{"a": 1}, "no\tJSON"]`)}
	stored, err := snapshot.EngineChange(snapshot.Limits{}, first, given)
	require.NoError(t, err)
	want := snapshot.EncodeTranscript("main", 3, linesOf(`{"a": 1}`, "no\tJSON"))
	assert.Equal(t, string(want.Value), string(stored.Value))

	next := journaled(t, store, first, given)
	assert.Equal(t, first.ContentHash, next.ContentHash)
	rows, err := next.Transcript()
	require.NoError(t, err)
	value, found, err := rows.Get(want.Key)
	require.NoError(t, err)
	require.True(t, found)
	assert.Equal(t, string(want.Value), string(value))
	require.NoError(t, new(snapshot.Sound).Verify(snapshot.CollectionTranscript, rows, decoding(snapshot.DecodeTranscript)))
}

func TestATranscriptOfAnEngineHasLines(t *testing.T) {
	t.Parallel()
	for value, message := range map[string]string{
		`"text"`:      "a transcript must be a JSON array of lines",
		`[]`:          "a transcript must be a JSON array of lines",
		`[1]`:         "line 1 of the transcript is neither a JSON object nor a string",
		`[{},"a\nb"]`: "line 2 of the transcript has a line feed",
		"[{\n}]":      "line 1 of the transcript has a line feed",
	} {
		_, err := snapshot.EngineChange(snapshot.Limits{}, nil, snapshot.Change{Op: snapshot.OpSet, Collection: snapshot.CollectionTranscript, Key: snapshot.TranscriptKey("main", 0), Value: json.RawMessage(value)})
		require.ErrorIs(t, err, snapshot.ErrInvalid, value)
		assert.ErrorContains(t, err, message)
	}
}

func FuzzDecodeTranscript(f *testing.F) {
	f.Add("main::00000000000000000007", []byte("[\n{\"a\":1},\n\"x\"\n]"))
	f.Fuzz(func(t *testing.T, key string, value []byte) {
		lines, err := snapshot.DecodeTranscript(page.Row{Key: key, Value: value})
		if err != nil {
			return
		}
		transcript, offset, err := snapshot.SplitTranscriptKey(key)
		require.NoError(t, err)
		assert.Equal(t, string(value), string(snapshot.EncodeTranscript(transcript, offset, lines).Value))
	})
}
