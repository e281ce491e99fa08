package cli_test

import (
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/cli"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// Whenever the supervisor looks at the clock, at first, a signal arrives.
func TestASupervisorGoesOnWithARunForWhichSignalsKeepComing(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	require.NoError(t, os.WriteFile(filepath.Join(d.repo.Dir, "flow.yaml"), []byte("{name: flow, tasks: [{id: ok, approval: 'Ship it?'}]}"), 0o666))
	c := d.invoke(t, nil, "run", "flow.yaml", "--run-id", "a")
	require.Equal(t, fault.ExitWaiting, c.exit, c.err.String())
	c = d.invoke(t, nil, "approve", "a")
	require.Equal(t, fault.ExitOK, c.exit, c.err.String())

	var mu sync.Mutex
	sent := 0
	c = d.invoke(t, func(s *cli.Streams) {
		now := s.Now
		s.Now = func() time.Time {
			mu.Lock()
			defer mu.Unlock()
			if sent < 20 {
				sent++
				assert.Equal(t, fault.ExitOK, d.invoke(t, nil, "signal", "a", "tick", strconv.Itoa(sent)).exit)
			}
			return now()
		}
	}, "supervise", "--once", "--quiet")
	require.Equal(t, fault.ExitOK, c.exit, c.err.String())
	assert.Contains(t, c.out.String(), "a: finished at frame ")
	assert.Equal(t, 20, sent)
}
