package snapshot

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/git-smithers/git-smithers/internal/snapshot/row"
	"github.com/git-smithers/git-smithers/objstore"
)

// ErrInvalid is wrapped by the error about a caller's data that cannot be stored in an entry.
var ErrInvalid = errors.New("invalid")

// ErrLimit is wrapped by the error about a caller's data that is too large or too deeply nested for [Limits] or
// for the format. It wraps ErrInvalid.
var ErrLimit = fmt.Errorf("%w: beyond a limit", ErrInvalid)

// ErrNewerFormat is wrapped by the error about an entry that only a newer version can read. The entry may be
// undamaged.
var ErrNewerFormat = row.ErrNewerFormat

// ErrOlderFormat is wrapped by the error about an entry or a tombstone in a version of the format that this package
// does not read; see OlderFormatError.
var ErrOlderFormat = errors.New("written in an older format")

// OlderFormatError is the error about an entry or a tombstone in an older version of the format. It wraps
// ErrOlderFormat.
type OlderFormatError struct {
	Format int64  // the version in the commit's message
	Run    string // the run id in the commit's message; "" if the message has no valid run id
}

// Error returns a message with the version of the format.
func (e *OlderFormatError) Error() string {
	return fmt.Sprintf("%v: format %d", ErrOlderFormat, e.Format)
}

// Unwrap returns ErrOlderFormat.
func (e *OlderFormatError) Unwrap() error { return ErrOlderFormat }

// OlderFormat returns an error if the commit with the given id is an entry or a tombstone in an older version of the
// format. Otherwise it returns nil: for every other commit, for an object that is not a commit, and for an object
// that cannot be read.
func OlderFormat(r objstore.Reader, id objstore.ID) *OlderFormatError {
	data, err := readCommit(r, id)
	if err != nil {
		return nil //nolint:nilerr // only the format of a readable commit is asked for
	}
	_, message, _ := bytes.Cut(data, []byte("\n\n"))
	older, _ := errors.AsType[*OlderFormatError](checkFormat(message))
	return older
}

// invalid returns an error with the formatted text. The error wraps ErrInvalid and the errors that format wraps
// with %w.
func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrInvalid, fmt.Errorf(format, args...))
}

// corrupt returns an error that wraps objstore.ErrCorrupt and has the formatted text. The error means that no encoder
// of this package has written the object with the given id. If a single row is corrupt, id is zero.
func corrupt(id objstore.ID, format string, args ...any) error {
	return &objstore.CorruptError{ID: id, Reason: fmt.Sprintf(format, args...)}
}

// unreadable returns the error for a file in an entry's tree that cannot be decoded. id is the id of the file's blob,
// name is the name of the file, and err is the reason. If err wraps ErrNewerFormat, so does the result. Otherwise,
// the result wraps objstore.ErrCorrupt.
func unreadable(id objstore.ID, name string, err error) error {
	if errors.Is(err, ErrNewerFormat) {
		return fmt.Errorf("%s in %v: %w", name, id, err)
	}
	return corrupt(id, "%s: %v", name, err)
}
