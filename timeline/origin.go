package timeline

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/git-smithers/git-smithers/internal/fsx"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/snapshot"
)

// Origin is where an entry of a run comes from, as far as this clone knows.
type Origin uint8

// The origins, those that are trusted less first.
const (
	Stranger Origin = iota // the entry, or an entry before it in the run, came from elsewhere
	Agreed                 // the same, but a user of this clone agreed to run commands on the files of the run
	Recorded               // this clone has recorded the run up to the entry
)

// recordedFolder is the [Store.InPlace] name of a folder. It has a file for each run to which this clone has appended an entry. A file has a
// line for each entry: the entry before it, or one of the words below, and the entry.
//
// The history itself cannot say where it comes from: everybody who can push to a remote can write every byte of it. A line is written before a ref
// reaches its entry, so a killed process leaves no entry without a line.
const recordedFolder = "recorded"

const (
	lineBegun  = "begun"  // the clone began the run with the entry
	lineAgreed = "agreed" // a user agreed to the files of the run up to the entry
)

// recordedLine returns the line of an entry. A line begins with the line end, so that a line that a power cut has left half-written spoils no other.
func recordedLine(before string, id objstore.ID) []byte {
	return fmt.Appendf(nil, "\n%s %s", before, id)
}

// follows returns the line of an entry that this clone puts on the entry before. A zero before means that the clone begins the run.
func follows(before, id objstore.ID) []byte {
	if before.IsZero() {
		return recordedLine(lineBegun, id)
	}
	return recordedLine(before.String(), id)
}

// recordedPath returns the path of the file of a run in recordedFolder.
func (s *Store) recordedPath(run string) (string, error) {
	component, err := refs.EscapeRun(run)
	return filepath.Join(s.InPlace(recordedFolder), component), err
}

// record adds lines to the file of the run with the given row. With smithers.fsync they are on stable storage afterwards if the run can be
// resumed here, so that a supervisor goes on with the run after a power cut. A failure is a warning: the run then counts as a stranger's.
func (s *Store) record(run snapshot.Run, lines []byte) {
	path, err := s.recordedPath(run.ID)
	if err == nil {
		err = appendRecorded(path, lines, s.settings.Fsync && run.WorkflowHash != "")
	}
	if err != nil {
		s.WarnOnce(fmt.Errorf("this clone could not note that it has recorded run %q: %w", run.ID, err))
	}
}

// appendRecorded appends lines to the file at path, and makes the file and its folder if they are missing.
func appendRecorded(path string, lines []byte, durable bool) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	made := errors.Is(err, fs.ErrNotExist)
	if made {
		if err = os.MkdirAll(filepath.Dir(path), 0o777); err == nil { //nolint:gosec // the umask decides who may read the repository
			f, err = os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666) //nolint:gosec // the umask decides who may read the repository
		}
	}
	if err != nil {
		return err
	}
	_, err = f.Write(lines)
	if durable && err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil || !durable || !made {
		return err
	}
	return errors.Join(fsx.SyncDir(filepath.Dir(path)), fsx.SyncDir(filepath.Dir(filepath.Dir(path))))
}

// noteNext notes that this clone appends the entry next to the run of h.
func (h *Head) noteNext(next *snapshot.Entry) {
	s, before := h.store, objstore.ID{}
	row, err := next.RunRow()
	if err != nil {
		return // the append reports the error
	}
	if h.entry != nil {
		before = h.entry.ID
		s.noteExecuted(h.entry)
	}
	s.record(row, follows(before, next.ID))
}

// Agree notes that a user of this clone agreed to run commands on the files of the run of entry, up to entry.
func (s *Store) Agree(entry *snapshot.Entry) error {
	stored := entry.Stored()
	row, err := stored.RunRow()
	if err == nil {
		s.record(row, recordedLine(lineAgreed, stored.ID))
	}
	return Explain(err)
}

