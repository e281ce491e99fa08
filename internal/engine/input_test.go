package engine_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/timeline/fault"
)

func (s *scratch) input() string {
	s.t.Helper()
	state, err := s.tip().State()
	require.NoError(s.t, err)
	input, err := state.Input()
	require.NoError(s.t, err)
	return string(input)
}

const withInput = `
name: w
input: {properties: {ok: {type: boolean}}}
tasks: [{id: a, run: 'cat > ctx; grep -q "\"ok\":true" ctx'}]
`

func TestAnInputIsReplacedOnlyByWhoGivesAnother(t *testing.T) {
	t.Parallel()
	s := newScratch(t, withInput, `{"x": 1.0, "ok":false}`)
	_, err := s.run()
	fails(t, fault.RunFailed, err)
	_, err = s.run()
	fails(t, fault.RunFailed, err)
	assert.JSONEq(t, `{"x": 1.0, "ok":false}`, s.input())

	s.opts.Input = json.RawMessage(`{"ok":"yes"}`)
	entries := len(s.entries)
	_, err = s.run()
	fails(t, fault.InvalidInput, err)
	assert.Len(t, s.entries, entries)

	s.opts.Input = json.RawMessage(`{"ok":true}`)
	_, err = s.run()
	require.NoError(t, err)
	assert.Equal(t, `{"x":1.0,"ok":true}`, s.input(), "laid over it, member by member")
	assert.Equal(t, "input changed", s.entries[entries].Subject)
	assert.Contains(t, s.read("ctx"), `"input":{"x":1.0,"ok":true}`)

	_, err = s.run()
	assert.Equal(t, "run r is finished; another input cannot change it", fails(t, fault.RunNotResumable, err))
}

func TestTheSameInputAgainIsNoChange(t *testing.T) {
	t.Parallel()
	s := newScratch(t, withInput, `{"ok":true}`)
	s.opts.Input = json.RawMessage(`{"ok":true}`)
	_, err := s.run()
	require.NoError(t, err)
	assert.Equal(t, "a started", s.subjects()[0])
}
