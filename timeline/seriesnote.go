package timeline

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/gofrs/flock"

	"github.com/git-smithers/git-smithers/refs"
)

// seriesFolder holds a file for each run whose series is being committed, in the store's private folder. A file that
// nobody has locked was left by a process that was killed, maybe before it had made all frame refs.
const seriesFolder = "series"

// seriesNotes are the notes of series, in the store's private folder.
type seriesNotes struct{ private string }

// seriesNote says from which frame on a series makes frame refs. A series has the note's lock while it commits.
type seriesNote struct {
	path string
	lock *flock.Flock
}

func (n seriesNotes) path(run string) (string, error) {
	component, err := refs.EscapeRun(run)
	return filepath.Join(n.private, seriesFolder, component), err
}

// begin writes the note of a series whose first frame is given. It is not put on stable storage: frames are
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
	if err != nil || !locked { // another series of the run is at it, and one of the two is a conflict
		return nil, errors.Join(err, note.lock.Close())
	}
	if left, ok := readSeriesNote(path); ok {
		first = min(first, left) // what a killed one has left out stays noted
	}
	if err := os.WriteFile(path, []byte(strconv.FormatInt(first, 10)+"\n"), 0o666); err != nil {
		return nil, errors.Join(err, note.remove())
	}
	return note, nil
}

// remove removes the note. Its lock goes last, so that nobody takes its writer for dead.
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

// leave lets go of the note and leaves it to whoever opens the run next.
func (n *seriesNote) leave() error {
	if n == nil {
		return nil
	}
	return n.lock.Close()
}

// readSeriesNote reads a note. It returns false if the file is missing or was not written to its end.
func readSeriesNote(path string) (first int64, ok bool) {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	number, ended := strings.CutSuffix(string(data), "\n")
	first, err = strconv.ParseInt(number, 10, 64)
	return first, err == nil && ended
}

// take takes the note that a killed process left about a run; nil for none.
func (n seriesNotes) take(run string) (*seriesNote, error) {
	path, err := n.path(run)
	if err != nil {
		return nil, err
	}
	if _, err := os.Lstat(path); err != nil {
		return nil, nil //nolint:nilerr,nilnil // no series was killed
	}
	note := &seriesNote{path, flock.New(path, flock.SetFlag(os.O_RDWR))}
	locked, err := note.lock.TryLock()
	if err != nil || !locked {
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			err = nil // it has just ended, or is another user's
		}
		return nil, errors.Join(err, note.lock.Close())
	}
	return note, nil
}

// drop forgets what a killed series has left out, for a run whose frame refs are dropped on purpose.
func (n seriesNotes) drop(run string) error {
	note, err := n.take(run)
	if err != nil {
		return err
	}
	return note.remove()
}
