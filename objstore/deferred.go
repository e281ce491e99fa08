package objstore

import (
	"bytes"
	"crypto/sha1"
	"errors"
	"hash"
	"io"
	"io/fs"
)

// opener opens an object that is in a file.
type opener func() (*objectReader, error)

// objectReader reads the bytes of an object from a file, unverified.
type objectReader struct {
	io.Reader

	kind  Kind
	size  int64
	file  string // its base name
	close func() error
}

// deferred is an object in a file. It is read anew each time.
type deferred struct {
	id        ID
	open      opener
	maxObject int64

	kind Kind
	size int64
}

// inspect reads the kind and the size from the object's head.
func (d *deferred) inspect() error {
	r, err := d.reader()
	if err != nil {
		return err
	}
	d.kind, d.size = r.kind, r.size
	return r.close()
}

// reader opens the object. Its bytes are verified as they are read.
func (d *deferred) reader() (*verifiedReader, error) {
	r, err := d.open()
	if err != nil {
		return nil, err
	}
	if r.size < 0 || r.size > d.maxObject {
		return nil, errors.Join(&CorruptError{ID: d.id, File: r.file, Reason: errTooLarge.Error()}, r.close())
	}
	v := &verifiedReader{objectReader: r, id: d.id, sum: sha1.New(), left: r.size}
	v.sum.Write(hashHead(r.kind, r.size))
	return v, nil
}

// read returns the object, verified.
func (d *deferred) read() (o object, err error) {
	r, err := d.reader()
	if err != nil {
		return object{}, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	// The head may claim more bytes than there are.
	const trusted = 1 << 20
	data := bytes.NewBuffer(make([]byte, 0, min(r.size, trusted)+bytes.MinRead))
	if _, err := data.ReadFrom(r); err != nil {
		return object{}, err
	}
	return object{r.kind, data.Bytes()}, nil
}

// verifiedReader reads an object. It ends with io.EOF if the bytes match the id, and otherwise with
// a [*CorruptError] or the error of the file.
type verifiedReader struct {
	*objectReader

	id   ID
	sum  hash.Hash
	left int64 // bytes that are still to come
}

// Read implements io.Reader.
func (r *verifiedReader) Read(b []byte) (int, error) {
	n, err := r.objectReader.Read(b)
	r.sum.Write(b[:n])
	r.left -= int64(n)
	ended := errors.Is(err, io.EOF)
	switch {
	case r.left < 0:
		return 0, r.corrupt("longer than it says")
	case ended && (r.left > 0 || !bytes.Equal(r.sum.Sum(nil), r.id.sum[:r.id.size])):
		return n, r.corrupt("does not match its id")
	case err != nil && !ended && !isFileError(err):
		return n, r.corrupt(err.Error())
	}
	return n, err
}

func (r *verifiedReader) corrupt(reason string) error {
	return &CorruptError{ID: r.id, File: r.file, Reason: reason}
}

// isFileError reports whether err comes from reading a file, and not from its content.
func isFileError(err error) bool {
	_, ok := errors.AsType[*fs.PathError](err)
	return ok
}
