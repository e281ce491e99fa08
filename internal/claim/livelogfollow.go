package claim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/git-smithers/git-smithers/internal/fsx"
)

// liveLogPoll is the interval at which Follow reads the log.
const liveLogPoll = 100 * time.Millisecond

// Follow copies the log of an attempt to w while the log grows, from the beginning of the kept part. attempt is
// the attempt's key. If the log does not exist yet, Follow waits for the log. Instead of bytes that the log's file
// no longer has, w gets a line with their number.
//
// Follow calls ended after each copy. When ended returns true, the attempt has ended: Follow copies the rest and
// returns nil. If the file was removed after Follow had opened it, w still gets the whole log. If the file was
// removed before, w gets nothing. The error is an error of reading the log, of w, of ended or of ctx.
func (l *LiveLogs) Follow(ctx context.Context, attempt string, w io.Writer, ended func() (bool, error)) error {
	f := &liveLogReader{path: l.path(attempt)}
	defer f.close()
	ticker := time.NewTicker(liveLogPoll)
	defer ticker.Stop()
	for {
		if err := f.copy(w); err != nil {
			return err
		}
		over, err := ended()
		if err != nil {
			return err
		}
		if over {
			return f.copy(w)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}

// liveLogReader reads a log from the successive files that the writer puts in the place of the log.
type liveLogReader struct {
	path string
	file *os.File // the open file of the log; nil until the log exists
	at   int64    // the number of bytes of the log that were read or skipped
}

// close closes the open file, if there is one.
func (f *liveLogReader) close() {
	if f.file != nil {
		_ = f.file.Close() // closing a file that was only read loses nothing
	}
}

// copy copies the part of the log that was written since the last copy to w. If the writer has replaced the file, copy
// continues in the new file. If the log does not exist, copy does nothing.
func (f *liveLogReader) copy(w io.Writer) error {
	for {
		if f.file == nil {
			if ok, err := f.open(w); err != nil || !ok {
				return err
			}
		}
		if err := f.copyFile(w); err != nil {
			return err
		}
		replaced, err := f.replaced()
		if err != nil || !replaced {
			return err
		}
		// The writer finished the file before it replaced the file, so the second copy gets the rest.
		if err := f.copyFile(w); err != nil {
			return err
		}
		f.close()
		f.file = nil
	}
}

// copyFile copies the unread part of the open file to w, and adds its length to f.at.
func (f *liveLogReader) copyFile(w io.Writer) error {
	n, err := io.Copy(w, f.file)
	f.at += n
	return err
}

// open opens the log's file, skips the bytes that were already read or skipped, and returns true. If the file is
// missing, open returns false and no error. If the file no longer has some of the unread bytes, open writes a line
// with the number of these bytes to w.
func (f *liveLogReader) open(w io.Writer) (bool, error) {
	file, err := fsx.OpenShared(f.path, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	header := make([]byte, liveLogHeader)
	var start int64
	if _, err = io.ReadFull(file, header); err == nil {
		start, err = parseLiveLogHeader(header)
	}
	if err == nil && start > f.at {
		_, err = io.WriteString(w, missing(start-f.at))
		f.at = start
	}
	if err == nil {
		_, err = file.Seek(liveLogHeader+f.at-start, io.SeekStart)
	}
	if err != nil {
		return false, errors.Join(fmt.Errorf("read %s: %w", f.path, err), file.Close())
	}
	f.file = file
	return true, nil
}

// replaced reports whether the writer has put another file in the place of the open file. It returns false if
// the log was removed: the open file is then still the log.
func (f *liveLogReader) replaced() (bool, error) {
	named, err := os.Stat(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	open, err := f.file.Stat()
	return err == nil && !os.SameFile(named, open), err
}
