package export

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/git-smithers/git-smithers/peer/smithers/contents"
	"github.com/git-smithers/git-smithers/peer/smithers/source"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// refusedExport is why a run cannot be written, where that is the run, or the run in this database.
func refusedExport(run string, err error) error {
	if _, coded := errors.AsType[*fault.Error](err); coded {
		return err
	}
	hint := ""
	switch {
	case errors.Is(err, source.ErrConstraint), errors.Is(err, errTaken):
		hint = "nothing was written; export to a new database, or the others by naming them"
	case errors.Is(err, errNotImported):
		hint = "nothing was written; prune the run and import it again, or export it with the version of git-smithers that imported it"
	case errors.Is(err, source.ErrDamaged), errors.Is(err, source.ErrTooLarge), errors.Is(err, contents.ErrShape):
		hint = "nothing was written; export the others by naming them"
	default:
		return err
	}
	return fault.New(fault.ExportRefused, "run %q cannot be exported: %w", run, err).Hint("%s", hint).Detail("runId", run)
}

// cannotTake is that a database has tables in which the runs' rows have no place, unless something else went wrong.
func cannotTake(path string, err error) error {
	if _, system := errors.AsType[syscall.Errno](err); system || errors.Is(err, source.ErrBusy) ||
		errors.Is(err, fs.ErrPermission) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fault.New(fault.ExportRefused, "%s: %w", path, err).Hint("nothing was written; export to a new database")
}

// explainWrite gives an error about writing the database at path its code.
func explainWrite(path string, err error) error {
	if _, coded := errors.AsType[*fault.Error](err); coded || errors.Is(err, context.Canceled) {
		return timeline.Explain(err)
	}
	out := fault.New(fault.InvalidDatabase, "%s: %w", path, err)
	switch {
	case errors.Is(err, source.ErrBusy):
		return fault.New(fault.Locked, "%s: %w", path, err).Hint("nothing was written; try again")
	case errors.Is(err, source.ErrNotDatabase), errors.Is(err, source.ErrNotSmithers):
		return out.Hint("export writes to a database of Smithers, or makes one where there is no file")
	case errors.Is(err, source.ErrConstraint):
		return fault.New(fault.ExportRefused, "%s: %w", path, err).Hint("nothing was written; export to a new database")
	case errors.Is(err, source.ErrFull), errors.Is(err, source.ErrDisk):
		return fault.New(fault.CodeOf(timeline.Explain(err)), "%s: %w", path, err).
			Hint("nothing was written; --to takes a file on another disk")
	case errors.Is(err, source.ErrInterrupted):
		return out.Hint("nothing was written; open the database with its engine once: this undoes the interrupted transaction")
	case errors.Is(err, source.ErrDamaged):
		return out.Hint("nothing was written; `sqlite3 FILE .recover` saves what can be saved of a damaged database")
	}
	return explainFile(path, err)
}

// explainFile is explainWrite of what the operating system says of files.
func explainFile(path string, err error) error {
	explained := timeline.Explain(err)
	if target, unknown := source.Target(path); unknown == nil {
		path = target // errors are about what a link leads to
	}
	failed, ok := errors.AsType[*fs.PathError](err)
	_, system := errors.AsType[syscall.Errno](err)
	switch {
	case !system && errors.Is(err, fs.ErrPermission): // SQLite says no more
		return fault.New(fault.ReadOnly, "%s: %w", path, err).Hint("nothing was written; the file has to be writable, and so has its folder")
	case !ok || !strings.HasPrefix(failed.Path, path): // what is read from the repository has files, too
		return explained
	case errors.Is(err, fs.ErrNotExist):
		return fault.New(fault.Usage, "there is no folder %s", filepath.Dir(path)).Hint("nothing was written; make the folder first")
	}
	return fault.New(fault.CodeOf(explained), "%s cannot be made: %w", path, failed.Err).Hint("nothing was written; --to takes another file")
}

// NeedFolder returns database_not_found if the folder of a database does not exist.
func NeedFolder(path string) error {
	if info, err := os.Stat(filepath.Dir(path)); err != nil || !info.IsDir() {
		return fault.New(fault.DatabaseNotFound, "there is no folder for the database %s", path)
	}
	return nil
}
