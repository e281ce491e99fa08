package export

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/contents"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// refusedExport turns an error about one run into an export_refused error with a hint. run is the id of the
// run. refusedExport does so if the database rejects the run's rows, or if the run's data is damaged or too large. An error that has a code, and every other error, stays
// unchanged.
func refusedExport(run string, err error) error {
	if _, coded := errors.AsType[*fault.Error](err); coded {
		return err
	}
	hint := ""
	switch {
	case errors.Is(err, source.ErrConstraint), errors.Is(err, errTaken):
		hint = "nothing was written; export to a new database, or name the other runs to leave this run out"
	case errors.Is(err, errOtherTexts):
		hint = "nothing was written; export it with the version of git-smithers that imported it"
	case errors.Is(err, source.ErrDamaged), errors.Is(err, source.ErrTooLarge), errors.Is(err, contents.ErrShape):
		hint = "nothing was written; name the other runs to leave this run out"
	default:
		return err
	}
	return fault.New(fault.ExportRefused, "run %q cannot be exported: %w", run, err).Hint("%s", hint).Detail("runId", run)
}

// olderForm returns the error older_format for a run of which an earlier version of git-smithers kept the differences
// from predicted rows, which this version does not read.
func olderForm(run string) error {
	return fault.New(fault.OlderFormat, "run %q was imported by an earlier version of git-smithers, which kept its rows in another form", run).
		Hint("import it again: `git smithers import DATABASE --run %s`", fault.Word(run)).Detail("runId", run)
}

// cannotTake returns an export_refused error with err: the tables of the database at path do not accept the
// runs' rows. If err is a system error, a lock, a missing permission, or the end of a context, cannotTake
// returns err unchanged.
func cannotTake(path string, err error) error {
	if _, system := errors.AsType[syscall.Errno](err); system || errors.Is(err, source.ErrBusy) ||
		errors.Is(err, fs.ErrPermission) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fault.New(fault.ExportRefused, "%s: %w", path, err).Hint("nothing was written; export to a new database")
}

// explainWrite adds a code and a hint to err, an error from a write to the database at path. The codes are:
//   - the code that err already has, or the code of timeline.Explain if the write was cancelled
//   - locked if the database is busy
//   - export_refused if the database rejects a row
//   - the code of timeline.Explain if the disk is full or fails
//   - invalid_database if the file is damaged or not a database of Smithers, or a transaction was interrupted
//
// explainFile explains every other error.
func explainWrite(path string, err error) error {
	if _, coded := errors.AsType[*fault.Error](err); coded || errors.Is(err, context.Canceled) {
		return timeline.Explain(err)
	}
	out := fault.New(fault.InvalidDatabase, "%s: %w", path, err)
	switch {
	case errors.Is(err, source.ErrBusy):
		return fault.New(fault.Locked, "%s: %w", path, err).Hint("nothing was written; try again")
	case errors.Is(err, source.ErrNotDatabase), errors.Is(err, source.ErrNotSmithers):
		return out.Hint("name a database of Smithers, or a file that does not exist yet")
	case errors.Is(err, source.ErrConstraint):
		return fault.New(fault.ExportRefused, "%s: %w", path, err).Hint("nothing was written; export to a new database")
	case errors.Is(err, source.ErrFull), errors.Is(err, source.ErrDisk):
		return fault.New(fault.CodeOf(timeline.Explain(err)), "%s: %w", path, err).
			Hint("nothing was written; use --to with a file on another disk")
	case errors.Is(err, source.ErrInterrupted):
		return out.Hint("nothing was written; start Smithers with this database once: it undoes the interrupted transaction")
	case errors.Is(err, source.ErrDamaged):
		return out.Hint("nothing was written; `sqlite3 FILE .recover` prints SQL that restores the readable rows of a damaged database")
	}
	return explainFile(path, err)
}

// explainFile adds a code to err, an error about a file. path is the path of the database. If the file is not
// writable, the code is read_only. If err is about the database's own file and its folder is missing, the code
// is usage. Every other error gets the code of timeline.Explain, and has no hint if it is about another file.
func explainFile(path string, err error) error {
	explained := timeline.Explain(err)
	if target, unknown := source.Target(path); unknown == nil {
		path = target // errors name the target of a link
	}
	failed, ok := errors.AsType[*fs.PathError](err)
	_, system := errors.AsType[syscall.Errno](err)
	switch {
	case !system && errors.Is(err, fs.ErrPermission): // SQLite gives no details
		return fault.New(fault.ReadOnly, "%s: %w", path, err).Hint("nothing was written; make the file and its folder writable")
	case !ok || !strings.HasPrefix(failed.Path, path): // the error concerns another file, such as one of the repository
		return explained
	case errors.Is(err, fs.ErrNotExist):
		return fault.New(fault.Usage, "there is no folder %s", filepath.Dir(path)).Hint("nothing was written; create the folder first")
	}
	return fault.New(fault.CodeOf(explained), "%s cannot be created: %w", path, failed.Err).Hint("nothing was written; use --to with another file")
}

// NeedFolder returns an error with the code database_not_found if the folder of the database at path does not
// exist, is not a folder, or cannot be read.
func NeedFolder(path string) error {
	if info, err := os.Stat(filepath.Dir(path)); err != nil || !info.IsDir() {
		return fault.New(fault.DatabaseNotFound, "there is no folder for the database %s", path)
	}
	return nil
}
