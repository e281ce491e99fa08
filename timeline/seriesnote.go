package timeline

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/git-smithers/git-smithers/internal/flock"
	"github.com/git-smithers/git-smithers/refs"
)

// seriesFolder is a folder in the store's private folder. The folder holds a note for each run whose series is
// being committed. A killed process leaves its note unlocked, and may not have made all frame refs.
const seriesFolder = "series"

// seriesNotes are the notes of the series that are being committed, in the store's private folder.
type seriesNotes struct{ private string }

// seriesNote is a file with the number of the first frame for which a series makes a frame ref. The series holds the
// note's lock while it commits. The methods of a nil note do nothing.
type seriesNote struct {
	path string
	lock *flock.Flock
}

// path returns the path of a run's note.
func (n seriesNotes) path(run string) (string, error) {
	component, err := refs.EscapeRun(run)
	return filepath.Join(n.private, seriesFolder, component), err
}

// begin writes and locks the note of a series of a run. first is the number of the first frame of the series. If a
// killed series left a note with a lower number, the new note has the lower number. If another series of the run
// holds the lock, begin returns nil without an error. The note is not put on stable storage, since frames are also
// found without their refs.
func (n seriesNotes) begin(run string, first int64) (*seriesNote, error) {
	path, err := n.path(run)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return nil, err
	}
	note := &seriesNote{path, flock.New(path, flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o666))}
	locked, err := note.lock.TryLock()
	if err != nil || !locked { // another series of the run is being committed, and one of the two series gets a conflict
		return nil, errors.Join(err, note.lock.Close())
	}
	if left, ok := readSeriesNote(path); ok {
		first = min(first, left) // the frames of a killed series stay noted
	}
	if err := os.WriteFile(path, []byte(strconv.FormatInt(first, 10)+"\n"), 0o666); err != nil {
		return nil, errors.Join(err, note.remove())
	}
	return note, nil
}

// remove removes the note's file and then unlocks the file. In the other order, other processes could take the
// writer for dead. A missing file is not an error. If n is nil, remove does nothing.
func (n *seriesNote) remove() error {
	if n == nil {
		return nil
	}
	err := os.Remove(n.path)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, n.lock.Close())
}

// leave unlocks the note and keeps the file for the next process that opens the run. If n is nil, leave does
// nothing.
func (n *seriesNote) leave() error {
	if n == nil {
		return nil
	}
	return n.lock.Close()
}

// readSeriesNote returns the frame number in a note. It returns false if the file is missing, unreadable or
// incomplete.
func readSeriesNote(path string) (first int64, ok bool) {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	number, ended := strings.CutSuffix(string(data), "\n")
	first, err = strconv.ParseInt(number, 10, 64)
	return first, err == nil && ended
}

// take locks and returns the note that a killed process left about a run. It returns nil if the run has no note,
// if the note's writer is alive, or if this user may not open the note.
func (n seriesNotes) take(run string) (*seriesNote, error) {
	path, err := n.path(run)
	if err != nil {
		return nil, err
	}
	if _, err := os.Lstat(path); err != nil {
		return nil, nil //nolint:nilerr,nilnil // the run has no note
	}
	note := &seriesNote{path, flock.New(path, flock.SetFlag(os.O_RDWR))}
	locked, err := note.lock.TryLock()
	if err != nil || !locked {
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			err = nil // the series has just ended, or the file is another user's
		}
		return nil, errors.Join(err, note.lock.Close())
	}
	return note, nil
}

// drop removes the note that a killed process left about a run. The caller drops the run's frame refs, so no
// later process must make the refs again.
func (n seriesNotes) drop(run string) error {
	note, err := n.take(run)
	if err != nil {
		return err
	}
	return note.remove()
}
