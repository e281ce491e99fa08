package row

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/objstore"
)

// Kind declares one kind of row.
type Kind[T any] struct {
	Name   string // the name in messages, such as "human request"
	Key    Key[T]
	Fields []Field[T]    // the stored members, sorted by name; the members of the key are not stored
	Check  func(T) error // returns an error if a T cannot be stored

	// Carried returns the variable of a T for unknown members: the members that Fields does not declare. Decode stores
	// unknown members in the variable, and Encode writes them back. Carried is nil if the kind is closed. An unknown
	// member is then an error that wraps ErrNewerFormat.
	Carried func(*T) *CarriedMembers
	// Adjust normalizes a T after it was read, because several Ts may have the same encoding. Adjust may be nil.
	Adjust func(*T)
	// Valid returns an error if a stored value is not JSON. Decode calls Valid before it reads the value. A kind with a
	// JSON field must have Valid; for other kinds, Valid may be nil.
	Valid func(value []byte) error
}

// Key declares the keys of a kind's rows.
type Key[T any] struct {
	// Of returns the key of a T.
	Of func(*T) string
	// Split sets the fields of a T that the key contains, or returns an error if the key is invalid. Split is nil if
	// the key is a digest of the T.
	Split func(of *T, key string) error
	// Fields declares the members for the parts of the key, which engines may repeat in a value.
	Fields []Field[T]
	// Missing returns an error if a T was given without a key, and its fields do not make a valid key. Missing is nil
	// if Check returns such an error.
	Missing func(*T) error
	// Title returns the name for messages of a T that was given without a key. If Title is nil, the T has no name.
	Title func(*T) string
}

// ErrNotCanonical is the error about a stored value that Kind.Encode would not have written.
var ErrNotCanonical = errors.New("not in its only valid encoding")

// ErrNewerFormat is wrapped by errors about stored bytes that only a newer version can read. The bytes may be
// undamaged.
var ErrNewerFormat = errors.New("written by a newer version")

// errNotDigest is the error about a row whose key should be the row's digest, but differs.
var errNotDigest = errors.New("the key is not the digest of the row")

// Encode returns the row of v. It does not check v.
func (k *Kind[T]) Encode(v T) page.Row {
	return page.Row{Key: k.Key.Of(&v), Value: k.Append(make([]byte, 0, 256), &v)}
}

// Append appends the stored value of v to b. The value does not contain the key.
func (k *Kind[T]) Append(b []byte, v *T) []byte {
	if k.Carried != nil && len(*k.Carried(v)) > 0 {
		return appendCarrying(b, k.Fields, v, *k.Carried(v))
	}
	return AppendObject(b, k.Fields, v)
}

// AppendObject appends a JSON object to b. The object has the members that fields declare, with their values in v.
func AppendObject[T any](b []byte, fields []Field[T], v *T) []byte {
	return append(AppendFields(append(b, '{'), fields, v), '}')
}

// AppendFields appends the members that fields declare, with their values in v, to b. It appends no braces. b must
// end with "{" or with a member.
func AppendFields[T any](b []byte, fields []Field[T], v *T) []byte {
	for i := range fields {
		b = fields[i].value.put(b, fields[i].Name, v)
	}
	return b
}

// Decode decodes a stored row. If Encode would not have written the row, or Check fails, the error wraps
// objstore.ErrCorrupt. A newer version may have written the row with members that this version does not know. If the
// kind carries unknown members, Decode keeps them. Otherwise, and for an unknown member of a nested object, the error
// wraps ErrNewerFormat.
func (k *Kind[T]) Decode(row page.Row) (T, error) {
	v, err := k.Read(row)
	if err == nil {
		return *v, nil
	}
	var none T
	if errors.Is(err, ErrNewerFormat) {
		return none, fmt.Errorf("%s %q: %w", k.Name, row.Key, err)
	}
	return none, &objstore.CorruptError{Reason: fmt.Sprintf("%s %q: %v", k.Name, row.Key, err)}
}

