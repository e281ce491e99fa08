package hooks_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/peer/agent/dialect"
	"github.com/git-smithers/git-smithers/internal/peer/agent/hooks"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// settings is a working copy with settings of Claude Code.
func settings(t *testing.T, text string) (setup hooks.Setup, path string) {
	t.Helper()
	claude, ok := dialect.Of(dialect.Claude)
	require.True(t, ok)
	setup = hooks.Setup{Agent: claude, Root: t.TempDir(), Private: t.TempDir()}
	path = filepath.Join(setup.Root, setup.File())
	if text != "" {
		require.NoError(t, os.Mkdir(filepath.Dir(path), 0o777))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o640))
	}
	return setup, path
}

// read returns the text of a file.
func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(data)
}

func TestDisableGivesBackTheSettings(t *testing.T) {
	t.Parallel()
	for _, before := range []string{
		"{}", " \n", "{\n  \"a\": 1\n}\n", "{\"a\":1}", "{\n\t// mine\n\t\"hooks\": {},\n}\n", `{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"x"}]}]}}`,
	} {
		setup, path := settings(t, before)
		for _, changed := range []bool{true, false} {
			got, err := setup.Enable()
			require.NoError(t, err)
			assert.Equal(t, changed, got)
		}
		have, want, err := setup.InPlace()
		require.NoError(t, err)
		assert.Equal(t, want, have)
		info, err := os.Stat(path)
		require.NoError(t, err)
		assert.Equal(t, os.FileMode(0o640), info.Mode())
		for _, changed := range []bool{true, false} {
			got, err := setup.Disable()
			require.NoError(t, err)
			assert.Equal(t, changed, got)
		}
		assert.Equal(t, before, read(t, path))
	}
}

func TestDisableTakesOutItsOwnCommandsAlone(t *testing.T) {
	t.Parallel()
	setup, path := settings(t, "")
	_, err := setup.Enable()
	require.NoError(t, err)
	edited := strings.Replace(read(t, path), `"hooks": [`, `"hooks": [{"type": "command", "command": "mine"},`, 1)
	require.NoError(t, os.WriteFile(path, []byte(edited), 0o600))
	removed, err := setup.Disable()
	require.NoError(t, err)
	assert.True(t, removed)
	left := read(t, path)
	assert.Contains(t, left, `"command": "mine"`)
	assert.NotContains(t, left, "git-smithers")
}

func TestAHookThatSomebodyTookOutIsNotGivenBack(t *testing.T) {
	t.Parallel()
	setup, path := settings(t, `{"a":1}`)
	_, err := setup.Enable()
	require.NoError(t, err)
	edited := strings.Replace(read(t, path), `"SessionEnd"`, `"Other"`, 1)
	edited = strings.Replace(edited, "session hook claude SessionEnd", "other", 1)
	require.NoError(t, os.WriteFile(path, []byte(edited), 0o600))
	_, err = setup.Enable() // adds the missing hook
	require.NoError(t, err)
	_, err = setup.Disable()
	require.NoError(t, err)
	assert.NotContains(t, read(t, path), "git-smithers session hook")
	assert.Contains(t, read(t, path), `"Other"`)
}

func TestSettingsThatAreNoObjectStay(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"{", "[]", "1", `{"hooks":[]}`, `{"hooks":{"Stop":{}}}`} {
		setup, path := settings(t, text)
		_, err := setup.Enable()
		assert.Equal(t, fault.InvalidInput, fault.CodeOf(err), text)
		assert.Equal(t, text, read(t, path))
	}
}

func TestSettingsThatNestTooDeepAreRefused(t *testing.T) {
	t.Parallel()
	setup, _ := settings(t, strings.Repeat("[", 50_000_000))
	_, _, err := setup.InPlace()
	assert.Equal(t, fault.InvalidInput, fault.CodeOf(err))
}

