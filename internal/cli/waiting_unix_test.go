//go:build unix

package cli_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/cli"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// A watched stream calls seen when it has been told text.
type watched struct {
	mu   sync.Mutex
	all  bytes.Buffer
	text string
	seen func()
	once sync.Once
}

func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all.Write(p)
	if bytes.Contains(w.all.Bytes(), []byte(w.text)) {
		w.once.Do(w.seen)
	}
	return len(p), nil
}

// The filter of a file does not go on until a person has been told what takes so long.
func TestWhoWaitsForAWorkingCopyIsToldSo(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	fifo := filepath.Join(d.repo.Home, "fifo")
	require.NoError(t, syscall.Mkfifo(fifo, 0o666))
	d.repo.Git("config", "filter.slow.clean", "test -p '"+fifo+"' && read line <'"+fifo+"' && rm '"+fifo+"'; cat")
	d.repo.Write(".gitattributes", "slow filter=slow\n")
	d.repo.Write("slow", "content\n")
	d.repo.Write("flow.yaml", "{name: w, tasks: [{id: a, run: 'true'}]}")
	told := &watched{text: "reading the working copy …", seen: func() {
		go func() { assert.NoError(t, os.WriteFile(fifo, []byte("go\n"), 0)) }()
	}}

	c := d.invoke(t, func(s *cli.Streams) {
		s.Err = told
		s.IsTTY = func(stream any) bool { return stream == told }
	}, "run", "flow.yaml", "--run-id", "a")

	require.Equal(t, fault.ExitOK, c.exit)
	_, after, _ := strings.Cut(told.all.String(), told.text)
	assert.True(t, strings.HasPrefix(after, "\r\x1b[K"), "the line goes away: %q", after)
}
