package engine_test

import (
	"errors"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/engine"
)

// keptLogs keeps logs in memory, and tool calls in a folder.
type keptLogs struct {
	folder string // "" if there is no place for tool calls
	mu     sync.Mutex
	logs   map[string]string
	full   bool // there is no space for any
}

func newKeptLogs() *keptLogs { return &keptLogs{logs: make(map[string]string)} }

type keptLog struct {
	to   *keptLogs
	name string
}

func (k *keptLogs) Open(name string, _ int) (io.WriteCloser, error) {
	if k.full {
		return nil, errors.New("no space")
	}
	return keptLog{k, name}, nil
}

func (l keptLog) Write(p []byte) (int, error) {
	l.to.mu.Lock()
	defer l.to.mu.Unlock()
	l.to.logs[l.name] += string(p)
	return len(p), nil
}

func (l keptLog) Shorten(kept []byte) error {
	l.to.mu.Lock()
	defer l.to.mu.Unlock()
	l.to.logs[l.name] = string(kept)
	return nil
}

func (l keptLog) Close() error { return nil }

func (k *keptLogs) Last(name string) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.logs[name]
}

func (k *keptLogs) Calls(name string) (string, error) {
	path := k.LeftCalls(name)
	return path, os.WriteFile(path, nil, 0o600)
}

func (k *keptLogs) Signals(name string) (*os.File, error) {
	if k.folder == "" {
		return os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	}
	return os.Create(k.LeftCalls(name) + ".signals")
}

func (k *keptLogs) LeftCalls(name string) string {
	if k.folder == "" {
		return os.DevNull
	}
	return filepath.Join(k.folder, url.PathEscape(name))
}

func (k *keptLogs) Remove(name string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.folder != "" {
		_ = os.Remove(k.LeftCalls(name))
		_ = os.Remove(k.LeftCalls(name) + ".signals")
	}
	delete(k.logs, name)
}

func (k *keptLogs) Clear() {
	k.mu.Lock()
	defer k.mu.Unlock()
	clear(k.logs)
}

func TestTheLogOfAnAttemptIsKeptWhileItRuns(t *testing.T) {
	t.Parallel()
	s := newScratch(t, `{name: w, tasks: [{id: a, run: 'echo hello >&2; echo > logged; read x < fifo'}]}`, "")
	s.fifo("logged", "fifo")
	logs := newKeptLogs()
	s.opts.Logs = logs
	s.opts.Progress = func(p engine.Progress) {
		if p.Running == 1 {
			go func() {
				_ = s.read("logged")
				assert.Eventually(t, func() bool { return logs.Last("a::0::1") == "hello\n" }, time.Minute, time.Millisecond)
				s.file("fifo", "\n")
			}()
		}
	}
	_, err := s.run()
	require.NoError(t, err)
	assert.Equal(t, "hello\n", s.log("a::0::1"))
	assert.Empty(t, logs.logs, "the journal has it now")
}

func TestWhatAnInterruptedAttemptLoggedIsNotLost(t *testing.T) {
	t.Parallel()
	s := newScratch(t, `{name: w, tasks: [{id: a, run: 'echo "attempt $SMITHERS_ATTEMPT" >&2'}]}`, "")
	logs := newKeptLogs()
	logs.logs["a::0::7"] = "of nobody"
	s.opts.Logs = logs
	s.dieAt("a finished")
	assert.Empty(t, s.log("a::0::1"))
	_, err := s.run()
	require.NoError(t, err)
	assert.Equal(t, "attempt 1\n", s.log("a::0::1"))
	assert.Equal(t, "attempt 2\n", s.log("a::0::2"))
	assert.Empty(t, logs.logs)
}

func TestALogThatNobodyCanKeepIsAWarning(t *testing.T) {
	t.Parallel()
	s := newScratch(t, `{name: w, tasks: [{id: a, run: 'echo hello >&2'}]}`, "")
	s.opts.Logs = &keptLogs{full: true, folder: t.TempDir()}
	var warned []string
	s.opts.Warn = func(err error) { warned = append(warned, err.Error()) }
	_, err := s.run()
	require.NoError(t, err)
	assert.Equal(t, []string{"task a: its log cannot be read before the task ends: no space"}, warned)
	assert.Equal(t, "hello\n", s.log("a::0::1"))
}
