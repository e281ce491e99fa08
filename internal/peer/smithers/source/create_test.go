package source_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
)

// adds inserts a run.
func adds(id string) func(*source.WriteTx) error {
	return func(tx *source.WriteTx) error { return tx.Insert("_smithers_runs", run(id)) }
}

// runIDs are the runs of a database.
func runIDs(t *testing.T, path string) (ids []string) {
	t.Helper()
	read(t, path, func(tx *source.Tx) {
		for _, row := range rows(t, tx, "_smithers_runs", "") {
			ids = append(ids, row["run_id"].Bytes)
		}
	})
	return ids
}

func TestADatabaseIsMadeWhereALinkLeadsTo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "far", "away"), 0o777))
	for link, to := range map[string]string{
		"absolute": filepath.Join(dir, "far", "absolute.db"), "relative": "far/relative.db", "another": "second", "second": "far/second.db",
		"folder": "far/away", "above": "folder/../above.db",
	} {
		require.NoError(t, os.Symlink(to, filepath.Join(dir, link)))
	}
	for link, made := range map[string]string{
		"absolute": "absolute.db", "relative": "relative.db", "another": "second.db", "above": "above.db",
	} {
		write(t, filepath.Join(dir, link), adds(link))
		info, err := os.Lstat(filepath.Join(dir, "far", made))
		require.NoError(t, err, link)
		assert.True(t, info.Mode().IsRegular(), link)
		assert.Equal(t, []string{link}, runIDs(t, filepath.Join(dir, link)))
	}
	assert.ElementsMatch(t, []string{"absolute", "relative", "another", "second", "folder", "above", "far"}, beside(t, filepath.Join(dir, "absolute")))
}

func TestALinkThatLeadsNowhereIsAnError(t *testing.T) {
	t.Parallel()
	round := filepath.Join(t.TempDir(), "round")
	require.NoError(t, os.Symlink("round", round))
	err := source.Write(t.Context(), round, adds("r"))
	require.ErrorIs(t, err, syscall.ELOOP)
	failed, ok := errors.AsType[*fs.PathError](err)
	require.True(t, ok)
	assert.Equal(t, round, failed.Path)
}

func TestOfTwoThatFindAnEmptyFileTheSecondAdds(t *testing.T) {
	t.Parallel()
	path := writeFile(t, nil)
	second := make(chan error, 1)
	write(t, path, func(tx *source.WriteTx) error {
		go func() { second <- source.Write(context.Background(), path, adds("second")) }()
		time.Sleep(300 * time.Millisecond) // it finds the file empty, and waits
		return adds("first")(tx)
	})
	require.NoError(t, <-second)
	assert.ElementsMatch(t, []string{"first", "second"}, runIDs(t, path))
	intact(t, path)
}

func TestAnEmptyFileThatSomebodyElseHasTakenMeanwhileIsLeftAlone(t *testing.T) {
	t.Parallel()
	path := writeFile(t, nil)
	theirs := open(t, path)
	execute(t, theirs, "BEGIN IMMEDIATE", "CREATE TABLE theirs (a)")
	done := make(chan error, 1)
	go func() { done <- source.Write(context.Background(), path, adds("r")) }()
	time.Sleep(300 * time.Millisecond)
	execute(t, theirs, "COMMIT")
	require.ErrorIs(t, <-done, source.ErrNotSmithers)
}

func TestWithoutHardLinksADatabaseIsMadeInItsPlace(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "new.db")
	require.NoError(t, source.WriteWithoutLinks(t.Context(), path, adds("r")))
	intact(t, path)
	assert.Equal(t, []string{"r"}, runIDs(t, path))
	assert.Equal(t, []string{"new.db"}, beside(t, path))
	require.NoError(t, source.WriteWithoutLinks(t.Context(), path, adds("again")))
	assert.ElementsMatch(t, []string{"r", "again"}, runIDs(t, path))
}

func TestWithoutHardLinksWhatFailsLeavesAnEmptyFileAtMost(t *testing.T) {
	t.Parallel()
	path, mine := filepath.Join(t.TempDir(), "new.db"), errors.New("mine")
	err := source.WriteWithoutLinks(t.Context(), path, func(tx *source.WriteTx) error { return errors.Join(adds("r")(tx), mine) })
	require.ErrorIs(t, err, mine)
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Empty(t, content)
	assert.Equal(t, []string{"new.db"}, beside(t, path))
	write(t, path, adds("again"))
	assert.Equal(t, []string{"again"}, runIDs(t, path))
}

func TestAFullDatabaseAndAForbiddenRowAreToldApart(t *testing.T) {
	t.Parallel()
	path := database(t, runsSQL, "CREATE TABLE full (id INTEGER PRIMARY KEY AUTOINCREMENT, a TEXT CHECK (a <> ''))",
		"INSERT INTO full VALUES (9223372036854775807, 'x')")
	err := source.Write(t.Context(), path, func(tx *source.WriteTx) error {
		return tx.Insert("full", source.Row{"a": text("y")})
	})
	require.ErrorIs(t, err, source.ErrFull)
	require.ErrorIs(t, err, syscall.ENOSPC)
	err = source.Write(t.Context(), path, func(tx *source.WriteTx) error {
		return tx.Insert("full", source.Row{"id": integer(1), "a": text("")})
	})
	require.ErrorIs(t, err, source.ErrConstraint)
}

func TestContentsUnderAHashAreThoseOrNot(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "new.db")
	write(t, path, func(tx *source.WriteTx) error {
		for i, one := range []struct {
			contents source.Contents
			want     bool
		}{
			{source.Contents{Nodes: "[]", Outputs: "{}", Ralph: "[]", Input: "1"}, true},
			{source.Contents{Nodes: "[]", Outputs: "{}", Ralph: "[]", Input: "1"}, true},
			{source.Contents{Nodes: "[]", Outputs: "{}", Ralph: "[]", Input: "2"}, false},
			{source.Contents{Nodes: "[] ", Outputs: "{}", Ralph: "[]", Input: "1"}, false},
		} {
			has, err := tx.PutContents(text("hash"), one.contents)
			require.NoError(t, err)
			assert.Equal(t, one.want, has, i)
		}
		return nil
	})
	read(t, path, func(tx *source.Tx) { assert.Len(t, rows(t, tx, "_smithers_snapshot_contents", ""), 1) })
}

// The folder for temporary files is the process's.
func TestACopyThatAKilledReaderLeftIsRemovedByTheNext(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	path := filepath.Join(t.TempDir(), "smithers.db")
	engine := open(t, path)
	execute(t, engine, walSQL...)
	copied := filepath.Join(t.TempDir(), "smithers.db")
	for _, suffix := range []string{"", "-wal"} {
		content, err := os.ReadFile(path + suffix)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(copied+suffix, content, 0o600))
	}
	left, another := filepath.Join(temporary, "smithers-copy.new-1"), filepath.Join(temporary, "smithers-copy.new-2")
	read(t, copied, func(*source.Tx) {
		folders := beside(t, left)
		require.Len(t, folders, 1)
		live := filepath.Join(temporary, folders[0])
		require.NoError(t, os.CopyFS(left, os.DirFS(live)))
		require.NoError(t, os.Mkdir(another, 0o777))
		read(t, copied, func(*source.Tx) { assert.DirExists(t, live, "its reader lives") })
		assert.NoDirExists(t, left)
	})
	assert.Equal(t, []string{filepath.Base(another)}, beside(t, left), "nobody knows whose that is")
}
