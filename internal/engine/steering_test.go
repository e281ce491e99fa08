package engine_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// steered is a run with Logs, whose command a begins when the first frame is there and ends when its file of signals has a text.
func steered(t *testing.T, until, after string) *scratch {
	t.Helper()
	s := newScratch(t, `
name: w
tasks:
  - {id: a, timeout: 1m, run: 'until grep -q "`+until+`" "$SMITHERS_SIGNALS"; do sleep 0.01; done; cat "$SMITHERS_SIGNALS" >got; `+after+`'}
`, "")
	s.opts.Logs = &keptLogs{logs: make(map[string]string), folder: t.TempDir()}
	s.opts.Warn = func(err error) { require.NoError(t, err) }
	return s
}

// withoutTimes returns the lines of a file of signals, without when they arrived.
func withoutTimes(text string) (lines []string) {
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, `,"receivedAtMs":`)
		lines = append(lines, line)
	}
	return lines
}

func TestARunningCommandReadsSignalsThatArrive(t *testing.T) {
	t.Parallel()
	s := steered(t, "last", `echo "$SMITHERS_SIGNALS" >path`)
	_, err := s.beside("a started", func() {
		s.send("steer", "", "{\n  \"n\": 9007199254740993,\n  \"n\": \"<&>\"\n}")
		s.send("steer", "c-1", `"last"`)
	})
	require.NoError(t, err)
	assert.Equal(t, []string{
		`{"seq":0,"name":"steer","correlationId":null,"payload":{"n":9007199254740993,"n":"<&>"}`,
		`{"seq":1,"name":"steer","correlationId":"c-1","payload":"last"`,
	}, withoutTimes(s.read("got")), "a line each, in their order, with the values as they were sent")
	assert.Contains(t, s.read("got"), `"receivedBy":null,"receivedAt":"20`)
	assert.NoFileExists(t, strings.TrimSpace(s.read("path")), "the file goes with the attempt")
}

func TestACommandReadsTheSignalsThatItsRunHad(t *testing.T) {
	t.Parallel()
	s := newScratch(t, `
name: w
tasks:
  - {id: a, retries: 1, run: 'cat "$SMITHERS_SIGNALS" >>got; test $SMITHERS_ATTEMPT = 2'}
  - {id: b, needs: [a], wait_for: early}
  - {id: c, needs: [b], run: 'cat "$SMITHERS_SIGNALS" >>got'}
`, "")
	s.opts.Logs = &keptLogs{logs: make(map[string]string), folder: t.TempDir()}
	s.send("early", "", `1`)
	s.finishes()
	early := `{"seq":0,"name":"early","correlationId":null,"payload":1`
	assert.Equal(t, []string{early, early, early}, withoutTimes(s.read("got")), "also another attempt, and after a task took it")
}

func TestEveryRunningCommandGetsASignalOnce(t *testing.T) {
	t.Parallel()
	s := newScratch(t, `
name: w
tasks:
  - {id: a, timeout: 1m, run: 'until grep -q last "$SMITHERS_SIGNALS"; do sleep 0.01; done; cat "$SMITHERS_SIGNALS" >got-a'}
  - {id: first, run: 'true'}
  - {id: b, needs: [first], timeout: 1m, run: 'until grep -q last "$SMITHERS_SIGNALS"; do sleep 0.01; done; cat "$SMITHERS_SIGNALS" >got-b'}
`, "")
	s.opts.Logs = &keptLogs{logs: make(map[string]string), folder: t.TempDir()}
	s.send("n", "", `"early"`)
	_, err := s.beside("b started", func() { s.send("n", "", `"last"`) })
	require.NoError(t, err)
	assert.Equal(t, 2, strings.Count(s.read("got-a"), "\n"))
	assert.Equal(t, s.read("got-a"), s.read("got-b"))
}

func TestWithoutAPlaceForFilesTheVariableIsEmpty(t *testing.T) {
	t.Parallel()
	s := newScratch(t, `{name: w, tasks: [{id: a, run: 'echo "[$SMITHERS_SIGNALS]" >got'}]}`, "")
	s.opts.Env = append(os.Environ(), "SMITHERS_SIGNALS=of-another-run")
	s.finishes()
	assert.Equal(t, "[]\n", s.read("got"))
}

// noSignals is keptLogs without space for files of signals.
type noSignals struct{ *keptLogs }

func (noSignals) Signals(string) (*os.File, error) { return nil, errors.New("no space") }

func TestACommandWithoutAFileOfSignalsRunsAllTheSame(t *testing.T) {
	t.Parallel()
	s := newScratch(t, `{name: w, tasks: [{id: a, run: 'echo "[$SMITHERS_SIGNALS]" >got'}]}`, "")
	s.opts.Logs = noSignals{&keptLogs{logs: make(map[string]string), folder: t.TempDir()}}
	var warned []string
	s.opts.Warn = func(err error) { warned = append(warned, err.Error()) }
	s.send("n", "", `1`)
	s.finishes()
	assert.Equal(t, []string{"task a: signals are missing: no space"}, warned)
	assert.Equal(t, "[]\n", s.read("got"))
}
