package objstore

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/go-git/go-git/v5/plumbing/format/objfile"

	"github.com/git-smithers/git-smithers/internal/fsx"
)

// readLoose returns the loose object with the given id, verified. dir is the object directory. The error wraps
// ErrNotFound if the file is missing. It is a [*CorruptError] if the object is damaged or has more than
// maxObject bytes.
func readLoose(dir string, id ID, maxObject int64) (_ object, err error) {
	r, err := openLoose(dir, id)
	if errors.Is(err, fs.ErrNotExist) {
		return object{}, fmt.Errorf("%w: %v", ErrNotFound, id)
	}
	if err != nil {
		return object{}, err
	}
	defer func() { err = errors.Join(err, r.close()) }()

	bad := func(reason string) (object, error) {
		return object{}, &CorruptError{ID: id, File: r.file, Reason: reason}
	}
	if r.size < 0 || r.size > maxObject {
		return bad("loose object: " + tooLarge(r.size, maxObject).Error())
	}
	// Read one byte more than the head claims, to detect a stream that is too long.
	data, err := io.ReadAll(io.LimitReader(r, r.size+1))
	if err != nil {
		return object{}, looseFailed(id, r.file, err)
	}
	if o := (object{r.kind, data}); int64(len(data)) == r.size && id.Names(o.kind, data) {
		return o, nil
	}
	return bad("loose object does not match its id")
}

// openLoose opens the file of the loose object with the given id, and returns an unverified reader of the
// object's bytes. dir is the object directory. The error wraps fs.ErrNotExist if the file is missing, and is a
// [*CorruptError] if the head of the object is damaged. The caller closes the reader.
func openLoose(dir string, id ID) (_ *objectReader, err error) {
	hex := id.String()
	f, err := fsx.OpenShared(filepath.Join(dir, hex[:2], hex[2:]), os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	opened := false
	defer func() {
		if !opened {
			err = errors.Join(err, f.Close())
		}
	}()
	disk := &diskReader{file: f}
	r, err := objfile.NewReader(disk)
	if err != nil {
		return nil, looseFailed(id, hex[2:], cmp.Or(disk.err, err))
	}
	kind, size, err := r.Header()
	if err != nil {
		return nil, errors.Join(looseFailed(id, hex[2:], cmp.Or(disk.err, err)), r.Close())
	}
	opened = true
	shut := func() error { return errors.Join(r.Close(), f.Close()) }
	return &objectReader{Reader: r, kind: Kind(kind), size: size, file: hex[2:], close: shut}, nil
}

// diskReader reads a file and keeps the file system's error, because objfile's errors do not wrap their cause.
type diskReader struct {
	file *os.File
	err  error // the first error except io.EOF
}

func (d *diskReader) Read(p []byte) (int, error) {
	n, err := d.file.Read(p)
	if d.err == nil && err != nil && !errors.Is(err, io.EOF) {
		d.err = err
	}
	return n, err
}

// looseFailed returns the error of a read of a loose object. If the file system failed, that is err itself, because the
// object may be sound. Otherwise the bytes of the file are wrong, and the error is a [*CorruptError].
func looseFailed(id ID, file string, err error) error {
	if _, ok := errors.AsType[*fs.PathError](err); ok {
		return err
	}
	return &CorruptError{ID: id, File: file, Reason: "loose object: " + err.Error()}
}

// AddLoose adds every object in dir to w. dir is one of git's object directories. AddLoose also adds the
// objects of the packs in dir, because git writes a file above core.bigFileThreshold as a pack. Each object is
// verified against its id when its bytes are read.
//
// If w is a [Batch], the bytes of an object are read only by a later Get, Commit or Flush, so dir must not
// change until the batch is written. For any other Writer, AddLoose reads the bytes at once.
func AddLoose(w Writer, dir string) error {
	maxObject := int64(defaultMaxObject)
	batch, _ := w.(*Batch)
	if batch != nil {
		maxObject = batch.store.opts.MaxObject
	}
	add := func(id ID, open opener) error {
		o := deferredObject{id: id, open: open, maxObject: maxObject}
		if batch != nil {
			return batch.addDeferred(o)
		}
		read, err := o.read()
		if err == nil {
			w.Add(read.kind, read.data)
		}
		return err
	}
	if err := eachLoose(dir, add); err != nil {
		return fmt.Errorf("add loose objects: %w", err)
	}
	if err := eachPacked(HashOf(w), dir, maxObject, add); err != nil {
		return fmt.Errorf("add packed objects: %w", err)
	}
	return nil
}

// eachLoose calls add for every loose object in dir, in the order of the ids. The opener that add gets opens
// the object. eachLoose stops at the first error and returns it. It ignores all other files, such as git's
// unfinished files.
func eachLoose(dir string, add func(ID, opener) error) error {
	for first := range 256 {
		name := hex.EncodeToString([]byte{byte(first)})
		files, err := os.ReadDir(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		for _, file := range files {
			id, err := ParseID(name + file.Name())
			if err != nil {
				continue
			}
			open := func() (*objectReader, error) { return openLoose(dir, id) }
			if err := add(id, open); err != nil {
				return err
			}
		}
	}
	return nil
}

// eachPacked calls add for every object in the packs of dir. The opener that add gets opens the object; for an
// object of more than maxObject bytes it returns an error. eachPacked stops at the first error and returns it.
func eachPacked(hash Algorithm, dir string, maxObject int64, add func(ID, opener) error) error {
	r := newReading(hash, newCache(0), maxObject)
	dir = filepath.Join(dir, "pack")
	names, err := packNames(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		p := newPack(r, dir, name, time.Time{})
		entries, err := p.entries()
		if err := errors.Join(err, p.close()); err != nil {
			return err
		}
		for _, e := range entries {
			// Each reader opens the pack anew, because nothing would close a shared pack.
			open := func() (*objectReader, error) { return newPack(r, dir, name, time.Time{}).reader(e.id, e.offset) }
			if err := add(e.id, open); err != nil {
				return err
			}
		}
	}
	return nil
}

// entries returns the index entry of every object in the pack, sorted by id.
func (p *pack) entries() ([]indexEntry, error) {
	idx, err := p.index()
	if err != nil {
		return nil, err
	}
	return idx.all()
}

// reader returns an unverified reader of the object with the given id. offset is the start of the object's
// entry in the pack file. Closing the reader closes the pack. After an error, the pack is closed already. The
// error is a [*CorruptError] if the entry is damaged.
func (p *pack) reader(id ID, offset int64) (*objectReader, error) {
	r, err := p.openEntry(offset)
	if err != nil {
		var already *CorruptError
		if !errors.As(err, &already) && !isFileError(err) {
			err = p.corrupt(id, p.packPath, err.Error())
		}
		return nil, errors.Join(err, p.close())
	}
	r.file, r.close = filepath.Base(p.packPath), p.close
	return r, nil
}
