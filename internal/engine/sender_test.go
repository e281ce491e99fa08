package engine_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// checked sends a signal whose payload is checked; correlation is "" for none.
func (s *scratch) checked(name, correlation, payload string) error {
	s.t.Helper()
	signal := snapshot.Signal{Name: name, Payload: json.RawMessage(payload), ReceivedAtMs: 1}
	if correlation != "" {
		signal.CorrelationID = &correlation
	}
	_, _, err := sendTo(s.t.Context(), s.open(s.t), signal)
	return err
}

func TestAPayloadIsCheckedAgainstWhatTheTaskPutsOut(t *testing.T) {
	t.Parallel()
	s := newScratch(t, `
name: w
outputs: {build: {type: object, required: [ok], properties: {ok: {type: boolean}}}}
tasks: [{id: built, output: build, wait_for: {signal: build, correlation: main}}]
`, "")
	entries := len(s.entries)
	const wrong = `payload.ok: type: yes has type "string", want "boolean"`
	err := s.checked("build", "main", `{"ok":"yes"}`)
	assert.Equal(t, wrong, fails(t, fault.InvalidInput, err), "before the task waits")
	assert.Equal(t, []string{`send a payload that fits the schema of task built of run r: {"properties":{"ok":{"type":"boolean"}},"required":["ok"],"type":"object"}`}, hints(err))
	s.waits(snapshot.RunWaitingEvent)
	waiting := len(s.entries)
	assert.Greater(t, waiting, entries)
	assert.Equal(t, wrong, fails(t, fault.InvalidInput, s.checked("build", "main", `{"ok":"yes"}`)), "while it waits")
	assert.Len(t, s.entries, waiting, "nothing was written")

	require.NoError(t, s.checked("other", "", `1`), "nobody waits for this name")
	require.NoError(t, s.checked("build", "develop", `1`), "nobody waits for this correlation")
	require.NoError(t, s.checked("build", "main", `{"ok":true}`))
	s.finishes()
}

func TestAPayloadNeedFitOnlyOneOfTheTasksThatTakeIt(t *testing.T) {
	t.Parallel()
	s := newScratch(t, `
name: w
outputs: {n: {type: integer}, text: {type: string}}
tasks:
  - {id: a, output: n, wait_for: ping}
  - {id: b, output: text, wait_for: ping}
`, "")
	s.waits(snapshot.RunWaitingEvent)
	fails(t, fault.InvalidInput, s.checked("ping", "", `null`))
	require.NoError(t, s.checked("ping", "", `"text"`))
}

func TestATaskThatTakesAnythingTakesAnyPayload(t *testing.T) {
	t.Parallel()
	s := newScratch(t, `{name: w, tasks: [{id: a, wait_for: ping}]}`, "")
	require.NoError(t, s.checked("ping", "", `[1, "two", null]`))
	s.finishes()
}

func TestARunThatFailedKeepsASignalForItsResume(t *testing.T) {
	t.Parallel()
	s := newScratch(t, `
name: w
outputs: {n: {type: integer}}
tasks:
  - {id: wait, output: n, wait_for: ping}
  - {id: other, run: 'test "$SMITHERS_ATTEMPT" = 2'}
`, "")
	_, err := s.run()
	fails(t, fault.RunFailed, err)
	require.NoError(t, s.checked("ping", "", `7`))
	assert.Equal(t, snapshot.RunFailed, s.tipRow().Status, "it does not go on by itself")
	s.finishes()
	assert.Equal(t, map[string]string{"wait::0": "7"}, s.outputs("n"))
}
