package timeline

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/fsx"
	"github.com/git-smithers/git-smithers/objstore"
)

// loansFolder is the folder in a private folder with a note of each repository that borrows objects from here. A note has the path of
// the borrower's objects.
const loansFolder = "loans"

// Loan is a repository that borrows objects from this one.
type Loan struct {
	Borrower string // the borrower's folder of objects
	Note     string // the file that says so
	Absent   bool   // the folder is not there: it was removed, or its disk is elsewhere
}

// NoteLoans notes in each repository from which this one borrows objects (as git clone --shared makes it) that it borrows. A write
// stores no object that a lender has, so NoteLoans comes before the first write of a process. It notes nothing in a repository
// without a private folder, which has no runs to collect, nor in one that it may not write to.
func (s *Store) NoteLoans() { s.loans() }

func noteLoans(objects string) {
	lenders, _ := objstore.Alternates(objects) // an unreadable list is the error of a read
	sum := sha256.Sum256([]byte(objects))
	for _, lender := range lenders {
		private := filepath.Join(filepath.Dir(lender), PrivateDir)
		if _, err := os.Stat(private); err != nil {
			continue
		}
		note := filepath.Join(private, loansFolder, hex.EncodeToString(sum[:8]))
		if _, err := os.Lstat(note); err != nil {
			_ = fsx.Replace(note, []byte(objects+"\n"), 0o666)
		}
	}
}

// Loans returns the repositories that have noted that they borrow objects from here, sorted by the names of their notes. It removes
// the note of a repository that does not borrow any more.
func (s *Store) Loans() ([]Loan, error) {
	folder := filepath.Join(s.Private(), loansFolder)
	entries, err := os.ReadDir(folder)
	if os.IsNotExist(err) {
		return nil, nil
	}
	var loans []Loan
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), ".") {
			continue // a note that was being written when its process was killed
		}
		loan := Loan{Note: filepath.Join(folder, entry.Name())}
		text, err := os.ReadFile(loan.Note)
		if err != nil {
			return nil, err
		}
		loan.Borrower = strings.TrimSuffix(string(text), "\n")
		lenders, err := objstore.Alternates(loan.Borrower)
		if err != nil {
			return nil, err
		}
		_, err = os.Stat(loan.Borrower)
		loan.Absent = err != nil
		if loan.Absent || slices.ContainsFunc(lenders, s.hasObjectsIn) {
			loans = append(loans, loan)
		} else if err := os.Remove(loan.Note); err != nil {
			return nil, err
		}
	}
	return loans, err
}

// hasObjectsIn reports whether dir is the repository's folder of objects.
func (s *Store) hasObjectsIn(dir string) bool {
	ours, err := os.Stat(filepath.Join(s.repo.CommonDir, "objects"))
	theirs, otherErr := os.Stat(dir)
	return err == nil && otherErr == nil && os.SameFile(ours, theirs)
}