// TrustsFiles reports whether git may run and obey the files of the run of an entry: this clone has recorded the run up to the entry, or the user has agreed,
// also by Options.TrustFiles.
func (s *Store) TrustsFiles(entry *snapshot.Entry) (bool, error) {
	origin, err := s.Origin(entry)
	return origin != Stranger || slices.Contains(s.trusts, entry.Stored().Run), err
}

// Inherit notes that the first entry of a new run has the files of the entry from, and so comes from where from comes from.
func (s *Store) Inherit(first, from *snapshot.Entry) error {
	row, err := first.RunRow()
	if err != nil {
		return Explain(err)
	}
	line, err := s.inherited(first.ID, from)
	if err == nil {
		s.record(row, line)
	}
	return err
}

// inherited returns the line for Inherit. first is the id of the first entry.
func (s *Store) inherited(first objstore.ID, from *snapshot.Entry) ([]byte, error) {
	switch origin, err := s.Origin(from); {
	case err != nil:
		return nil, err
	case origin == Recorded:
		return recordedLine(lineBegun, first), nil
	case origin == Agreed:
		return recordedLine(lineAgreed, first), nil
	}
	return follows(from.ID, first), nil
}

// Origin returns where an entry comes from. A run that was executed here by a version without notes counts as recorded.
func (s *Store) Origin(entry *snapshot.Entry) (Origin, error) {
	stored := entry.Stored()
	s.noteExecuted(stored)
	path, err := s.recordedPath(stored.Run)
	if err != nil {
		return Stranger, Explain(err)
	}
	lines, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Stranger, Explain(err)
	}
	// The lines of older entries are above those of newer ones.
	for want := stored.ID.String(); ; {
		end := bytes.LastIndex(lines, []byte(" "+want))
		if end < 0 {
			return Stranger, nil
		}
		lines = lines[:end]
		switch want = string(lines[bytes.LastIndexByte(lines, '\n')+1:]); want {
		case lineBegun:
			return Recorded, nil
		case lineAgreed:
			return Agreed, nil
		}
	}
}

// MuteHooks makes the store run no git hooks from now on, unless this clone has recorded entry. The caller is about to put files of the run into a
// working copy, or back out of it, and git may look for hooks among these files.
func (s *Store) MuteHooks(ctx context.Context, entry *snapshot.Entry) error {
	origin, err := s.Origin(entry)
	if err != nil || origin == Recorded {
		return err
	}
	return Explain(s.refs.NoHooks(ctx))
}

// NoteBeforeClaim makes the file of a run in recordedFolder, unless it exists. A claim calls it before it makes the folder of claims: a folder without
// such a file is by itself the mark of a run that a version without notes has executed. entry is the tip of the run.
func (s *Store) NoteBeforeClaim(entry *snapshot.Entry) error {
	s.noteExecuted(entry)
	path, err := s.recordedPath(entry.Run)
	if _, statErr := os.Lstat(path); err == nil && statErr != nil {
		err = appendRecorded(path, nil, s.settings.Fsync)
	}
	return Explain(err)
}

// noteExecuted notes a run up to entry as recorded here if a version without notes has executed it here: the run has a folder of claims, and no
// file in recordedFolder. In a copy of a repository with notes, the claims say nothing: they may be the original's.
func (s *Store) noteExecuted(entry *snapshot.Entry) {
	path, err := s.recordedPath(entry.Run)
	if _, statErr := os.Lstat(path); err != nil || !errors.Is(statErr, fs.ErrNotExist) {
		return
	}
	places, err := filepath.Glob(filepath.Join(fsx.GlobQuote(s.Private()), recordedFolder+"*"))
	if slices.ContainsFunc(places, func(place string) bool { return place != filepath.Dir(path) }) || err != nil {
		return
	}
	folder, err := s.Executed().Folder(entry.Run)
	if err != nil {
		return
	}
	row, err := entry.RunRow()
	if _, statErr := os.Lstat(folder.Path()); err == nil && statErr == nil {
		s.record(row, recordedLine(lineBegun, entry.ID))
	}
}
