package engine_test

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

func TestAFailedAttemptKeepsItsReason(t *testing.T) {
	t.Parallel()
	status := func(n int) *int { return &n }
	for name, c := range map[string]struct {
		run, options, reason string
		status               *int
	}{
		"exit status":           {`exit 7`, "", "exit_status: exit status 7", status(7)},
		"signal":                {`kill -KILL $$`, "", "signal: ended by signal: killed", nil},
		"missing command":       {`no-such-command-here`, "", "missing_command: command not found (exit status 127)", status(127)},
		"missing script":        {`./no-such-script`, "", "missing_command: command not found (exit status 127)", status(127)},
		"timeout":               {`read forever < fifo`, ", timeout: 20ms", "timeout: no result within 20ms", nil},
		"no output":             {`true`, ", output: t", "invalid_output: stdout: the text is empty; expected one JSON value", status(0)},
		"no JSON":               {`echo hello`, ", output: t", "invalid_output: stdout: not JSON: invalid character 'h' looking for beginning of value (at byte 1)", status(0)},
		"half a value":          {`echo '{"a":'`, ", output: t", "invalid_output: stdout: not JSON: the text ends in the middle of a value", status(0)},
		"two values":            {`echo 1 2`, ", output: t", "invalid_output: stdout: text follows the JSON value", status(0)},
		"no UTF-8":              {`printf '"\377"'`, ", output: t", "invalid_output: stdout: not valid UTF-8", status(0)},
		"nested too deep":       {`printf '[%.0s' $(seq 2000); printf ']%.0s' $(seq 2000)`, ", output: t", "invalid_output: stdout: invalid: beyond a limit: the JSON is nested more than 1000 levels deep", status(0)},
		"too large":             {`head -c 3000 /dev/zero | tr '\0' 1`, ", output: t", "invalid_output: stdout is larger than 2000 bytes", nil},
		"endless":               {`yes 1`, ", output: t", "invalid_output: stdout is larger than 2000 bytes", nil},
		"missing property":      {`echo {}`, ", output: u", `invalid_output: u: required: missing properties: ["list"]`, status(0)},
		"wrong type in a list":  {`echo '{"list":[{"n":"x"}]}'`, ", output: u", `invalid_output: u.list[].n: type: x has type "string", want "integer"`, status(0)},
		"null is not an object": {`echo null`, ", output: u", `invalid_output: u: type: null has type "null", want "object"`, status(0)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScratch(t, `
name: w
outputs:
  t: {}
  u: {type: object, required: [list], properties: {list: {type: array, items: {$ref: '#/$defs/item'}}}, $defs: {item: {properties: {n: {type: integer}}}}}
tasks:
  - {id: a, run: '`+strings.ReplaceAll(c.run, "'", "''")+`'`+c.options+`}
`, "")
			s.fifo("fifo")
			s.opts.MaxOutput = 2000
			if name == "nested too deep" {
				s.opts.MaxOutput = 5000
			}
			_, err := s.run()
			_, reason, _ := strings.Cut(c.reason, ": ")
			assert.Equal(t, "run r failed: a: "+reason, fails(t, fault.RunFailed, err))
			a := s.attempts()["a::0::1"]
			assert.Equal(t, snapshot.AttemptFailed, a.State)
			assert.Equal(t, c.reason, a.Error)
			if !strings.Contains(name, "large") && name != "endless" { // ended by us, or by itself before
				assert.Equal(t, c.status, a.ExitStatus)
			}
			assert.Empty(t, s.outputs("t"))
			assert.Empty(t, s.outputs("u"))
		})
	}
}

func TestAMissingFolderIsNoPlaceToStartIn(t *testing.T) {
	t.Parallel()
	s := newScratch(t, "{name: w, tasks: [{id: a, run: 'true'}]}", "")
	s.opts.WorkDir = s.dir + "/gone"
	_, err := s.run()
	fails(t, fault.RunFailed, err)
	assert.Equal(t, "not_started: the command's folder: no such file or directory", s.attempts()["a::0::1"].Error, "no path of this machine is stored")
}

func TestOutputIsStoredAsPrintedWithoutTheSpaceAround(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ printed, stored string }{
		"numbers, key order and doubled keys": {`{"b":1.0,"a":10000000000000000000001,"b":1e2}`, `{"b":1.0,"a":10000000000000000000001,"b":1e2}`},
		"space inside":                        {" \n{ \"a\" :\n 1 }\n\n", "{ \"a\" :\n 1 }"},
		"beyond doubles":                      {"1e999", "1e999"},
		"null":                                {"null", "null"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScratch(t, "{name: w, outputs: {t: {}}, tasks: [{id: a, output: t, run: 'cat out'}]}", "")
			s.file("out", c.printed)
			_, err := s.run()
			require.NoError(t, err)
			assert.Equal(t, map[string]string{"a::0": c.stored}, s.outputs("t"))
		})
	}
}

