package writeahead

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/git-smithers/git-smithers/internal/fsx"
	"github.com/git-smithers/git-smithers/internal/refs/wal"
	"github.com/git-smithers/git-smithers/refs"
)

const (
	patience        = 5 * time.Second        // how long to wait for a gate that another process holds
	gatePause       = 100 * time.Microsecond // between the first two looks at it; doubles each time
	mostPause       = 10 * time.Millisecond  // between two looks, at most
	mostUnpublished = 64 << 20               // bytes of a log that are read; a writer stops long before
)

// ErrGate is wrapped by the error about a gate that another process held for too long.
var ErrGate = errors.New("another process holds the lock of a write-ahead log")

// log is an open log, for reading.
type log struct {
	path string
	file *os.File // its flock is the gate
	head wal.Head // as it was read last
}

// entry is an entry that a log has.
type entry struct {
	wal.Record

	tip  refs.Name
	done bool // a ref reaches the entry
	lost bool // nothing that is published can be followed by the entry
}

// openLog opens the log at path.
func openLog(path string) (*log, error) {
	file, err := fsx.OpenShared(path, os.O_RDONLY)
	return &log{path: path, file: file}, err
}

// close closes the log, and lets go of its gate.
func (o *log) close() error { return o.file.Close() }

// read returns the entries of the log that are not marked as published. After an error, it returns those before the error.
func (o *log) read() ([]*entry, error) {
	head := make([]byte, wal.HeadSize+1)
	n, err := o.file.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if o.head, err = wal.ParseHead(head[:n]); err != nil {
		return nil, fmt.Errorf("%s: %w", o.path, err)
	}
	from := o.head.Unpublished()
	body, err := io.ReadAll(io.NewSectionReader(o.file, from.Offset(), mostUnpublished))
	if err != nil {
		return nil, err
	}
	records, _, err := from.Records(body)
	entries := make([]*entry, len(records))
	for i, r := range records {
		tip, nameErr := refs.Tip(r.Run)
		if nameErr != nil {
			return entries[:i], fmt.Errorf("%s: %w", o.path, nameErr)
		}
		entries[i] = &entry{Record: r, tip: tip}
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", o.path, err)
	}
	return entries, err
}

// readBehindGate returns the entries of the log as read does, at a moment at which its writer appends nothing. If the log was begun
// anew, it reads the new one. A log without a whole head has no entries; of a damaged one, nobody can tell.
func (o *log) readBehindGate(ctx context.Context) ([]*entry, error) {
	same, err := o.lock(ctx, false)
	if err == nil && !same {
		next, openErr := openLog(o.path)
		if errors.Is(openErr, fs.ErrNotExist) {
			return nil, nil
		}
		err = errors.Join(openErr, o.close())
		if *o = *next; err == nil {
			return o.readBehindGate(ctx)
		}
	}
	if err != nil {
		return nil, err
	}
	entries, err := o.read()
	if errors.Is(err, wal.ErrUnfinished) || errors.Is(err, wal.ErrDamaged) {
		return nil, nil
	}
	return entries, err
}

// lock takes the gate of the log, and waits for its writer. alone excludes other readers, too. It returns false if the log does not
// have its name any more.
func (o *log) lock(ctx context.Context, alone bool) (same bool, err error) {
	for wait, waited := gatePause, time.Duration(0); ; wait = min(2*wait, mostPause) {
		held, err := fsx.TryLock(o.file, alone)
		if err != nil {
			return false, err
		}
		if held {
			break
		}
		if waited > patience {
			return false, fmt.Errorf("%w: %s", ErrGate, o.path)
		}
		if err := pause(ctx, wait); err != nil {
			return false, err
		}
		waited += wait
	}
	open, err := o.file.Stat()
	if err != nil {
		return false, err
	}
	named, err := os.Lstat(o.path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(open, named), err
}

// pause waits for so long, or returns the error of ctx if ctx ends first.
func pause(ctx context.Context, wait time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(wait):
		return nil
	}
}

// alone reports whether the log has exactly one name. With a second one, a copy of the repository shares the file, which must not be
// changed any more. Without one, nobody finds what is appended.
func (o *log) alone() bool {
	info, err := o.file.Stat()
	return err == nil && fsx.Links(info) == 1
}

// mark writes into the head of the log how much of it is published: the first entries that are done. to is the open log, or nil.
func (o *log) mark(files fsx.FS, to fsx.File, entries []*entry) (err error) {
	var mark wal.Mark
	for _, e := range entries {
		if !e.done {
			break
		}
		mark = e.End.Mark()
	}
	if mark.Offset == 0 || !o.alone() {
		return nil
	}
	if to == nil {
		to, err = o.openToWrite(files)
		if to == nil || err != nil {
			return err
		}
		defer func() { err = errors.Join(err, to.Close()) }()
	}
	head := make([]byte, wal.HeadSize)
	if _, err := o.file.ReadAt(head, 0); err != nil {
		return err
	}
	if now, err := wal.ParseHead(head); err != nil || now.Mark.Offset >= mark.Offset {
		return err // another process has published more
	}
	_, err = to.WriteAt(mark.Append(nil), wal.MarkOffset)
	return err
}

// openToWrite opens the log for writing. It returns nil if the log does not have its name any more.
func (o *log) openToWrite(files fsx.FS) (fsx.File, error) {
	to, err := files.OpenFile(o.path, os.O_WRONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	named, err1 := to.Stat()
	open, err2 := o.file.Stat()
	if err := errors.Join(err1, err2); err != nil || !os.SameFile(open, named) {
		return nil, errors.Join(err, to.Close())
	}
	return to, nil
}

// sync puts the mark of the log on stable storage, if it has one.
func (o *log) sync(files fsx.FS) error {
	if o.head.Unpublished().Offset() <= wal.HeadSize {
		return nil
	}
	to, err := o.openToWrite(files)
	if to == nil || err != nil {
		return err
	}
	return errors.Join(fsx.Datasync(to), to.Close())
}

// owner returns the name of the owner file of the process that made the log.
func (o *log) owner() string { return filepath.Base(o.path) }
