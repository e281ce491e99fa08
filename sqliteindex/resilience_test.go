package sqliteindex_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/sqliteindex"
)

func writeFile(tb testing.TB, path, content string) {
	tb.Helper()
	require.NoError(tb, os.MkdirAll(filepath.Dir(path), 0o777))
	require.NoError(tb, os.WriteFile(path, []byte(content), 0o666))
}

// TestADamagedIndexIsMadeAnew damages the closed file, opens it, and asks.
func TestADamagedIndexIsMadeAnew(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 12 {
		w.start(t, "run-"+strconv.Itoa(i), 6)
	}
	good := filepath.Join(t.TempDir(), "good.db")
	x, err := sqliteindex.Open(t.Context(), optionsAt(w, good))
	require.NoError(t, err)
	want := synced(t, x)
	require.NoError(t, x.Close())
	file, err := os.ReadFile(good)
	require.NoError(t, err)
	require.Greater(t, len(file), 5*4096)

	damage := map[string][]byte{
		"empty":                         {},
		"garbage":                       []byte("this is no database, however long one looks at it\n"),
		"a database of somebody else's": bytes.Replace(file, []byte("gsmi"), []byte("else"), 1),
		"another version":               append(append(bytes.Clone(file[:60]), 0, 0, 0, 99), file[64:]...),
	}
	for _, size := range []int{1, 15, 99, 100, 101, 512, 4095, 4096, 4097, 3 * 4096, len(file) / 2, len(file) - 4096, len(file) - 1} {
		damage["truncated to "+strconv.Itoa(size)] = file[:size]
	}
	noise := rand.NewChaCha8([32]byte{1})
	for page := range len(file) / 4096 {
		for name, fill := range map[string]func([]byte){
			"zeros": func(b []byte) { clear(b) },
			"noise": func(b []byte) { _, _ = noise.Read(b) },
		} {
			broken := bytes.Clone(file)
			fill(broken[page*4096:][:4096])
			damage[name+" in page "+strconv.Itoa(page)] = broken
		}
	}
	for name, content := range damage {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "index.db")
			writeFile(t, path, string(content))
			x := w.indexAt(t, path)
			assert.Equal(t, want, synced(t, x))
			require.NoError(t, x.Degraded())
		})
	}
}

// TestAnIndexReplacedWhileOpenIsNoticed covers what other processes may do to the file.
func TestAnIndexReplacedWhileOpenIsNoticed(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		do   func(t *testing.T, w *world)
	}{
		{"deleted", func(t *testing.T, w *world) {
			t.Helper()
			require.NoError(t, os.Remove(w.indexPath()))
		}},
		{"its folder deleted", func(t *testing.T, w *world) {
			t.Helper()
			require.NoError(t, os.RemoveAll(filepath.Dir(w.indexPath())))
		}},
		{"rebuilt by another process", func(t *testing.T, w *world) {
			t.Helper()
			other := w.index(t)
			_, err := other.Rebuild(t.Context(), nil)
			require.NoError(t, err)
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			tip := w.start(t, "a", 3)
			x := w.index(t)
			synced(t, x)

			tc.do(t, w)
			w.setTip(t, "a", w.write(t, tip, frameDraft()).ID)

			want := w.truth(t)
			assert.Equal(t, want, synced(t, x))
			assert.Equal(t, want, synced(t, w.index(t)), "what the next process opens is sound")
		})
	}
}

// running is another process that was started.
type running struct {
	cmd *exec.Cmd
	out io.ReadCloser
}

func (w *world) startProcess(t *testing.T, env ...string) running {
	t.Helper()
	cmd := w.process(t.Context(), t)
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	return running{cmd, out}
}

func (r running) report(t *testing.T) report {
	t.Helper()
	var got report
	assert.NoError(t, json.NewDecoder(r.out).Decode(&got))
	assert.NoError(t, r.cmd.Wait())
	return got
}

func TestProcessesSyncSideBySide(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 20 {
		w.start(t, "run-"+strconv.Itoa(i), 5)
	}
	tip := w.start(t, "growing", 2)
	var others []running
	for range 3 {
		others = append(others, w.startProcess(t))
	}
	x := w.index(t)
	for range 10 {
		tip = w.write(t, tip, frameDraft())
		w.setTip(t, "growing", tip.ID)
		require.NoError(t, x.Sync(t.Context()))
	}
	for _, other := range others {
		got := other.report(t)
		assert.Len(t, got.Index.Runs, 21, got.Problems)
		assert.False(t, got.Degraded)
	}
	got := synced(t, x)
	assert.Equal(t, w.truth(t), got)
	assert.Len(t, got.Frames["growing"], 12)
}

// TestProcessesRebuildUnderEachOther replaces the file again and again while
// others have it open, read it and write to it.
func TestProcessesRebuildUnderEachOther(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.quick = true
	for i := range 20 {
		w.start(t, "run-"+strconv.Itoa(i), 5)
	}
	tip := w.start(t, "growing", 2)
	var others []running
	for range 3 {
		others = append(others, w.startProcess(t, rebuildVariable+"=1"), w.startProcess(t))
	}
	x := w.index(t)
	for range 10 {
		tip = w.write(t, tip, frameDraft())
		w.setTip(t, "growing", tip.ID)
		require.Equal(t, w.truth(t), synced(t, x))
	}
	for _, other := range others {
		got := other.report(t)
		assert.Len(t, got.Index.Runs, 21, got.Problems)
		assert.False(t, got.Degraded)
	}
	assert.Equal(t, w.truth(t), synced(t, x))
	assert.Equal(t, w.truth(t), synced(t, w.index(t)), "what the next process opens is sound")
}

func TestAnIndexThatIsClosedSaysSo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	x, err := sqliteindex.Open(t.Context(), w.options())
	require.NoError(t, err)
	require.NoError(t, x.Close())
	require.NoError(t, x.Close())

	_, err = x.Runs(t.Context())
	require.ErrorIs(t, err, sqliteindex.ErrClosed)
	require.ErrorIs(t, x.Sync(t.Context()), sqliteindex.ErrClosed)
	_, err = x.Rebuild(t.Context(), nil)
	require.ErrorIs(t, err, sqliteindex.ErrClosed)
}

func TestACancelledSyncLeavesTheIndexUsable(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start(t, "a", 2)
	x := w.index(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, x.Sync(ctx), context.Canceled)
	assert.Equal(t, w.truth(t), synced(t, x))
	assert.NoError(t, x.Degraded())
}

func optionsAt(w *world, path string) sqliteindex.Options {
	opts := w.options()
	opts.Path = path
	return opts
}

// TestLibcIsTheVersionThatSQLiteRequires holds the driver's own rule: it is a
// translation of C, made for exactly one version of its C library.
func TestLibcIsTheVersionThatSQLiteRequires(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.GoMod}}", "modernc.org/sqlite").Output()
	require.NoError(t, err)
	version := regexp.MustCompile(`modernc\.org/libc (v\S+)`)
	theirs, err := os.ReadFile(strings.TrimSpace(string(out)))
	require.NoError(t, err)
	ours, err := os.ReadFile(filepath.Join("..", "go.mod"))
	require.NoError(t, err)
	require.NotNil(t, version.FindSubmatch(theirs))
	assert.Equal(t, version.FindString(string(theirs)), version.FindString(string(ours)))
}
