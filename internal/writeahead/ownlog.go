package writeahead

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/git-smithers/git-smithers/internal/fsx"
	"github.com/git-smithers/git-smithers/internal/refs/wal"
)

// ownLog is the log to which this process appends.
type ownLog struct {
	*log

	to   fsx.File // the same file again, for writing
	end  wal.Cursor
	full bool // nothing more is appended: when all of it is published, the next entry begins a new log

	using  sync.RWMutex // held for reading while the file is synced, which no gate protects, and for writing while it is closed
	closed bool
}

// openOwn makes the log of this process. If durable, its name is on stable storage when openOwn returns.
func (l *Logs) openOwn(ctx context.Context) (_ *ownLog, err error) {
	name, err := l.opts.Refs.OwnerName(ctx)
	if err != nil {
		return nil, err
	}
	head := wal.Head{IDSize: 20, MadeMs: uint64(l.opts.Now().UnixMilli())}
	if _, err := rand.Read(head.Random[:]); err != nil {
		return nil, err
	}
	o := &ownLog{end: head.Start()}
	files, path := l.opts.FS, filepath.Join(l.opts.Folder, name)
	if o.to, err = makeLog(files, path); err != nil {
		return nil, err
	}
	if o.log, err = openLog(path); err == nil {
		_, err = o.to.WriteAt(head.Append(nil), 0)
	}
	if err == nil && l.opts.Durable { // the head is synced with the first entry
		err = errors.Join(files.SyncDir(l.opts.Folder), files.SyncDir(filepath.Dir(l.opts.Folder)))
	}
	if err != nil {
		return nil, errors.Join(err, files.Remove(path), o.close())
	}
	return o, nil
}

// makeLog creates the file of a log, and its folder if that is missing.
func makeLog(files fsx.FS, path string) (fsx.File, error) {
	const flag = os.O_WRONLY | os.O_CREATE | os.O_EXCL
	file, err := files.OpenFile(path, flag, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		if err := files.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return nil, err
		}
		return files.OpenFile(path, flag, 0o600)
	}
	return file, err
}

// write appends bytes at the end of the log. After an error, the end stays where it was.
func (o *ownLog) write(records []byte, end wal.Cursor) error {
	n, err := o.to.WriteAt(records, o.end.Offset())
	if err == nil && n < len(records) {
		err = fmt.Errorf("write %s: %d of %d bytes", o.path, n, len(records))
	}
	if err == nil {
		o.end = end
	}
	return err
}

// sync puts what was appended on stable storage. If the log is closed, it was published meanwhile, and so is there already.
func (o *ownLog) sync() error {
	o.using.RLock()
	defer o.using.RUnlock()
	if o.closed {
		return nil
	}
	return fsx.Datasync(o.to)
}

// close closes the log. Its gate is free then.
func (o *ownLog) close() error {
	o.using.Lock()
	defer o.using.Unlock()
	o.closed = true
	return errors.Join(o.to.Close(), o.log.close())
}

// rotate removes the log of this process, all of which is published. The next entry begins a new log under the same name. Who has
// opened the old one finds, behind its gate, that the name is gone. The caller holds l.mu.
func (l *Logs) rotate() error {
	own := l.own
	if err := l.opts.FS.Remove(own.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	l.own = nil
	return errors.Join(own.close(), l.opts.Failpoint(FailRotated))
}
