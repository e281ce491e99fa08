package smithers

import (
	"errors"
	"io/fs"
	"slices"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// explainDatabase returns err, an error about the database at path, with an error code and hints. It returns nil
// for nil, and a *fault.Error unchanged. If err is not an error of the database or its file, explainDatabase calls
// timeline.Explain.
func explainDatabase(path string, err error) error {
	if err == nil {
		return nil
	}
	if _, known := errors.AsType[*fault.Error](err); known {
		return err
	}
	out := fault.New(fault.InvalidDatabase, "%s: %w", path, err)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fault.New(fault.DatabaseNotFound, "database %s does not exist", path).
			Hint("name the file smithers.db in the folder in which Smithers was started")
	case errors.Is(err, source.ErrBusy):
		return fault.New(fault.Locked, "%s: %w", path, err).Hint("try again")
	case errors.Is(err, source.ErrInterrupted):
		return out.Hint("start Smithers with this database once: it undoes the interrupted transaction")
	case errors.Is(err, source.ErrTooLarge):
		return fault.New(fault.LimitExceeded, "%s: %w", path, err).Hint("git-smithers reads values of at most 256 MiB")
	case errors.Is(err, source.ErrIncomplete):
		return out.Hint("wait until the copy of the database is complete").Hint("if no program is copying the database, copy the database again")
	case errors.Is(err, source.ErrIndex):
		return out.Hint("`git smithers fetch` fetches the runs of another repository").
			Hint("name the file in which Smithers keeps its runs: smithers.db")
	case errors.Is(err, source.ErrLangGraph):
		return out.Hint("its program moves them here: `saver.importThreads(SqliteSaver.fromConnString(PATH))`").
			Hint("`%s help langgraph` is the page about it", fault.Program)
	case errors.Is(err, source.ErrPython):
		return out.Hint("only Python reads their values: a script hands the tuples of SqliteSaver.list() to `%s serve --stdio`", fault.Program).
			Hint("`%s help protocol` is the page about it", fault.Program)
	case errors.Is(err, source.ErrNotDatabase):
		return out.Hint("name the file in which Smithers keeps its runs: smithers.db")
	case errors.Is(err, source.ErrNotSmithers):
		return out.Hint("name the file in which Smithers keeps its runs: smithers.db")
	case errors.Is(err, source.ErrDamaged):
		return out.Hint("`sqlite3 FILE .recover` prints SQL that restores the readable rows of a damaged database")
	case errors.Is(err, fs.ErrPermission):
		return out.Hint("make the file and its folder readable")
	}
	return timeline.Explain(err)
}

// stoppedAfter returns err, which ended an import of the database at path, with an error code and hints. If err
// is nil, it returns nil. An error to which explainDatabase gives no code stays unchanged. imported is the
// result so far, or nil. If imported has runs that were created or continued, a hint says that these runs are
// in the repository. Otherwise, if the database is locked, a hint says that nothing was imported.
func stoppedAfter(path string, imported *ImportResult, err error) error {
	if err == nil {
		return nil
	}
	is := func(run ImportedRun) bool { return run.Outcome == OutcomeCreated || run.Outcome == OutcomeContinued }
	out, ok := errors.AsType[*fault.Error](explainDatabase(path, err))
	switch {
	case !ok:
		return err
	case imported != nil && slices.ContainsFunc(imported.Runs, is):
		return out.Hint("the runs imported before the error are in the repository")
	case out.Code == fault.Locked:
		return out.Hint("nothing was imported")
	}
	return out
}
