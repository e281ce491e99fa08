package snapshot

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"github.com/git-smithers/git-smithers/internal/snapshot/row"
	"github.com/git-smithers/git-smithers/objstore"
)

// tombstoneSubject is the subject of a tombstone's commit.
const tombstoneSubject = "run pruned"

// Tombstone records that a run was pruned. It is a commit without parents and with the empty tree, so it keeps no
// object of the run.
type Tombstone struct {
	Run  string
	Tip  objstore.ID // the run's tip when the run was pruned; the object may be missing
	AtMs int64       // milliseconds since 1970; the commit's dates are the whole seconds, in UTC
}

// Add writes the tombstone and the empty tree to w, and returns the tombstone's id. If the tombstone cannot be
// stored, the error wraps ErrInvalid.
func (t Tombstone) Add(w objstore.Writer) (objstore.ID, error) {
	if err := t.check(); err != nil {
		return objstore.ID{}, invalid("tombstone: %w", err)
	}
	w.Add(objstore.Tree, nil)
	return w.Add(objstore.Commit, EncodeTombstone(t)), nil
}

// ReadTombstone reads the tombstone in the commit with the given id. If the object is not a tombstone, the error wraps
// objstore.ErrCorrupt. For a tombstone of another version of the format, it wraps ErrNewerFormat or ErrOlderFormat.
func ReadTombstone(r objstore.Reader, id objstore.ID) (Tombstone, error) {
	data, err := readCommit(r, id)
	if err != nil {
		return Tombstone{}, err
	}
	return DecodeTombstone(id, data)
}

// EncodeTombstone returns the commit object of a tombstone. DecodeTombstone is its strict inverse.
func EncodeTombstone(t Tombstone) []byte {
	var b bytes.Buffer
	seconds := strconv.FormatInt(t.AtMs/1000, 10)
	fmt.Fprintf(&b, "tree %s\nauthor %s %s +0000\ncommitter %s %s +0000\n\n", t.Tip.Algorithm().EmptyTree(), author, seconds, author, seconds)
	fmt.Fprintf(&b, "%s\n\nSmithers-Format: %d\nSmithers-Gone: %s\n", tombstoneSubject, formatVersion, escape(t.Run, plainRun))
	fmt.Fprintf(&b, "Smithers-Tip: %s\nSmithers-Time: %d\n", t.Tip, t.AtMs)
	return b.Bytes()
}

// DecodeTombstone decodes data, the commit object of a tombstone. id is the object's id, for errors. If data has
// another version of the format, the error wraps ErrNewerFormat or ErrOlderFormat. If EncodeTombstone would not have
// written data for any other reason, the error wraps objstore.ErrCorrupt.
func DecodeTombstone(id objstore.ID, data []byte) (Tombstone, error) {
	_, message, _ := bytes.Cut(data, []byte("\n\n"))
	if err := checkFormat(message); err != nil {
		return Tombstone{}, fmt.Errorf("the tombstone in commit %v: %w", id, err)
	}
	t, err := parseTombstone(string(message))
	if err == nil {
		err = t.check()
	}
	if err == nil && !bytes.Equal(EncodeTombstone(t), data) {
		err = row.ErrNotCanonical
	}
	if err != nil {
		return Tombstone{}, corrupt(id, "tombstone: %v", err)
	}
	return t, nil
}

// errNotTombstone is the error about a commit message that EncodeTombstone cannot have written.
var errNotTombstone = errors.New("not the commit of a tombstone")

// parseTombstone parses the message of a tombstone's commit. If a line is missing or invalid, the error is
// errNotTombstone. parseTombstone accepts other spellings and further lines: DecodeTombstone rejects them when it
// compares the encoding of the tombstone with the commit.
func parseTombstone(message string) (t Tombstone, err error) {
	lines := lineReader{message}
	if lines.field("") != tombstoneSubject || lines.field("") != "" || lines.field("Smithers-Format: ") == "" {
		return t, errNotTombstone
	}
	run, ok := unescape(lines.field("Smithers-Gone: "), plainRun)
	if !ok {
		return t, errNotTombstone
	}
	t.Run = run
	if t.Tip, err = objstore.ParseID(lines.field("Smithers-Tip: ")); err != nil {
		return t, errNotTombstone
	}
	if t.AtMs, err = strconv.ParseInt(lines.field("Smithers-Time: "), 10, 64); err != nil {
		return t, errNotTombstone
	}
	return t, nil
}

// check returns an error if the tombstone cannot be stored: if the run id or the time is invalid, or the tip is
// missing.
func (t Tombstone) check() error {
	if err := checkRunID(t.Run); err != nil {
		return fmt.Errorf("run: %w", err)
	}
	if t.Tip.IsZero() {
		return errors.New("no tip")
	}
	if !isTime(t.AtMs) {
		return fmt.Errorf("time %d: out of range", t.AtMs)
	}
	return nil
}
