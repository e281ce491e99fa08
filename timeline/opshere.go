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

// opsHereFile is the file of DoneHere, in the store's private folder.
const opsHereFile = "ops-done-here"

// DoneHere is the list of the ops and prunes of this clone, in the order in which they were done: a line an op, with
// its opMark, and a line a prune, with its tombstone. An undo that names no run goes by the list alone, whatever fetched
// runs say of when something was done to them.
//
// A line is written before its op or prune is done, so a line may stand for nothing. A line that cannot be written is a
// warning: the op can be taken back by its run's id all the same. For the same reason lines are not put on stable
// storage.
type DoneHere struct {
	path string
	warn func(error)
}

// Here returns the list of what was done in this clone.
func (s *Store) Here() DoneHere {
	return DoneHere{filepath.Join(s.Private(), opsHereFile), s.warn}
}

// Op notes that an op is about to be done.
func (d DoneHere) Op(run string, op snapshot.Op) {
	if err := d.add(OpMark(run, op)); err != nil {
		d.warn(fmt.Errorf("that op %d of run %q was done here is not noted: %w", op.Number, run, err))
	}
}

// Prune notes that a run is about to be replaced by its tombstone or, if it was before, that it is about to be collected.
func (d DoneHere) Prune(run string, stone objstore.ID) {
	if err := d.add(stone.String()); err != nil {
		d.warn(fmt.Errorf("that run %q was pruned here is not noted: %w", run, err))
	}
}

// OpMark stands for an op of a run, whether it was taken back or not. Somebody else's op has the same mark only if all
// of it is the same, the tip before it included.
func OpMark(run string, op snapshot.Op) string {
	op.UndoneBy = 0
	sum := sha256.Sum256(append([]byte(run+"\x00"), snapshot.EncodeOp(op).Value...))
	return hex.EncodeToString(sum[:])
}

func (d DoneHere) add(mark string) error {
	if err := os.MkdirAll(filepath.Dir(d.path), 0o777); err != nil { //nolint:gosec // the umask says who may read the repository
		return err
	}
	f, err := os.OpenFile(d.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666) //nolint:gosec // the same
	if err != nil {
		return err
	}
	_, err = f.WriteString(mark + "\n")
	return errors.Join(err, f.Close())
}

// Lines returns the number of each mark's last line, from 1.
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
