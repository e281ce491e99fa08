package timeline

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/gofrs/flock"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/snapshot"
)

// seriesFolder holds a file for each run whose series is being committed, in the store's private folder. A file that
// nobody has locked was left by a process that was killed, maybe before it had made all frame refs.
const seriesFolder = "series"

// seriesNote says from which frame on a series makes frame refs. A series has the note's lock while it commits.
type seriesNote struct {
	path string
	lock *flock.Flock
}

func (s *Store) seriesNotePath(run string) (string, error) {
	component, err := refs.EscapeRun(run)
	return filepath.Join(s.Private(), seriesFolder, component), err
}

// noteSeries writes the note of a series whose first frame is given. It is not put on stable storage: frames are
// found without their refs.
func (s *Store) noteSeries(run string, first int64) (*seriesNote, error) {
	path, err := s.seriesNotePath(run)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return nil, err
	}
	n := &seriesNote{path, flock.New(path, flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o666))}
	locked, err := n.lock.TryLock()
	if err != nil || !locked { // another series of the run is at it, and one of the two is a conflict
		return nil, errors.Join(err, n.lock.Close())
	}
	if left, ok := readSeriesNote(path); ok {
		first = min(first, left) // what a killed one has left out stays noted
	}
	if err := os.WriteFile(path, []byte(strconv.FormatInt(first, 10)+"\n"), 0o666); err != nil {
		return nil, errors.Join(err, n.remove())
	}
	return n, nil
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

// takeSeriesNote takes the note that a killed process left about a run; nil for none.
func (s *Store) takeSeriesNote(run string) (*seriesNote, error) {
	path, err := s.seriesNotePath(run)
	if err != nil {
		return nil, err
	}
	if _, err := os.Lstat(path); err != nil {
		return nil, nil //nolint:nilerr,nilnil // no series was killed
	}
	n := &seriesNote{path, flock.New(path, flock.SetFlag(os.O_RDWR))}
	locked, err := n.lock.TryLock()
	if err != nil || !locked {
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			err = nil // it has just ended, or is another user's
		}
		return nil, errors.Join(err, n.lock.Close())
	}
	return n, nil
}

// repairSeries makes the frame refs that a killed series left out, as far as smithers.frameRefs allows.
func (s *Store) repairSeries(ctx context.Context, run string, tip *snapshot.Entry) error {
	note, err := s.takeSeriesNote(run)
	if err != nil || note == nil {
		return err
	}
	first, ok := readSeriesNote(note.path)
	if !ok {
		return note.remove() // it was killed before it moved the tip
	}
	frames, err := s.Frames(ctx, tip, objstore.ID{})
	if err == nil {
		frames.Frames = slices.DeleteFunc(frames.Frames, func(ref refs.FrameRef) bool { return ref.Frame < first })
		_, err = s.MakeFrameRefs(ctx, frames)
	}
	if err != nil {
		return errors.Join(err, note.leave())
	}
	return note.remove()
}

// dropSeriesNote forgets what a killed series has left out, for a run whose frame refs are dropped on purpose.
func (s *Store) dropSeriesNote(run string) error {
	note, err := s.takeSeriesNote(run)
	if err != nil {
		return err
	}
	return note.remove()
}

// FramesWithoutRefs are the frames of a run, oldest first, that have no ref and should: those between others that have
// one, and those that a killed series left out. list are the refs there are, sorted; chain is the frames of the run.
func (s *Store) FramesWithoutRefs(run string, list []refs.FrameRef, chain map[int64]objstore.ID) ([]refs.FrameRef, error) {
	first, last := int64(refs.MaxFrame), int64(0)
	if len(list) > 0 {
		first, last = list[0].Frame, list[len(list)-1].Frame
	}
	note, err := s.takeSeriesNote(run)
	if err != nil {
		return nil, Explain(err)
	}
	if note != nil {
		if noted, ok := readSeriesNote(note.path); ok {
			first, last = min(first, noted), refs.MaxFrame
		}
		if err := note.leave(); err != nil {
			return nil, Explain(err)
		}
	}
	there := make(map[int64]bool, len(list))
	for _, ref := range list {
		there[ref.Frame] = true
	}
	var lacking []refs.FrameRef
	for frame, id := range chain {
		if frame >= first && frame <= last && !there[frame] {
			lacking = append(lacking, refs.FrameRef{Frame: frame, ID: id})
		}
	}
	slices.SortFunc(lacking, func(a, b refs.FrameRef) int { return cmp.Compare(a.Frame, b.Frame) })
	return lacking, nil
}
