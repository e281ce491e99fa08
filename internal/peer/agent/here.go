package agent

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/git-smithers/git-smithers/internal/fsx"
	"github.com/git-smithers/git-smithers/timeline"
)

// What this clone knows of its sessions is in small files of the private folder, since no history names a folder of a machine.

// clonePath returns the path of a file about a text, such as the folder of a working copy.
func clonePath(s *timeline.Store, kind, text string) string {
	sum := sha256.Sum256([]byte(text))
	return filepath.Join(s.Private(), sessionsDir, fmt.Sprintf("%s-%x", kind, sum[:8]))
}

// noteHere notes that run is the newest session of the working copy, and that this clone has recorded it. If that cannot be noted,
// noteHere warns.
func noteHere(s *timeline.Store, run string) {
	here := clonePath(s, "here", s.Workspace().Root)
	if before, err := os.ReadFile(here); err == nil && string(before) == run && IsRecordedHere(s, run) {
		return // a hook that was killed may have noted one of the two
	}
	err := os.MkdirAll(filepath.Dir(here), 0o700)
	if err == nil {
		err = errors.Join(noteRecorded(s, run), os.WriteFile(here, []byte(run), 0o600))
	}
	if err != nil {
		s.Warn(fmt.Errorf("the newest session of the working copy was not noted: %w", err))
	}
}

// NoteNewest notes that run is the newest session of the working copy.
func NoteNewest(s *timeline.Store, run string) {
	if err := os.WriteFile(clonePath(s, "here", s.Workspace().Root), []byte(run), 0o600); err != nil {
		s.Warn(fmt.Errorf("the newest session of the working copy was not noted: %w", err))
	}
}

// noteRecorded notes that this clone has recorded the session run. The note says where: in a copy of the repository it does not count.
func noteRecorded(s *timeline.Store, run string) error {
	return os.WriteFile(clonePath(s, "recorded", run), []byte(fsx.Mark(s.Private())), 0o600)
}

// NoteForeign notes that the session run has got steps of somebody else: from now on it is a stranger's.
func NoteForeign(s *timeline.Store, run string) error {
	if err := os.Remove(clonePath(s, "recorded", run)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return timeline.Explain(err)
	}
	return nil
}

// IsRecordedHere reports whether hooks of this clone have recorded the session run, or what-if has made it here. A session that was fetched, or
// got steps by a fetch, is a stranger's.
func IsRecordedHere(s *timeline.Store, run string) bool {
	place, err := os.ReadFile(clonePath(s, "recorded", run))
	return err == nil && (string(place) == fsx.Mark(s.Private()) || string(place) == run) // an earlier version noted no place
}

// Here returns the id of the session whose hooks ran last in the working copy, or "" if none is known or it is gone.
func Here(ctx context.Context, s *timeline.Store) string {
	run, err := os.ReadFile(clonePath(s, "here", s.Workspace().Root))
	if err != nil {
		return ""
	}
	if _, err := s.Head(ctx, string(run)); err != nil {
		return ""
	}
	return string(run)
}
