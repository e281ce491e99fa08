package claim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
)

// liveLogPoll is how often a log that somebody follows is looked at.
const liveLogPoll = 100 * time.Millisecond

// Follow copies the log of an attempt to w as it grows, from its beginning as far as
// that is kept, until ended tells that the attempt has ended, or ctx does. ended is asked
// now and then, after what was there has been copied; what came before it said so is
// copied too, also where the log has been taken away meanwhile. The error is ctx's, w's
// or that of ended.
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

// liveLogReader reads one log through all the files that it is in, one after the other.
type liveLogReader struct {
	path string
	file *os.File // nil until there is one
	at   int64    // how many bytes of the log are read
}

func (f *liveLogReader) close() {
	if f.file != nil {
		_ = f.file.Close() // it was only read
	}
}

// copy copies what the log has by now.
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
		// The writer was done with this file before it was replaced.
		if err := f.copyFile(w); err != nil {
			return err
		}
		f.close()
		f.file = nil
	}
}

func (f *liveLogReader) copyFile(w io.Writer) error {
	n, err := io.Copy(w, f.file)
	f.at += n
	return err
}

// open opens the file at the place up to which the log is read, and tells whether
// there is one.
func (f *liveLogReader) open(w io.Writer) (bool, error) {
	file, err := os.Open(f.path)
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

// replaced reports whether the log is now in another file. One that was taken away is
// still read from the file that is open.
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
