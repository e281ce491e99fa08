package objstore

import (
	"bytes"
	"errors"
	"hash"
	"io"
	"io/fs"
)

// opener opens an object in a file for reading. The caller closes the reader.
type opener func() (*objectReader, error)

// objectReader reads the bytes of an object from a file, without verification.
type objectReader struct {
	io.Reader

	kind  Kind
	size  int64
	file  string // base name of the file
	close func() error
}

// deferredObject is an object that stays in a file. Each use reads the file again.
type deferredObject struct {
	id        ID
	open      opener
	maxObject int64 // a larger object, in bytes, is a *CorruptError

	kind Kind  // set by inspect
	size int64 // set by inspect
}

// inspect sets the kind and the size of d from the object's head in the file.
func (d *deferredObject) inspect() error {
	r, err := d.reader()
	if err != nil {
		return err
	}
	d.kind, d.size = r.kind, r.size
	return r.close()
}

// reader opens the object for reading. The reader verifies the bytes against the id while the caller reads them. If the
// object has more than maxObject bytes, the error is a [*CorruptError].
func (d *deferredObject) reader() (*verifiedReader, error) {
	r, err := d.open()
	if err != nil {
		return nil, err
	}
	if r.size < 0 || r.size > d.maxObject {
		return nil, errors.Join(&CorruptError{ID: d.id, File: r.file, Reason: errTooLarge.Error()}, r.close())
	}
	v := &verifiedReader{objectReader: r, id: d.id, sum: d.id.Algorithm().begin(), left: r.size}
	v.sum.Write(hashHead(r.kind, r.size))
	return v, nil
}

// read returns the whole object and verifies it against its id. After an error, the object is zero.
func (d *deferredObject) read() (o object, err error) {
	r, err := d.reader()
	if err != nil {
		return object{}, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	// A damaged head may claim far more bytes than the file has, so only trusted bytes are allocated at once.
	const trusted = 1 << 20
	data := bytes.NewBuffer(make([]byte, 0, min(r.size, trusted)+bytes.MinRead))
	if _, err := data.ReadFrom(r); err != nil {
		return object{}, err
	}
	return object{r.kind, data.Bytes()}, nil
}

// verifiedReader reads an object. After the last byte it returns io.EOF if the bytes match the id, and a
// [*CorruptError] if they do not. It returns errors of reading the file unchanged.
type verifiedReader struct {
	*objectReader

	id   ID
	sum  hash.Hash
	left int64 // number of bytes that the object's head still promises
}

// Read reads the next bytes of the object. The error is a [*CorruptError] if the object is longer or shorter
// than its head claims, does not match its id, or cannot be decoded. An error of the file itself is returned
// unchanged. At the end of a valid object, the error is io.EOF.
func (r *verifiedReader) Read(b []byte) (int, error) {
	n, err := r.objectReader.Read(b)
	r.sum.Write(b[:n])
	r.left -= int64(n)
	ended := errors.Is(err, io.EOF)
	switch {
	case r.left < 0:
		return 0, r.corrupt("longer than its head claims")
	case ended && (r.left > 0 || !bytes.Equal(r.sum.Sum(nil), r.id.sum[:r.id.size])):
		return n, r.corrupt("does not match its id")
	case err != nil && !ended && !isFileError(err):
		return n, r.corrupt(err.Error())
	}
	return n, err
}

// corrupt returns a [*CorruptError] about the object, with the given reason.
func (r *verifiedReader) corrupt(reason string) error {
	return &CorruptError{ID: r.id, File: r.file, Reason: reason}
}

// isFileError reports whether err is about reading a file and not about the content of the file.
func isFileError(err error) bool {
	_, ok := errors.AsType[*fs.PathError](err)
	return ok
}
