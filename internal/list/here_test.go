package list_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/list"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/timeline"
)

// open opens the history of a new repository.
func open(t *testing.T) *timeline.Store {
	t.Helper()
	repo := repotest.New(t)
	s, err := timeline.Open(t.Context(), timeline.Options{Dir: repo.Dir, Env: repo.Env})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	return s
}

func TestTheRunsOfAWorkingCopyAreListedNewestFirst(t *testing.T) {
	t.Parallel()
	s := open(t)
	assert.Empty(t, list.Here(s))
	for _, run := range []string{"a", "b", "b", "two\nlines", "a", "a"} {
		list.NoteHere(s, run)
	}
	assert.Equal(t, []string{"a", "two\nlines", "b"}, list.Here(s))
	files, err := filepath.Glob(filepath.Join(s.Private(), "here", "*"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	text, err := os.ReadFile(files[0])
	require.NoError(t, err)
	assert.Equal(t, "\"a\"\n\"b\"\n\"two\\nlines\"\n\"a\"\n", string(text), "a run that is the newest already has no further line")
}

// A clone of many years has a file of any length: its end is read.
func TestTheEndOfManyRunsIsRead(t *testing.T) {
	t.Parallel()
	s := open(t)
	list.NoteHere(s, "first")
	files, err := filepath.Glob(filepath.Join(s.Private(), "here", "*"))
	require.NoError(t, err)
	var text strings.Builder
	for i := range 50_000 {
		fmt.Fprintf(&text, "\"run-%d\"\n", i)
	}
	text.WriteString("no line of ours\n")
	require.NoError(t, os.WriteFile(files[0], []byte(text.String()), 0o600))
	here := list.Here(s)
	assert.Equal(t, "run-49999", here[0])
	assert.Less(t, len(here), 10_000)
	list.NoteHere(s, "run-49999")
	list.NoteHere(s, "last")
	assert.Equal(t, []string{"last", "run-49999", "run-49998"}, list.Here(s)[:3])
}
