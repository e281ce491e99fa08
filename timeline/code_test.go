package timeline_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// shot is the draft of a frame with the files of a working copy as they are now.
func shot(t testing.TB, files *files.WorkingCopy, subject string) snapshot.Draft {
	t.Helper()
	captured, err := files.Capture(context.Background())
	require.NoError(t, err)
	require.NotNil(t, captured)
	t.Cleanup(func() { require.NoError(t, captured.Close()) })
	return snapshot.Draft{Frame: &snapshot.FrameDraft{}, Subject: subject, VCS: &captured.VCS, Objects: captured.Objects}
}

// startRun makes a run whose frame 0 has the files of the working copy.
func startRun(t testing.TB, s *timeline.Store, id string) *timeline.Head {
	t.Helper()
	row := snapshot.Run{ID: id, Workflow: "triage", Status: snapshot.RunRunning}
	head, err := s.Create(context.Background(), row, shot(t, files.WorkingCopyOf(s), "started"))
	require.NoError(t, err)
	return head
}

// shoot appends a frame with the files of the working copy.
func shoot(t testing.TB, s *timeline.Store, head *timeline.Head, subject string) {
	t.Helper()
	require.NoError(t, head.Append(context.Background(), shot(t, files.WorkingCopyOf(s), subject)))
}

// ended is the change of the journal that ends an attempt of the node "a".
func ended(attempt snapshot.Attempt) snapshot.Change {
	attempt.NodeID, attempt.State = "a", snapshot.AttemptFinished
	attempt.StartedAtMs, attempt.FinishedAtMs = 1, new(int64(2))
	row := snapshot.EncodeAttempt(attempt)
	return snapshot.Change{Op: snapshot.OpSet, Collection: snapshot.CollectionAttempts, Key: row.Key, Value: row.Value}
}

// finish appends the frame at which an attempt of the node "a" ended.
func finish(t testing.TB, s *timeline.Store, head *timeline.Head, attempt int) {
	t.Helper()
	draft := shot(t, files.WorkingCopyOf(s), "a finished")
	draft.Journal = []snapshot.Change{ended(snapshot.Attempt{Attempt: attempt, CommitID: draft.VCS.CommitID, Tree: draft.VCS.Tree, Frame: new(head.Row().Frame + 1)})}
	require.NoError(t, head.Append(context.Background(), draft))
}

// filesIn is what is in a folder, but for what is git's and jj's: a file's mode and
// content, or where a symbolic link points, by path.
func filesIn(t testing.TB, dir string) map[string]string {
	t.Helper()
	out := make(map[string]string)
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := entry.Name(); name == ".git" || name == ".jj" {
			if entry.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		if entry.IsDir() {
			return nil
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if entry.Type() == fs.ModeSymlink {
			target, err := os.Readlink(path)
			out[rel] = "-> " + target
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		out[rel] = info.Mode().Perm().String()[3:4] + " " + string(data)
		return err
	}))
	return out
}

// work changes the working copy as a task may.
func work(t testing.TB, repo *repotest.Repo) {
	t.Helper()
	repo.Write("src/main.go", "package main // worked on\n")
	repo.Write("src/deep/er/new.txt", "new\n")
	require.NoError(t, os.RemoveAll(filepath.Join(repo.Dir, "notes")))
	repo.Write("tool.sh", "#!/bin/sh\n")
	require.NoError(t, os.Chmod(filepath.Join(repo.Dir, "tool.sh"), 0o755))
	require.NoError(t, os.Symlink("src/main.go", filepath.Join(repo.Dir, "link")))
}

// vcsAt is what a frame says of the working copy.
func vcsAt(t testing.TB, s *timeline.Store, address string) *snapshot.VCS {
	t.Helper()
	loaded, err := s.Load(context.Background(), address)
	require.NoError(t, err)
	vcs, err := loaded.Entry.VCSRevision()
	require.NoError(t, err)
	return vcs
}

// opsOf are what changes did, by path.
func opsOf(changes []jjbridge.PathChange) map[string]string {
	out := make(map[string]string)
	for _, c := range changes {
		out[c.Path] = c.Op
	}
	return out
}
