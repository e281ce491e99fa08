package row

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/objstore/page"
)

// Kind declares one kind of row.
type Kind[T any] struct {
	Name   string // the name in messages, such as "human request"
	Key    Key[T]
	Fields []Field[T]    // the stored members, sorted by name
	Check  func(T) error // returns why a T cannot be stored

	// Adjust normalizes a T that was read, because several Ts may have one encoding. May be nil.
	Adjust func(*T)
	// Valid checks that a stored value is JSON before it is read. Kinds with a JSON field need it.
	Valid func(value []byte) error
}

// Key declares the keys of a kind's rows.
type Key[T any] struct {
	// Of returns the key of a T.
	Of func(*T) string
	// Split sets the fields of a T that its key contains. Nil if the key is a digest of the T.
	Split func(of *T, key string) error
	// Fields are the parts of the key that engines may repeat in a value.
	Fields []Field[T]
	// Missing returns an error if a T that came without a key cannot have a key. Nil if Check does it.
	Missing func(*T) error
	// Title names a T without a key in messages. May be nil.
	Title func(*T) string
}

// ErrNotCanonical is the error about a stored value that [Kind.Encode] would not have written.
var ErrNotCanonical = errors.New("not in its one valid encoding")

// ErrNewerFormat is wrapped by errors about stored bytes that only a newer version can read. They may be
// undamaged.
var ErrNewerFormat = errors.New("written by a newer version")

// errNotDigest means that a key is a digest, but not its own row's.
var errNotDigest = errors.New("the key is not the digest of the row")

// Encode returns the row of a T.
func (k *Kind[T]) Encode(v T) page.Row {
	return page.Row{Key: k.Key.Of(&v), Value: k.Append(make([]byte, 0, 256), &v)}
}

// Append appends the stored value of a T.
func (k *Kind[T]) Append(b []byte, v *T) []byte { return AppendObject(b, k.Fields, v) }

// AppendObject appends a T as an object.
func AppendObject[T any](b []byte, fields []Field[T], v *T) []byte {
	return append(AppendFields(append(b, '{'), fields, v), '}')
}

// AppendFields appends some members of a T, without braces.
func AppendFields[T any](b []byte, fields []Field[T], v *T) []byte {
	for i := range fields {
		b = fields[i].value.put(b, fields[i].Name, v)
	}
	return b
}

// Decode reads a stored row. If Encode would not have written the row, the error wraps objstore.ErrCorrupt.
func (k *Kind[T]) Decode(row page.Row) (T, error) {
	v, err := k.Read(row)
	if err != nil {
		var none T
		return none, &objstore.CorruptError{Reason: fmt.Sprintf("%s %q: %v", k.Name, row.Key, err)}
	}
	return *v, nil
}

// Read is Decode, but its error is only the reason.
func (k *Kind[T]) Read(row page.Row) (*T, error) {
	d := struct {
		v T
		r Reader
	}{r: Reader{Rest: row.Value}}
	if k.Key.Split != nil {
		if err := k.Key.Split(&d.v, row.Key); err != nil {
			return nil, err
		}
	}
	if k.Valid != nil {
		if err := k.Valid(row.Value); err != nil {
			return nil, err
		}
	}
	take(&d.r, k.Fields, &d.v)
	if !d.r.Done("") {
		return nil, ErrNotCanonical
	}
	if k.Adjust != nil {
		k.Adjust(&d.v)
	}
	if err := k.Check(d.v); err != nil {
		return nil, err
	}
	if k.Key.Split == nil && k.Key.Of(&d.v) != row.Key {
		return nil, errNotDigest
	}
	return &d.v, nil
}

// take reads an object.
func take[T any](r *Reader, fields []Field[T], v *T) {
	for i := range fields {
		fields[i].value.take(r, fields[i].Name, v)
	}
	r.Close()
}

// Parse reads a value as engines write it: members in any order, the optional ones left out.
// Members that repeat the key may be left out if there is a key, and must agree with the key.
// If key is empty, they make the key. The value must be valid JSON.
func (k *Kind[T]) Parse(key string, value json.RawMessage) (T, error) {
	v := new(T)
	err := k.parse(key, value, v)
	if err == nil {
		return *v, nil
	}
	if key == "" && k.Key.Title != nil {
		key = k.Key.Title(v)
	}
	var none T
	return none, fmt.Errorf("%s %q: %w", k.Name, key, err)
}

// parse is Parse into v, without the kind's name in errors.
func (k *Kind[T]) parse(key string, value json.RawMessage, v *T) error {
	if key != "" && k.Key.Split != nil {
		if err := k.Key.Split(v, key); err != nil {
			return err
		}
	}
	of := *v
	if err := Members(value, v, k.Fields, k.Key.Fields); err != nil {
		return err
	}
	if k.Adjust != nil {
		k.Adjust(v)
	}
	if key == "" && k.Key.Missing != nil {
		if err := k.Key.Missing(v); err != nil {
			return err
		}
	}
	return cmp.Or(k.differs(key, &of, v), k.Check(*v), k.notDigest(key, v))
}

// differs returns an error if a member contradicts the key. before has only the fields from the key.
func (k *Kind[T]) differs(key string, before, v *T) error {
	if key == "" {
		return nil
	}
	for _, f := range k.Key.Fields {
		start := []byte{'{'}
		if !bytes.Equal(f.value.put(start, f.Name, before), f.value.put(start, f.Name, v)) {
			return fmt.Errorf("%s: not that of the key", f.Name)
		}
	}
	return nil
}

// notDigest returns an error if the key of a T is a digest, but not the T's own.
func (k *Kind[T]) notDigest(key string, v *T) error {
	if key != "" && k.Key.Split == nil && k.Key.Of(v) != key {
		return errNotDigest
	}
	return nil
}
