package objstore

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/go-git/go-git/v5/plumbing/format/objfile"
)

// readLoose returns the object that stands in a file of its own under the object
// directory dir, verified. Its error is ErrNotFound where there is no such file.
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
	// One byte more than the head claims tells a longer stream from one that ends.
	data, err := io.ReadAll(io.LimitReader(r, r.size+1))
	if err != nil {
		return bad("loose object: " + err.Error())
	}
	if o := (object{r.kind, data}); int64(len(data)) == r.size && Hash(o.kind, data) == id {
		return o, nil
	}
	return bad("loose object does not match its id")
}

// openLoose opens the file of a loose object and reads its head.
func openLoose(dir string, id ID) (_ *objectReader, err error) {
	hex := id.String()
	f, err := os.Open(filepath.Join(dir, hex[:2], hex[2:]))
	if err != nil {
		return nil, err
	}
	opened := false
	defer func() {
		if !opened {
			err = errors.Join(err, f.Close())
		}
	}()
	r, err := objfile.NewReader(f)
	if err != nil {
		return nil, &CorruptError{ID: id, File: hex[2:], Reason: "loose object: " + err.Error()}
	}
	kind, size, err := r.Header()
	if err != nil {
		return nil, errors.Join(&CorruptError{ID: id, File: hex[2:], Reason: "loose object: " + err.Error()}, r.Close())
	}
	opened = true
	shut := func() error { return errors.Join(r.Close(), f.Close()) }
	return &objectReader{Reader: r, kind: Kind(kind), size: size, file: hex[2:], close: shut}, nil
}
