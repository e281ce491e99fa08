package transport_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/refs/transport"
)

func TestAPushOfManyRefsGoesByTheUsersConfiguration(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 30)
	w.Git("config", "url."+w.origin.Dir+".insteadOf", "short:")
	w.Git("config", "--global", "remote.there.url", "short:")
	killed := filepath.Join(w.GitDir, "smithers", "tmp", "push-killed")
	require.NoError(t, os.MkdirAll(killed, 0o700))
	old := time.Now().Add(-48 * time.Hour)
	require.NoError(t, os.Chtimes(killed, old, old))
	outcomes, err := open(t, w.Repo, nil).Push(t.Context(), "there", frames(t, w.commits))
	require.NoError(t, err)
	for _, status := range statuses(outcomes) {
		assert.Equal(t, transport.Moved, status)
	}
	assert.Len(t, has(t, w.origin), 30)
	assert.Empty(t, w.Git("for-each-ref", "refs/remotes", "refs/smithers"), "no ref of this repository has moved")
	left, err := filepath.Glob(filepath.Join(w.GitDir, "smithers", "tmp", "push-*"))
	require.NoError(t, err)
	assert.Empty(t, left)
	w.origin.Git("fsck", "--strict")
}

func TestConfigurationIsTheSameFromTheScratchFolder(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	for key, value := range map[string]string{
		"demo.plain": "a", "demo.quotes": `a "b" 'c' \\ d`, "demo.lines": "a\nb\tc", "demo.signs": "  # a ; b = c  ", "demo.empty": "",
		`http.https://host.example/a.b/.extraHeader`: "X: 1", `demo.a "b" \c.name`: "v",
	} {
		w.Git("config", key, value)
	}
	w.Git("config", "--add", "credential.helper", "")
	w.Git("config", "--add", "credential.https://host.example.helper", "store")
	w.Git("config", "--add", "credential.helper", "cache")
	file := filepath.Join(w.GitDir, "config")
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, append(data, "[demo]\n\tbare\n"...), 0o600))

	list := w.Git("config", "--local", "--list", "-z")
	copied := filepath.Join(t.TempDir(), "config")
	require.NoError(t, os.WriteFile(copied, []byte(transport.ConfigText(list)+transport.ConfigText("core.bare\nfalse\x00include.path\nx\x00")), 0o600))
	want := strings.ReplaceAll(w.Git("config", "--local", "--list", "-z", "--name-only"), "extensions.refstorage\x00", "") // the scratch folder has files of refs
	assert.Len(t, w.Git("config", "--file", copied, "--list", "-z", "--name-only"), len(want)-len("core.bare\x00"))
	for _, key := range []string{"demo.plain", "demo.quotes", "demo.lines", "demo.signs", "demo.empty", "demo.bare", `http.https://host.example/a.b/.extraHeader`, `demo.a "b" \c.name`, "credential.helper"} {
		assert.Equal(t, w.Git("config", "--local", "--get-all", key), w.Git("config", "--file", copied, "--get-all", key), key)
	}
}
