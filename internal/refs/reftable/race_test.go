package reftable_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/fsx"
	"github.com/git-smithers/git-smithers/internal/refs/reftable"
	"github.com/git-smithers/git-smithers/objstore"
)

// writerVariable makes the test binary a process that appends: see TestMain.
const writerVariable = "REFTABLE_TEST_WRITER"

// TestMain runs the tests. If writerVariable is set, it appends instead, until its standard input ends.
func TestMain(m *testing.M) {
	dir := os.Getenv(writerVariable)
	if dir == "" {
		os.Exit(m.Run())
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = os.Stdin.Read(make([]byte, 1))
		cancel()
	}()
	id, err := objstore.ParseID(os.Args[1])
	if err == nil {
		err = appendUntil(ctx, dir, os.Args[2], id, func(name string) { fmt.Println(name) })
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// appendUntil creates refs below refs/smithers/<writer>, with a tip that moves along, until ctx ends. It calls acknowledge for each.
func appendUntil(ctx context.Context, dir, writer string, id objstore.ID, acknowledge func(name string)) error {
	stack := reftable.Open(dir, objstore.SHA1)
	opts := reftable.Options{
		Proof: filepath.Join(filepath.Dir(dir), "proof."+writer), Turns: filepath.Join(filepath.Dir(dir), "turn"), Patience: time.Minute,
	}
	tip, old := "refs/smithers/"+writer+"/tip", objstore.ID{}
	var err error
	for i := 0; err == nil && ctx.Err() == nil; i++ {
		name := fmt.Sprintf("refs/smithers/%s/%d", writer, i)
		changes := []reftable.Change{{Name: tip, Old: old, New: id}, {Name: name, New: id}}
		if i%5 == 4 {
			changes = append(changes, reftable.Change{Name: fmt.Sprintf("refs/smithers/%s/%d", writer, i-2), Old: id})
		}
		if _, err = stack.Append(ctx, changes, opts); err == nil {
			acknowledge(name)
			old = id
		}
	}
	if ctx.Err() != nil {
		err = nil
	}
	return err
}

// TestWritersOfManyKindsLoseNothing lets processes and goroutines of ours append beside git update-ref and git refs optimize, and reads all
// the while. Every ref that a writer acknowledged is there at the end, and plain git rarely fails.
func TestWritersOfManyKindsLoseNothing(t *testing.T) {
	t.Parallel()
	s := newStack(t, objstore.SHA1)
	id := s.ids(1)[0]
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
	defer cancel()
	var mu sync.Mutex
	wanted := make(map[string]bool)
	acknowledge := func(name string) {
		mu.Lock()
		defer mu.Unlock()
		wanted[name] = true
	}
	var all sync.WaitGroup
	all.Go(func() { assert.NoError(t, appendUntil(ctx, s.dir, "goroutine", id, acknowledge)) })
	for _, writer := range []string{"p1", "p2", "p3", "p4"} {
		all.Go(func() {
			names, err := runWriter(ctx, s, writer, id)
			assert.NotEmpty(t, names, "it had its turn")
			assert.NoError(t, err)
			for _, name := range names {
				acknowledge(name)
			}
			t.Logf("%s appended %d times", writer, len(names))
		})
	}
	gits, failed := 0, 0
	all.Go(func() {
		for ; ctx.Err() == nil; gits++ {
			name := "refs/git/" + strconv.Itoa(gits)
			if _, err := s.GitErr("update-ref", name, id.String(), ""); err != nil {
				failed++
				t.Log(err)
				continue
			}
			acknowledge(name)
		}
	})
	all.Go(func() {
		for ctx.Err() == nil {
			_, _ = s.GitErr("refs", "optimize") // fails if it does not get the lock
			time.Sleep(50 * time.Millisecond)
		}
	})
	most, looks := 0, 0
	for ; ctx.Err() == nil; looks++ {
		view := s.look()
		most = max(most, strings.Count(view.Text(), "\n"))
		main, found, err := view.Get("refs/heads/main")
		require.NoError(t, err)
		assert.True(t, found)
		assert.False(t, main.ID.IsZero())
		time.Sleep(time.Millisecond)
	}
	all.Wait()
	t.Logf("%d refs acknowledged, git failed %d of %d times, %d tables at most, %d looks", len(wanted), failed, gits, most, looks)
	assert.LessOrEqual(t, failed, 1+gits/20)
	assert.LessOrEqual(t, most, 24)
	deleted := 0
	view := s.look()
	for name := range wanted {
		if i, err := strconv.Atoi(name[strings.LastIndexByte(name, '/')+1:]); err == nil && i%5 == 2 && strings.HasPrefix(name, "refs/smithers/") {
			deleted++ // if its writer came so far
			continue
		}
		_, found, err := view.Get(name)
		require.NoError(t, err)
		assert.True(t, found, name)
	}
	assert.Greater(t, len(wanted)-deleted, 20)
	s.wantSame(t)
}

// runWriter runs a process that appends until ctx ends, and returns the names that it acknowledged.
func runWriter(ctx context.Context, s *stackOf, writer string, id objstore.ID) ([]string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, id.String(), writer)
	cmd.Env = append(s.Env, writerVariable+"="+s.dir)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = in.Close() })
	defer stop()
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	return strings.Fields(string(out)), err
}

// TestAKilledWriterLosesNothing kills writers at any moment. What they acknowledged is there, and after RemoveDead everybody can write.
func TestAKilledWriterLosesNothing(t *testing.T) {
	t.Parallel()
	s := newStack(t, objstore.SHA1)
	id := s.ids(1)[0]
	self, err := os.Executable()
	require.NoError(t, err)
	for i := range 8 {
		writer := fmt.Sprintf("k%d", i)
		cmd := exec.Command(self, id.String(), writer)
		cmd.Env = append(s.Env, writerVariable+"="+s.dir)
		in, err := cmd.StdinPipe()
		require.NoError(t, err)
		var out strings.Builder
		cmd.Stdout = &out
		require.NoError(t, cmd.Start())
		require.Eventually(t, func() bool {
			_, found, err := s.look().Get("refs/smithers/" + writer + "/tip")
			return err == nil && found
		}, time.Minute, time.Millisecond)
		time.Sleep(time.Duration(i) * time.Millisecond)
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait() // it was killed
		_ = in.Close()
		_, err = s.RemoveDead(fsx.OS{}, filepath.Join(s.GitDir, "proof."+writer))
		require.NoError(t, err)
		s.Git("update-ref", "refs/git/"+writer, id.String())
		view, names := s.look(), strings.Fields(out.String())
		for n, name := range names {
			if n%5 != 2 {
				_, found, err := view.Get(name)
				require.NoError(t, err)
				assert.True(t, found, name)
			}
		}
	}
	for i := range 20 {
		s.mustAppend(reftable.Change{Name: fmt.Sprintf("refs/y/%d", i), New: id})
	}
	s.wantNoLock()
	s.wantSame(t)
}