func TestLogsAreTextAndTheirEndIsKept(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ run, log string }{
		"binary":                {`printf 'a\377\000b' >&2`, "a\uFFFD\x00b"},
		"longer than is kept":   {`printf 0123456789abc >&2`, "[3 bytes before this are not kept]\n3456789abc"},
		"far longer":            {`for i in 1 2 3 4; do printf 0123456789 >&2; done; printf x >&2`, "[31 bytes before this are not kept]\n123456789x"},
		"stdout without output": {`echo out; `, "out\n"},
		"of a failed attempt":   {`echo why >&2; exit 1`, "why\n"},
		"nothing":               {`true`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScratch(t, "{name: w, tasks: [{id: a, run: '"+strings.ReplaceAll(c.run, "'", "''")+"'}]}", "")
			s.opts.MaxLog = 10
			_, _ = s.run()
			assert.Equal(t, c.log, s.log("a::0::1"))
		})
	}
}

// onLine calls a function when a line is written to it.
type onLine struct {
	line string
	call func()
}

func (w onLine) Write(p []byte) (int, error) {
	if string(p) == w.line+"\n" {
		w.call()
	}
	return len(p), nil
}

func TestEndingACommandEndsItsWholeProcessGroup(t *testing.T) {
	t.Parallel()
	s := newScratch(t, `
name: w
tasks:
  - id: a
    run: |
      trap '' TERM
      sh -c 'trap "" TERM; echo $$ > child; echo ready >&2; while :; do read x < fifo; done' &
      while :; do read x < fifo; done
`, "")
	s.fifo("fifo")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s.opts.Log = onLine{"a| ready", cancel}
	_, err := s.runWithin(ctx)
	fails(t, fault.RunCancelled, err)
	assert.Equal(t, "cancelled: the run was cancelled", s.attempts()["a::0::1"].Error)
	s.gone("child")
}

func TestACommandIsAskedToEndBeforeItIsKilled(t *testing.T) {
	t.Parallel()
	s := newScratch(t, `
name: w
tasks:
  - id: a
    run: |
      trap 'echo asked > asked; exit 0' TERM
      echo ready >&2
      while :; do read x < fifo; done
`, "")
	s.fifo("fifo")
	s.opts.Grace = time.Minute
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s.opts.Log = onLine{"a| ready", cancel}
	_, err := s.runWithin(ctx)
	fails(t, fault.RunCancelled, err)
	assert.Equal(t, "asked\n", s.read("asked"))
	assert.Equal(t, snapshot.NodePending, s.states()["a::0"], "what was cut short did not finish, whatever its exit status")
}

func TestACommandThatDoesNotEndIsKilledAtOnceInAHurry(t *testing.T) {
	t.Parallel()
	s := newScratch(t, `
name: w
tasks:
  - id: a
    run: |
      trap 'echo asked >&2' TERM
      echo $$ > child
      echo ready >&2
      while :; do read x < fifo; done
`, "")
	s.fifo("fifo")
	s.opts.Grace = time.Hour
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	hurry, now := context.WithCancel(context.Background())
	defer now()
	s.opts.Hurry = hurry //nolint:fatcontext // it is an option
	s.opts.Log = io.MultiWriter(onLine{"a| ready", cancel}, onLine{"a| asked", now})
	_, err := s.runWithin(ctx)
	fails(t, fault.RunCancelled, err)
	s.gone("child")
}

func TestWhatACommandLeavesBehindIsEnded(t *testing.T) {
	t.Parallel()
	s := newScratch(t, `
name: w
outputs: {t: {}}
tasks:
  - id: a
    output: t
    run: |
      mkfifo ready
      sh -c 'echo $$ > child; echo > ready; read x < fifo' &
      read x < ready
      echo 1
`, "")
	s.fifo("fifo")
	_, err := s.run()
	require.NoError(t, err, "the task itself finished")
	assert.Equal(t, map[string]string{"a::0": "1"}, s.outputs("t"))
	s.gone("child")
}

func TestACommandNeedNotReadItsInput(t *testing.T) {
	t.Parallel()
	s := newScratch(t, "{name: w, tasks: [{id: a, run: 'exec <&-; true'}]}", `{"x":"`+strings.Repeat("y", 1<<20)+`"}`)
	_, err := s.run()
	require.NoError(t, err)
}
