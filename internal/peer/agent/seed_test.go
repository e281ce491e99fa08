package agent_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/peer/agent"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/timeline"
)

// store opens the store of the session's repository.
func (s *session) store() *timeline.Store {
	s.t.Helper()
	store, err := timeline.Open(s.t.Context(), timeline.Options{Dir: s.Dir, Env: s.Env, Now: time.Now})
	require.NoError(s.t, err)
	s.t.Cleanup(func() { assert.NoError(s.t, store.Close()) })
	return store
}

// checkpoints returns the checkpoints of a session up to an address.
func (s *session) checkpoints(address string) []agent.Checkpoint {
	s.t.Helper()
	store := s.store()
	at, err := store.Load(s.t.Context(), address)
	require.NoError(s.t, err)
	var all []agent.Checkpoint
	require.NoError(s.t, agent.Checkpoints{}.Write(s.t.Context(), store, at, func(c agent.Checkpoint) error {
		all = append(all, c)
		return nil
	}))
	return all
}

// remove removes a file of the working copy.
func (s *session) remove(name string) {
	s.t.Helper()
	require.NoError(s.t, os.Remove(filepath.Join(s.Dir, name)))
}

// editsOfFiles has a kind of change each, in the order in which the session makes them.
func editsOfFiles(s *session) []func() {
	return []func(){
		func() { s.Write("text", "one\ntwo\nthree\n"); s.Write("no-end", "one\ntwo") },
		func() { s.Write("text", "one\n2\nthree\n"); s.Write("no-end", "one\n2") },
		func() { s.Write("no-end", "one\n2\n"); s.Write("crlf", "one\r\ntwo\r\n") },
		func() { s.Write("binary", "\x00\x01\x02"); s.Write("latin", "caf\xe9\n"); s.Write("latin1", "\xe9") },
		func() { s.Write("binary", "\x00\x01\x03"); s.Write("latin", "caf\xe9s\n"); s.Write("latin1", "\xe8") },
		func() {
			s.Write("folder with spaces/a file ", "x\n")
			s.Write("ümlaut/日本", "y\n")
			s.Write("a\t\"quoted\" b/x", "z\n")
		},
		func() { s.Write("ümlaut/日本", "yy\n"); s.Write("a\t\"quoted\" b/x", "zz\n"); s.Write("empty", "") },
		func() { require.NoError(s.t, os.Chmod(filepath.Join(s.Dir, "text"), 0o755)) },
		func() { s.remove("text"); s.remove("latin"); s.remove("empty"); s.remove("ümlaut/日本") },
		func() {
			s.remove("no-end")
			require.NoError(s.t, os.Symlink("crlf", filepath.Join(s.Dir, "no-end")))
			s.Write("crlf", "diff --git a/x b/x\n\"quoted\"\n")
		},
		func() { s.remove("binary") },
	}
}

func TestThePatchesOfAllCheckpointsGiveTheFilesOfEach(t *testing.T) {
	t.Parallel()
	s := newSession(t, repotest.New(t, repotest.Commit))
	s.Git("config", "diff.noprefix", "true")
	s.Write("unchanged", "u\n")
	s.event("UserPromptSubmit", `,"prompt":"edit"`)
	for _, edit := range editsOfFiles(s) {
		edit()
		s.event("PostToolBatch", batch("c"))
	}
	s.Git("config", "--unset", "diff.noprefix")

	all := s.checkpoints("claude-s")
	require.Len(t, all, len(editsOfFiles(s))+1)
	assert.Empty(t, all[0].Diffs, "the first checkpoint has no checkpoint before")
	copied := filepath.Join(t.TempDir(), "copy")
	s.Git("init", "-q", copied)
	in := func(args ...string) string {
		out, err := s.GitIn(copied, args...)
		require.NoError(t, err)
		return strings.TrimSpace(out)
	}
	in("config", "core.autocrlf", "false")
	in("fetch", "-q", s.Dir, "refs/smithers/_tip/claude-s")
	in("read-tree", s.tree(0))
	in("checkout-index", "-a", "-q")
	for i, c := range all {
		for _, diff := range c.Diffs {
			assert.NotContains(t, diff.Patch, "\uFFFD")
			patch := filepath.Join(t.TempDir(), "patch")
			require.NoError(t, os.WriteFile(patch, []byte(diff.Patch), 0o600))
			in("apply", "--index", "--whitespace=nowarn", patch)
		}
		assert.Equal(t, s.tree(i), in("write-tree"), "the files of checkpoint %d", i)
	}
	in("update-index", "-q", "--refresh")
	in("diff-files", "--quiet")
	assert.Equal(t, []string{"a\t\"quoted\" b/x", "folder with spaces/a file ", "ümlaut/日本"}, pathsIn(all[6].Diffs))
}

// tree returns the id of the tree with the files of a frame.
func (s *session) tree(frame int) string {
	s.t.Helper()
	return strings.TrimSpace(s.Git("rev-parse", fmt.Sprintf("refs/smithers/claude-s/%d:worktree", frame)))
}

// pathsIn returns the paths of diffs.
func pathsIn(diffs []agent.FileDiff) []string {
	var paths []string
	for _, d := range diffs {
		paths = append(paths, d.Path)
	}
	return paths
}
