package timeline

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// opsHereFile is the name of DoneHere's file in the store's private folder.
const opsHereFile = "ops-done-here"

// DoneHere is the list of the ops and prunes that were done in this clone, in their order. Each op has a line
// with its OpMark, and each prune a line with the id of its tombstone. An undo that names no run uses this list
// alone, and ignores the times in fetched runs.
//
// A line is written before its op or prune, so the op or prune of a line may have failed. A failed write is a
// warning, since an undo by the run's id needs no line. For the same reason lines are not put on stable storage.
type DoneHere struct {
	path string
	warn func(error)
}

// Here returns the list of the ops and prunes that were done in this clone.
func (s *Store) Here() DoneHere {
	return DoneHere{filepath.Join(s.Private(), opsHereFile), s.warn}
}

// Op adds a line for an op of a run. The caller calls Op before it does the op. A failed write is a warning.
func (d DoneHere) Op(run string, op snapshot.Op) {
	if err := d.add(OpMark(run, op)); err != nil {
		d.warn(fmt.Errorf("op %d of run %q was not noted in this clone, so `undo` without a run cannot take back the op: %w", op.Number, run, err))
	}
}

// Prune adds a line for the prune of a run. The caller calls Prune before it replaces the run by the tombstone
// stone or, if the run was pruned before, collects the run's history. A failed write is a warning.
func (d DoneHere) Prune(run string, stone objstore.ID) {
	if err := d.add(stone.String()); err != nil {
		d.warn(fmt.Errorf("the prune of run %q was not noted in this clone: %w", run, err))
	}
}

// OpMark returns a digest of an op of a run. An undo of the op does not change the digest. Two ops have the same
// digest only if the run and all other members are equal, including the tip before the op.
func OpMark(run string, op snapshot.Op) string {
	op.UndoneBy = 0
	sum := sha256.Sum256(append([]byte(run+"\x00"), snapshot.EncodeOp(op).Value...))
	return hex.EncodeToString(sum[:])
}

// add appends a line with the mark to the list, and makes the list's file if it is missing.
func (d DoneHere) add(mark string) error {
	if err := os.MkdirAll(filepath.Dir(d.path), 0o777); err != nil { //nolint:gosec // the umask decides who may read the repository
		return err
	}
	f, err := os.OpenFile(d.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666) //nolint:gosec // the umask decides who may read the repository
	if err != nil {
		return err
	}
	_, err = f.WriteString(mark + "\n")
	return errors.Join(err, f.Close())
}

// Lines maps each mark in the list to its line number. If a mark has several lines, Lines returns the number of the
// last line. The first line has number 1. Lines returns nil if the clone has no list.
func (d DoneHere) Lines() (_ map[string]int, err error) {
	f, err := os.Open(d.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	marks := make(map[string]int)
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		marks[lines.Text()] = n
	}
	return marks, lines.Err()
}
