package main

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	mathrand "math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/internal/scripttest"
)

// A capture reads a file before it knows that the file has a secret. If the process is killed in between, the next capture
// removes what was read: no object has the secret, and the file stays as it is.
func TestKilledCapturesKeepNoSecret(t *testing.T) {
	t.Parallel()
	s := newStorm(t)
	drawn := make([]byte, 20)
	_, err := rand.Read(drawn)
	require.NoError(t, err)
	secret := "acme" + hex.EncodeToString(drawn)
	text := "api_token = \"" + secret + "\"\n"
	files := []string{"notes.txt", ".env", "sub/settings.ini"}
	require.NoError(t, os.Mkdir(filepath.Join(s.Dir, "sub"), 0o777))
	write := func(round int) {
		for _, name := range files {
			require.NoError(t, os.WriteFile(filepath.Join(s.Dir, name), fmt.Appendf(nil, "%s# %d\n", text, round), 0o666))
		}
		require.NoError(t, os.WriteFile(filepath.Join(s.Dir, "plain.txt"), fmt.Appendf(nil, "round %d\n", round), 0o666))
	}
	const capture = `{"worktree":true,"changes":[]}`

	died, rounds := 0, repotest.Size(20, 200)
	for round := range rounds {
		write(round)
		const longest = 30_000 // microseconds, about what a capture takes
		status, out := s.callWith(capture, fmt.Sprintf("%s=1 %d", scripttest.KillVariable, mathrand.IntN(longest)), "capture", "r")
		switch status {
		case -1:
			died++
		case 0:
		default:
			require.Zero(t, status, out)
		}
	}
	t.Logf("%d of %d captures were killed", died, rounds)
	assert.Positive(t, died)
	write(rounds)
	status, out := s.callWith(capture, "", "capture", "r")
	require.Zero(t, status, out)

	assert.NotContains(t, s.Git("cat-file", "--batch-all-objects", "--batch", "--buffer"), secret)
	left, err := filepath.Glob(filepath.Join(s.GitDir, "smithers", "worktrees", "*", "objects-*"))
	require.NoError(t, err)
	assert.Empty(t, left, "nothing is left of what dead captures read")
	assert.Equal(t, fmt.Sprintf("round %d", rounds), s.Git("show", "refs/smithers/_tip/r:worktree/plain.txt"))
	for _, name := range files {
		now, err := os.ReadFile(filepath.Join(s.Dir, name))
		require.NoError(t, err)
		assert.Equal(t, fmt.Sprintf("%s# %d\n", text, rounds), string(now))
	}
	status, out = s.call("", "verify")
	require.Zero(t, status, out)
	s.Git("fsck", "--strict")
}