func TestHooksOfGeminiComeAndGo(t *testing.T) {
	t.Parallel()
	gemini, ok := dialect.Of(dialect.Gemini)
	require.True(t, ok)
	setup := hooks.Setup{Agent: gemini, Root: t.TempDir(), Private: t.TempDir()}
	path := filepath.Join(setup.Root, ".gemini", "settings.json")
	require.NoError(t, os.Mkdir(filepath.Dir(path), 0o777))
	before := "{\n  // mine\n  \"hooksConfig\": {\"enabled\": false},\n}\n"
	require.NoError(t, os.WriteFile(path, []byte(before), 0o600))
	_, err := setup.Enable()
	require.NoError(t, err)
	assert.Equal(t, 5, strings.Count(read(t, path), "git-smithers session hook gemini "))
	assert.Contains(t, read(t, path), `"timeout":30000`)
	assert.Contains(t, read(t, path), `"hooksConfig": {"enabled": false}`, "a user's choice stays")
	_, err = setup.Disable()
	require.NoError(t, err)
	assert.Equal(t, before, read(t, path))
}

func TestHooksThatAreEntriesComeAndGo(t *testing.T) {
	t.Parallel()
	cursor, ok := dialect.Of(dialect.Cursor)
	require.True(t, ok)
	for _, before := range []string{"", `{"version":1,"hooks":{"stop":[{"command":"mine"}]}}`} {
		setup := hooks.Setup{Agent: cursor, Root: t.TempDir(), Private: t.TempDir()}
		path := filepath.Join(setup.Root, ".cursor", "hooks.json")
		if before != "" {
			require.NoError(t, os.Mkdir(filepath.Dir(path), 0o777))
			require.NoError(t, os.WriteFile(path, []byte(before), 0o600))
		}
		for _, changed := range []bool{true, false} {
			got, err := setup.Enable()
			require.NoError(t, err)
			assert.Equal(t, changed, got)
		}
		have, want, err := setup.InPlace()
		require.NoError(t, err)
		assert.Equal(t, want, have)
		assert.Regexp(t, `"version": ?1`, read(t, path))
		edited := strings.Replace(read(t, path), "{", "{ ", 1)
		if before != "" { // somebody has edited the file
			require.NoError(t, os.WriteFile(path, []byte(edited), 0o600))
		}
		_, err = setup.Disable()
		require.NoError(t, err)
		if before == "" {
			assert.NoDirExists(t, filepath.Dir(path))
			continue
		}
		assert.JSONEq(t, before, read(t, path))
	}
}

func TestHooksThatAnAgentWouldNotReadAnyMoreAreNotHidden(t *testing.T) {
	t.Parallel()
	droid, ok := dialect.Of(dialect.Droid)
	require.True(t, ok)
	setup := hooks.Setup{Agent: droid, Root: t.TempDir(), Private: t.TempDir()}
	own := filepath.Join(setup.Root, ".factory", "settings.json")
	require.NoError(t, os.Mkdir(filepath.Dir(own), 0o777))
	require.NoError(t, os.WriteFile(own, []byte(`{"hooks":{"Stop":[]}}`), 0o600))
	_, err := setup.Enable()
	assert.Equal(t, fault.InvalidInput, fault.CodeOf(err))
	assert.NoFileExists(t, filepath.Join(setup.Root, setup.File()))
	require.NoError(t, os.WriteFile(own, []byte(`{"model":"x"}`), 0o600))
	_, err = setup.Enable()
	require.NoError(t, err)
	assert.FileExists(t, filepath.Join(setup.Root, setup.File()))
}

func TestSettingsOutsideOfTheWorkingCopyStay(t *testing.T) {
	t.Parallel()
	for _, link := range []string{".claude", ".claude/settings.local.json"} {
		setup, path := settings(t, "")
		outside := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(outside, "settings.local.json"), []byte("{}"), 0o600))
		if link == ".claude" {
			require.NoError(t, os.Symlink(outside, filepath.Join(setup.Root, link)))
		} else {
			require.NoError(t, os.Mkdir(filepath.Dir(path), 0o777))
			require.NoError(t, os.Symlink(filepath.Join(outside, "settings.local.json"), path))
		}
		for _, change := range []func() (bool, error){setup.Enable, setup.Disable} {
			_, err := change()
			assert.Equal(t, fault.InvalidInput, fault.CodeOf(err), link)
			assert.ErrorContains(t, err, outside)
		}
		assert.Equal(t, "{}", read(t, filepath.Join(outside, "settings.local.json")))
	}
	setup, path := settings(t, "")
	require.NoError(t, os.MkdirAll(filepath.Join(setup.Root, "shared"), 0o777))
	require.NoError(t, os.Symlink(filepath.Join(setup.Root, "shared"), filepath.Dir(path)))
	_, err := setup.Enable()
	require.NoError(t, err, "a link within the working copy is followed")
}