// Read decodes a stored row: see Decode. Unlike the errors of Decode, the errors of Read do not name the row and do not
// wrap objstore.ErrCorrupt. They wrap ErrNewerFormat in the same cases.
func (k *Kind[T]) Read(row page.Row) (*T, error) {
	d := struct { // one variable, so that the value and the reader take one allocation
		v T
		r Reader
	}{r: Reader{Rest: row.Value}}
	if err := k.split(&d.v, row.Key); err != nil {
		return nil, err
	}
	if k.Valid != nil {
		if err := k.Valid(row.Value); err != nil {
			return nil, err
		}
	}
	take(&d.r, k.Fields, &d.v)
	if !d.r.Done("") {
		return k.readCarrying(row)
	}
	return k.checked(&d.v, row.Key)
}

// readCarrying reads a row that has members which k.Fields does not declare: see Read. The key and the value must
// have passed the checks of Read. If the row has no such members, the error is ErrNotCanonical.
func (k *Kind[T]) readCarrying(row page.Row) (*T, error) {
	v := new(T)
	if err := k.split(v, row.Key); err != nil {
		return nil, err
	}
	r := Reader{Rest: row.Value, others: new(others)}
	take(&r, k.Fields, v)
	if !r.Done("") {
		return nil, ErrNotCanonical
	}
	if err := r.others.refused(k.Carried != nil); err != nil {
		return nil, err
	}
	*k.Carried(v) = r.others.outer
	return k.checked(v, row.Key)
}

// split sets the fields of v that key contains. If key is invalid, it returns an error. If keys of the kind are
// digests, which contain no fields, split does nothing.
func (k *Kind[T]) split(v *T, key string) error {
	if k.Key.Split == nil {
		return nil
	}
	return k.Key.Split(v, key)
}

// checked adjusts v, a value that was read from a row with the given key, and returns v. If v cannot be stored under
// this key, checked returns an error.
func (k *Kind[T]) checked(v *T, key string) (*T, error) {
	if k.Adjust != nil {
		k.Adjust(v)
	}
	if err := k.Check(*v); err != nil {
		return nil, err
	}
	if k.Key.Split == nil && k.Key.Of(v) != key {
		return nil, errNotDigest
	}
	return v, nil
}

// take reads an object with the members that fields declare into v. If the object is not canonical, take sets r.Bad. If
// r.others is not nil, take adds each member that fields do not declare to r.others. If r.others is nil, such a member
// also sets r.Bad.
func take[T any](r *Reader, fields []Field[T], v *T) {
	if r.others != nil {
		takeOthers(r, fields, v)
		return
	}
	for i := range fields {
		fields[i].value.take(r, fields[i].Name, v)
	}
	r.Close()
}

// Parse decodes the value of a row in the form in which an engine writes it: the members are in any order, and optional
// members may be missing. value must be valid JSON. If key is empty, the members that Key.Fields declares must make a
// valid key. If key is not empty, each of these members may be missing, and otherwise must agree with key. If the kind
// does not declare a member, Parse returns an error, even if the kind carries unknown members in stored rows. If the
// row cannot be stored, Parse returns an error. Every error names the row.
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

// parse decodes a value into v: see Parse. Its errors do not name the row. If parse fails, v has the members that
// parse has read so far.
func (k *Kind[T]) parse(key string, value json.RawMessage, v *T) error {
	if key != "" {
		if err := k.split(v, key); err != nil {
			return err
		}
	}
	before := *v
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
	return cmp.Or(k.differs(key, &before, v), k.Check(*v), k.notDigest(key, v))
}

// differs returns an error if a member of v contradicts key. before is a copy of v from before the members were read,
// with only the fields that Split set from key. If key is empty, differs returns nil.
func (k *Kind[T]) differs(key string, before, v *T) error {
	if key == "" {
		return nil
	}
	for _, f := range k.Key.Fields {
		start := []byte{'{'} // put appends a member to an object, which begins with a brace
		if !bytes.Equal(f.value.put(start, f.Name, before), f.value.put(start, f.Name, v)) {
			return fmt.Errorf("%s: differs from the key", f.Name)
		}
	}
	return nil
}

// notDigest returns errNotDigest if key is not the digest of v. It returns nil if key is empty, or if keys of the
// kind are not digests.
func (k *Kind[T]) notDigest(key string, v *T) error {
	if key != "" && k.Key.Split == nil && k.Key.Of(v) != key {
		return errNotDigest
	}
	return nil
}
