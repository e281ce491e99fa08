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

	"github.com/git-smithers/git-smithers/snapshot"
)

// opsHereFile lists the ops that were done in this clone, in the store's private folder: a line an op, with its opMark.
// An undo that names no run takes back nothing else, whatever fetched runs say of when something was done to them.
const opsHereFile = "ops-done-here"

// opMark stands for an op of a run, whether it was taken back or not. Somebody else's op has the same mark only if all
// of it is the same, the tip before it included.
func opMark(run string, op snapshot.Op) string {
	op.UndoneBy = 0
	sum := sha256.Sum256(append([]byte(run+"\x00"), snapshot.EncodeOp(op).Value...))
	return hex.EncodeToString(sum[:])
}

// noteOpHere notes that an op is about to be done here. A note that cannot be written is a warning; the op can be taken
// back by its run's id all the same. It is not put on stable storage for the same reason.
func (s *Store) noteOpHere(run string, op snapshot.Op) {
	if err := s.appendOpHere(opMark(run, op) + "\n"); err != nil {
		s.warn(fmt.Errorf("that op %d of run %q was done here is not noted: %w", op.Number, run, err))
	}
}

func (s *Store) appendOpHere(line string) error {
	path := filepath.Join(s.privatePath(), opsHereFile)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil { //nolint:gosec // the umask says who may read the repository
		return err
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666) //nolint:gosec // the same
	if err != nil {
		return err
	}
	_, err = f.WriteString(line)
	return errors.Join(err, f.Close())
}

// opsHere returns the marks of the ops that were done in this clone.
func (s *Store) opsHere() (_ map[string]bool, err error) {
	f, err := os.Open(filepath.Join(s.privatePath(), opsHereFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	marks := make(map[string]bool)
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		marks[lines.Text()] = true
	}
	return marks, lines.Err()
}
