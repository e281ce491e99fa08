package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// sourceWith returns a folder with a changelog of one version, and with notes of changes.
func sourceWith(t *testing.T, notes map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "changes", "unreleased"), 0o777))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "CHANGELOG.md"), []byte("# Changelog\n\nIntro.\n\n## v0.0.9 (2025-01-01)\n\n### Added\n\n* **Something.**\n"), 0o666))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "docs"), 0o777))
	for _, page := range pages {
		write(t, filepath.Join(dir, page), "`program_0.0.9_amd64.deb`, program@v0.0.9\n")
	}
	for name, text := range notes {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "changes", name), []byte(text), 0o666))
	}
	return dir
}

func TestNotesAreGathered(t *testing.T) {
	dir := sourceWith(t, map[string]string{
		"about.md":           "What it is.\n",
		"unreleased/b.md":    "Fix: mend the thing.\n\nIt was broken.\nIt is whole.\n\nAnd more.\n",
		"unreleased/a.md":    "Fix: Say it\n",
		"unreleased/new.md":  "Add: A command: `new`\n\nThere was none.\n",
		"unreleased/slow.md": "Change: Faster\n\nIt took long.\n",
	})
	require.NoError(t, gatherNotes(dir, "v0.1.0", "2026-11-28"))

	got, err := os.ReadFile(filepath.Join(dir, "CHANGELOG.md"))
	require.NoError(t, err)
	require.Equal(t, `# Changelog

Intro.

## v0.1.0 (2026-11-28)

What it is.

### Added

* **A command: `+"`new`"+`.** There was none.

### Changed

* **Faster.** It took long.

### Mended

* **Say it.**
* **Mend the thing.** It was broken.
  It is whole.

  And more.

## v0.0.9 (2025-01-01)

### Added

* **Something.**
`, string(got))
	for _, page := range pages {
		text, err := os.ReadFile(filepath.Join(dir, page))
		require.NoError(t, err)
		require.Equal(t, "`program_0.1.0_amd64.deb`, program@v0.1.0\n", string(text))
	}
	require.Empty(t, filesOf(t, dir, "changes/*.md"))
	require.Empty(t, filesOf(t, dir, "changes/unreleased/*"))
	require.Equal(t, "### Added\n\n* **Something.**\n", sectionOf(string(got), "v0.0.9"))
	require.Contains(t, sectionOf(string(got), "v0.1.0"), "What it is.")
	require.NotContains(t, sectionOf(string(got), "v0.1.0"), "Something")
	require.Empty(t, sectionOf(string(got), "v0.1"))
}

func TestNotesThatAreRefusedChangeNothing(t *testing.T) {
	for name, c := range map[string]struct {
		notes          map[string]string
		version, error string
	}{
		"no version": {map[string]string{"unreleased/a.md": "Fix: x\n"}, "0.1", `"0.1" is no version`},
		"no notes":   {nil, "v0.1.0", "has no notes"},
		"kind":       {map[string]string{"unreleased/a.md": "Fix: x\n", "unreleased/b.md": "Remove: x\n"}, "v0.1.0", "b.md is not as"},
		"title":      {map[string]string{"unreleased/a.md": "Fix: \n"}, "v0.1.0", "a.md is not as"},
		"text":       {map[string]string{"unreleased/a.md": "Fix: x\ny\n"}, "v0.1.0", "a.md is not as"},
		"twice":      {map[string]string{"unreleased/a.md": "Fix: x\n"}, "v0.0.9", "has v0.0.9 already"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := sourceWith(t, c.notes)
			before, err := os.ReadFile(filepath.Join(dir, "CHANGELOG.md"))
			require.NoError(t, err)
			require.ErrorContains(t, gatherNotes(dir, c.version, "2026-11-28"), c.error)
			after, err := os.ReadFile(filepath.Join(dir, "CHANGELOG.md"))
			require.NoError(t, err)
			require.Equal(t, before, after)
			require.Len(t, filesOf(t, dir, "changes/unreleased/*"), len(c.notes))
		})
	}
}

// filesOf returns the files of a folder that have a pattern.
func filesOf(t *testing.T, dir, pattern string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, pattern))
	require.NoError(t, err)
	return names
}

func TestTheNotesOfThisCheckoutCanBeGathered(t *testing.T) {
	for _, file := range filesOf(t, "../../changes", "unreleased/*.md") {
		_, err := readNote(file)
		require.NoError(t, err)
	}
}
