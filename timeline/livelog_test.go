package timeline_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/claim"
	"github.com/git-smithers/git-smithers/internal/repotest"
)

// liveLogs are those of a run in a repository of its own, and the folder in which they are.
func liveLogs(t *testing.T) (logs *claim.LiveLogs, folder string) {
	t.Helper()
	repo := repotest.New(t, repotest.Commit)
	return claim.LiveLogsOf(open(t, repo), "run"), filepath.Join(repo.GitDir, "smithers", "logs")
}

func TestTheLogOfAnAttemptCanBeReadWhileItGrows(t *testing.T) {
	t.Parallel()
	logs, folder := liveLogs(t)
	const attempt = "a::0::1"
	assert.Empty(t, logs.Last(attempt), "not begun")
	w, err := logs.Open(attempt, 1000)
	require.NoError(t, err)
	assert.Empty(t, logs.Last(attempt), "nothing written")
	_, err = io.WriteString(w, "one\ntw")
	require.NoError(t, err)
	assert.Equal(t, "one\ntw", logs.Last(attempt))
	require.NoError(t, w.Close())
	assert.Equal(t, "one\ntw", logs.Last(attempt), "it stays until it is taken away")
	logs.Remove(attempt)
	assert.Empty(t, logs.Last(attempt))
	left, err := os.ReadDir(folder)
	require.NoError(t, err)
	assert.Empty(t, left)
}

func TestALogThatIsBegunAgainIsEmpty(t *testing.T) {
	t.Parallel()
	logs, _ := liveLogs(t)
	w, err := logs.Open("a::0::1", 1000)
	require.NoError(t, err)
	_, err = io.WriteString(w, "of a process that is gone")
	require.NoError(t, errors.Join(err, w.Close()))
	w, err = logs.Open("a::0::1", 1000)
	require.NoError(t, err)
	assert.Empty(t, logs.Last("a::0::1"))
	require.NoError(t, w.Close())
}

func TestTheFileOfSignalsOfAnAttemptGoesWithItsLog(t *testing.T) {
	t.Parallel()
	logs, folder := liveLogs(t)
	attempt := strings.Repeat("long", 100) + "::0::1"
	file, err := logs.Signals(attempt)
	require.NoError(t, err)
	_, err = io.WriteString(file, "of a process that is gone\n")
	require.NoError(t, errors.Join(err, file.Close()))
	again, err := logs.Signals(attempt)
	require.NoError(t, err)
	assert.Equal(t, file.Name(), again.Name())
	_, err = io.WriteString(again, "a signal\n")
	require.NoError(t, errors.Join(err, again.Close()))
	text, err := os.ReadFile(again.Name())
	require.NoError(t, err)
	assert.Equal(t, "a signal\n", string(text))
	assert.Empty(t, logs.Last(attempt), "it is no log")
	logs.Remove(attempt)
	left, err := os.ReadDir(folder)
	require.NoError(t, err)
	assert.Empty(t, left)
}

func TestAnyAttemptHasALogOfItsOwn(t *testing.T) {
	t.Parallel()
	logs, _ := liveLogs(t)
	long := strings.Repeat("x", 1000)
	keys := []string{"a/b::0::1", "A/B::0::1", "../../a::0::1", long + "::0::1", long + "::0::2"}
	for _, key := range keys {
		w, err := logs.Open(key, 100)
		require.NoError(t, err)
		_, err = fmt.Fprintf(w, "%.10s%s", key, key[len(key)-1:])
		require.NoError(t, errors.Join(err, w.Close()))
	}
	for _, key := range keys {
		assert.Equal(t, fmt.Sprintf("%.10s%s", key, key[len(key)-1:]), logs.Last(key))
	}
}

