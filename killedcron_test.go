package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/internal/scripttest"
)

const nightly = `
name: nightly
tasks:
  - {id: first, run: ./task}
  - {id: second, needs: [first], run: ./task}
`

// A supervisor that is killed or stopped while it starts the run of a schedule starts it once or not at all. The next supervisor ends the run, and the
// schedule knows it.
func TestASupervisorThatIsKilledStartsNoTimeOfAScheduleTwice(t *testing.T) {
	t.Parallel()
	s := newStorm(t)
	require.NoError(t, os.WriteFile(filepath.Join(s.Dir, "nightly.yaml"), []byte(nightly), 0o666))
	now := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	at := func(now time.Time) { s.Env = append(s.Env, "SCRIPT_NOW="+now.Format(time.RFC3339)) }
	at(now)
	status, out := s.call("", "cron", "add", "@hourly", "nightly.yaml", "--name", "n", "--zone", "UTC")
	require.Zero(t, status, out)

	now = now.Add(time.Hour)
	at(now)
	counted := filepath.Join(t.TempDir(), "count")
	status, out = s.call(scripttest.CountVariable+"="+counted, "supervise", "--once")
	require.Zero(t, status, out)
	text, err := os.ReadFile(counted)
	require.NoError(t, err)
	calls, err := strconv.Atoi(string(text))
	require.NoError(t, err)

	random := rand.New(rand.NewPCG(killSeed(t), 0))
	kills, lost := 0, 0
	for call := 1; call <= calls; call += repotest.Size(1+random.IntN(6), 1) {
		now = now.Add(time.Hour)
		at(now)
		micros := random.IntN(3000)
		how := [2]string{"", " stop"}[random.IntN(2)]
		status, out := s.call(fmt.Sprintf("%s=%d %d%s", scripttest.KillVariable, call, micros, how), "supervise", "--once")
		if status == -1 {
			kills++
		}
		at(now.Add(time.Minute))
		killed, hour := fmt.Sprintf("killed at %d %d%s: %s", call, micros, how, out), now.Format("20060102-15")
		var runs string
		for range 100 { // a command that the killed process was about to start has its lock until it is another program
			status, out = s.call("", "supervise", "--once")
			require.Zero(t, status, "%s\n%s", killed, out)
			_, runs = s.call("", "sql", "SELECT run_id, status FROM _smithers_runs WHERE run_id LIKE 'n-"+hour+"%'")
			if strings.Count(runs, hour) == strings.Count(runs, "\tfinished") {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
		_, last := s.call("", "sql", "SELECT last_run_id FROM _smithers_cron")
		if started := strings.Count(runs, hour); started == 0 {
			lost++
		} else {
			assert.Equal(t, 1, started, "%s\n%s", killed, runs)
			assert.Regexp(t, "\n"+strings.TrimSpace(lastLine(last))+"\tfinished\n", "\n"+runs, killed)
		}
	}
	t.Logf("%d kills of %d calls, %d times without a run", kills, calls, lost)
}

// lastLine returns the last line of the output of sql.
func lastLine(out string) string {
	lines := strings.Split(strings.TrimSpace(out), "\n")
	return lines[len(lines)-1]
}
