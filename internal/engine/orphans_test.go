package engine_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// keptCommands says what it is told, and that so many processes were left.
type keptCommands struct {
	mu    sync.Mutex
	told  []string
	left  int
	err   error
	began func(leader int)
}

func (k *keptCommands) tell(what string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.told = append(k.told, what)
}

func (k *keptCommands) Began(attempt string, leader int) error {
	k.tell("began " + attempt)
	if k.began != nil {
		k.began(leader)
	}
	return k.err
}

func (k *keptCommands) Ended(attempt string) { k.tell("ended " + attempt) }

func (k *keptCommands) EndLeft(context.Context, time.Duration) (int, error) {
	k.tell("ended what was left")
	return k.left, k.err
}

func TestACommandBeginsWhenItIsKnownWhichProcessItIs(t *testing.T) {
	t.Parallel()
	s := newScratch(t, `{name: w, tasks: [{id: a, run: 'echo $$ > pid; test ! -e /proc/self/fd/3'}]}`, "")
	var leader int
	commands := &keptCommands{began: func(pid int) {
		leader = pid
		assert.Never(t, func() bool {
			_, err := os.Stat(filepath.Join(s.dir, "pid"))
			return err == nil
		}, 100*time.Millisecond, 10*time.Millisecond)
	}}
	s.opts.Commands = commands
	_, err := s.run()
	require.NoError(t, err, "the command has nothing of ours open")
	assert.Equal(t, []string{"ended what was left", "began a::0::1", "ended a::0::1"}, commands.told)
	assert.NotZero(t, leader)
	s.gone("pid")
}

func TestWhatWasLeftOfAProcessBeforeIsAWarning(t *testing.T) {
	t.Parallel()
	s := newScratch(t, `{name: w, tasks: [{id: a, run: 'true'}]}`, "")
	warned := s.warnings()
	s.opts.Commands = &keptCommands{left: 2, err: errors.New("a process does not end")}
	_, err := s.run()
	require.NoError(t, err)
	assert.Equal(t, []string{
		"another process left commands of this run running: 2 processes were ended",
		"a command that another process of this run started may still be running: a process does not end",
		"task a: its processes will keep running if git-smithers is killed: a process does not end",
	}, *warned)
}