func TestALongLogKeepsItsEnd(t *testing.T) {
	t.Parallel()
	logs, folder := liveLogs(t)
	const limit = 100
	w, err := logs.Open("a::0::1", limit)
	require.NoError(t, err)
	var all strings.Builder
	for i := range 200 {
		line := fmt.Sprintf("line %d\n", i)
		all.WriteString(line)
		_, err := io.WriteString(w, line)
		require.NoError(t, err)
		files, err := filepath.Glob(filepath.Join(folder, "run", "*"))
		require.NoError(t, err)
		require.Len(t, files, 1)
		info, err := os.Stat(files[0])
		require.NoError(t, err)
		require.LessOrEqual(t, info.Size(), int64(2*limit+100), "bounded")
	}
	require.NoError(t, w.Close())
	first, kept, _ := strings.Cut(logs.Last("a::0::1"), "\n")
	assert.GreaterOrEqual(t, len(kept), limit)
	assert.True(t, strings.HasSuffix(all.String(), kept))
	assert.Equal(t, fmt.Sprintf("[%d bytes before this are not kept]", all.Len()-len(kept)), first)
}

func TestAFollowerSeesAllOfALog(t *testing.T) {
	t.Parallel()
	logs, _ := liveLogs(t)
	const limit = 64
	var got strings.Builder
	var w io.WriteCloser
	written := 0
	var all strings.Builder
	// The log is written, and its file replaced, between two looks at it.
	ended := func() (bool, error) {
		if w == nil {
			var err error
			if w, err = logs.Open("a::0::1", limit); err != nil {
				return false, err
			}
		}
		for range 5 {
			line := fmt.Sprintf("line %d\n", written)
			all.WriteString(line)
			if _, err := io.WriteString(w, line); err != nil {
				return false, err
			}
			written++
		}
		if written < 50 {
			return false, nil
		}
		err := w.Close()
		logs.Remove("a::0::1")
		return true, err
	}
	require.NoError(t, logs.Follow(t.Context(), "a::0::1", &got, ended))
	assert.Equal(t, all.String(), got.String())
}

func TestAFollowerIsToldWhatItHasMissed(t *testing.T) {
	t.Parallel()
	logs, _ := liveLogs(t)
	w, err := logs.Open("a::0::1", 10)
	require.NoError(t, err)
	for range 10 {
		_, err := io.WriteString(w, "0123456789")
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	var got strings.Builder
	require.NoError(t, logs.Follow(t.Context(), "a::0::1", &got, func() (bool, error) { return true, nil }))
	first, kept, _ := strings.Cut(got.String(), "\n")
	assert.Equal(t, fmt.Sprintf("[%d bytes before this are not kept]", 100-len(kept)), first)
	assert.Equal(t, strings.Repeat("0123456789", len(kept)/10), kept)
}

func TestFollowingEndsWithItsContext(t *testing.T) {
	t.Parallel()
	logs, _ := liveLogs(t)
	ctx, cancel := context.WithCancel(t.Context())
	err := logs.Follow(ctx, "a::0::1", io.Discard, func() (bool, error) {
		cancel()
		return false, nil
	})
	require.ErrorIs(t, err, context.Canceled)
}

func TestFollowingEndsWithAnyError(t *testing.T) {
	t.Parallel()
	logs, _ := liveLogs(t)
	broken := errors.New("broken")
	err := logs.Follow(t.Context(), "a::0::1", io.Discard, func() (bool, error) { return false, broken })
	require.ErrorIs(t, err, broken)
}

func TestALogThatCannotBeKeptIsNoError(t *testing.T) {
	t.Parallel()
	logs, folder := liveLogs(t)
	w, err := logs.Open("a::0::1", 10)
	require.NoError(t, err)
	require.NoError(t, os.RemoveAll(folder))
	for range 10 { // longer than what fits, so that a new file is asked for
		n, err := io.WriteString(w, "0123456789")
		require.NoError(t, err)
		assert.Equal(t, 10, n)
	}
	require.NoError(t, w.Close())
	assert.Empty(t, logs.Last("a::0::1"))
}
