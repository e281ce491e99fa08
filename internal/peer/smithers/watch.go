package smithers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/export"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/tables"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// WatchRequest has the runs that Watch imports, the time between two looks at the database, and the callbacks of Watch.
type WatchRequest struct {
	Runs  []string      // the exact ids of the runs to import, which may appear later; nil means all runs
	Every time.Duration // the minimum time between two looks at the database; 0 means 20 ms
	// Report, if not nil, is called after an import with the changed runs, and with the runs refused for a new reason.
	Report func(*ImportResult)
	// Waiting, if not nil, is called once, when Watch has imported everything in the database for the first time. The
	// database may still be empty or missing at that time.
	Waiting func()
}

const (
	// watchEvery is the default of WatchRequest.Every.
	watchEvery = 20 * time.Millisecond
	// A watch imports new frames at once. It imports all other changes after quietLooks looks without a further
	// change, and at the latest after mostLooks looks.
	quietLooks, mostLooks = 25, 150
	// Every manyPasses-th pass over the whole database also reads ended runs that seem unchanged.
	manyPasses = 20
	// After an error about the database, a watch waits for the time of troubleLooks looks before the next look. It
	// warns about missing tables of Smithers, or about an incomplete database, after troubleLooks looks.
	troubleLooks = 50
	// A look waits at most lockPatience for a lock of another process. After busyLooks locked looks in a row, a watch
	// warns.
	lockPatience, busyLooks = 100 * time.Millisecond, 20
	// lastLooks is the maximum number of looks that an ending watch spends on a locked database.
	lastLooks = 50
)

// Watch imports the database at path, and later every change to the database. With a change, it imports the files
// that the working copies have at that moment. Runs that exist at the beginning are imported without files. When ctx
// ends, Watch imports the last changes and returns nil. Between two looks at the database, Watch holds no lock.
//
// The database may appear after Watch begins, but its folder must exist: otherwise Watch returns an error. Before the
// first import, an unreadable database is an error. After the first import, it is a warning, and Watch tries again. A
// database without Smithers' tables is always a warning.
//
// If a run cannot be imported, Watch reports the run once for each reason, and tries again when the database changes.
// If the end of the database file is missing, another program may still be copying the file. Watch then waits for the
// end of the file, and warns after a while.
func Watch(ctx context.Context, s *timeline.Store, path string, req WatchRequest) error {
	if err := export.NeedFolder(path); err != nil {
		return err
	}
	w := newWatcher(s, path, req)
	defer w.close()
	for {
		pause, err := w.look(ctx)
		if ctx.Err() != nil {
			return w.last(ctx)
		}
		if err != nil {
			return err
		}
		if w.req.Waiting != nil && !w.behind() {
			w.req.Waiting()
			w.req.Waiting = nil
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return w.last(ctx)
		}
	}
}

// newWatcher returns a watcher of the database at path that has imported nothing.
func newWatcher(s *timeline.Store, path string, req WatchRequest) *watcher {
	req.Every = cmp.Or(req.Every, watchEvery)
	return &watcher{
		store: s, path: path, req: req, refused: make(map[string]string),
		memory: newMemory(), frames: make(map[string]source.Head),
	}
}

// watcher is the state of a call of Watch.
type watcher struct {
	store *timeline.Store
	path  string
	req   WatchRequest

	db       *source.DB             // nil while the database cannot be read
	begun    bool                   // a pass over the whole database has ended without an error
	imported int64                  // the version of the database that was imported completely, or 0
	passes   int                    // the number of complete passes over the whole database
	frames   map[string]source.Head // the newest imported frame of each run, by the run's id
	memory   *memory
	brief    bool              // the last look imported only frames
	found    int64             // the version of the database at the last look; 0 makes the next look count as a change
	same     int               // the number of looks in a row that found the same version again
	waited   int               // the number of looks since the watcher found a version that is not imported
	refused  map[string]string // the reported reasons without digits, by the id of the refused run
	without  int               // the number of looks at a database without Smithers' tables
	busy     int               // the number of looks in a row at a locked database
	cut      int               // the number of looks in a row at an incomplete database
	// live means that Smithers has written new rows just now, so the working copy belongs to these rows. live is
	// false at the beginning and for a copied database, because their rows may be old.
	live bool
}

// behind reports whether some of the database is not yet imported: the database is locked or incomplete, or changed
// after the last complete import. It returns false for a missing database.
func (w *watcher) behind() bool {
	return w.busy > 0 || w.cut > 0 || w.db != nil && (!w.begun || w.found != w.imported)
}

// close closes the database if it is open. It also resets the version numbers of the database that w has seen.
func (w *watcher) close() {
	if w.db != nil {
		_ = w.db.Close() // Close of a DB always returns nil
	}
	w.db, w.imported, w.found = nil, 0, 0 // a reopened database counts its versions from 1
}

// look imports the changes of the database and returns the time until the next look. A missing, locked or incomplete
// database is not an error: look returns nil, and a later look tries again. After many looks at a locked or
// incomplete database, look warns. After the first import, any other error about the database is a warning too, and
// the pause is longer. All other errors end the watch.
func (w *watcher) look(ctx context.Context) (time.Duration, error) {
	started := w.store.Now()
	w.brief = false
	err := w.try(ctx)
	took := w.store.Now().Sub(started)
	switch {
	case errors.Is(err, errNotYet):
		w.close()
		w.live, w.busy, w.cut = true, 0, 0
		return w.req.Every, nil
	case errors.Is(err, source.ErrBusy):
		if w.busy++; w.busy == busyLooks {
			w.store.Warn(fmt.Errorf("%s is locked by another process; git-smithers waits for the lock", w.path))
		}
		return w.req.Every, nil
	case errors.Is(err, source.ErrIncomplete):
		w.close()
		w.live = false // a copied database has older rows
		if w.cut++; w.cut == troubleLooks {
			w.store.Warn(fmt.Errorf("%s is incomplete; git-smithers waits for the rest of the file", w.path))
		}
		return w.req.Every, nil
	case isAboutDatabase(err) && w.begun:
		w.close()
		w.store.Warn(err)
		return troubleLooks * w.req.Every, nil
	}
	w.busy, w.cut = 0, 0
	if w.brief {
		took /= 4 // look sooner while frames arrive, to capture their files
	}
	// The pause is at least as long as the look, so that the watch leaves half of the time to the engine, however
	// large the database is.
	return max(w.req.Every, took), err
}

// errNotYet means that the database does not exist, or that Smithers has not created its tables in the database.
var errNotYet = errors.New("the database does not exist yet")

// try opens the database if necessary and imports its changes. New frames are imported at once. All other changes are
// imported after quietLooks looks without a change, and at the latest after mostLooks looks. Until a first import has
// succeeded, each call imports everything. If the database is unchanged since a complete import, try imports nothing.
// The error is errNotYet if the database does not exist or is still being created.
func (w *watcher) try(ctx context.Context) error {
	if err := w.open(ctx); err != nil {
		return err
	}
	version, err := w.db.Version()
	if err != nil {
		w.close()
		return w.notYet(err)
	}
	if w.begun && version == w.imported {
		w.found, w.waited = version, 0
		return nil
	}
	w.same++
	// The first look at a version that is not imported counts as a change, too.
	changed := version != w.found || w.waited == 0
	if changed {
		w.found, w.same = version, 0
	}
	w.waited++
	// Every change may be a new frame. All other rows are imported only when they are due.
	due := !w.begun || w.same >= quietLooks || w.waited >= mostLooks
	if !changed && !due {
		return nil
	}
	now, err := w.survey(ctx)
	if err != nil {
		return w.notYet(err)
	}
	if fresh := w.fresh(now); w.begun && len(fresh) > 0 {
		if err := w.bringFrames(ctx, fresh); err != nil {
			return err
		}
	}
	if !due {
		return nil
	}
	return w.bring(ctx, version, now)
}

// open opens the database unless the watcher has already opened the database. The error is errNotYet if the
// database does not exist or is still being created.
func (w *watcher) open(ctx context.Context) error {
	if w.db != nil {
		return nil
	}
	db, err := source.OpenFor(ctx, w.path, lockPatience)
	if err != nil {
		return w.notYet(err)
	}
	w.db = db
	return nil
}

// notYet maps err to the error that a look returns. If the database is missing or has no tables of Smithers, the
// result is errNotYet. notYet warns once about missing tables, after troubleLooks looks. Any other error gets its
// error code. If err is nil, the result is nil.
func (w *watcher) notYet(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errNotYet
	case errors.Is(err, source.ErrNotSmithers) && !errors.Is(err, source.ErrIndex):
		if w.without++; w.without == troubleLooks { // an engine creates its tables sooner
			w.store.Warn(fmt.Errorf("%s has no tables of Smithers; git-smithers waits until Smithers creates them", w.path))
		}
		return errNotYet
	}
	return explainDatabase(w.path, err)
}

// surveyedRun is a watched run in the database, with its newest frame.
type surveyedRun struct {
	id     string
	row    source.Row   // the run's row of _smithers_runs
	newest *source.Head // nil if the run has no frame
}

// survey returns the runs of the database that the request asks for, each with its newest frame. A damaged frame is
// not an error. The error is source.ErrNotSmithers if the database has neither runs nor a table of snapshots.
func (w *watcher) survey(ctx context.Context) (runs []surveyedRun, err error) {
	err = w.db.Read(ctx, func(tx *source.Tx) error {
		runs = nil
		rows, err := tx.Runs()
		if err != nil {
			return err
		}
		if len(rows) == 0 && tx.Table(tables.Snapshots) == nil {
			// Smithers is still creating its tables. A database with runs may lack the table: old versions of
			// Smithers had no snapshots.
			return source.ErrNotSmithers
		}
		for _, row := range rows {
			one := surveyedRun{id: dbrow.TextOf(row, "run_id"), row: row}
			if w.req.Runs != nil && !slices.Contains(w.req.Runs, one.id) {
				continue
			}
			// survey ignores damage, because the import of the run reports damage.
			if one.newest, err = tx.Newest(one.id); err != nil && !errors.Is(err, source.ErrDamaged) {
				return err
			}
			runs = append(runs, one)
		}
		return nil
	})
	return runs, err
}

// fresh returns those of runs whose newest frame w has not imported. It leaves out runs without frames.
func (w *watcher) fresh(runs []surveyedRun) (fresh []surveyedRun) {
	for _, run := range runs {
		if run.newest != nil && w.frames[run.id] != *run.newest {
			fresh = append(fresh, run)
		}
	}
	return fresh
}

// bringFrames imports the new frames of runs, with the files of the current working copies, reports the changed runs,
// and sets w.brief. If other processes interfered, the next look imports the frames again.
func (w *watcher) bringFrames(ctx context.Context, runs []surveyedRun) (err error) {
	im := newImportJob(w.store, w.path, ImportRequest{Files: true})
	im.memory, im.upTo = w.memory, make(map[string]source.Head)
	for _, run := range runs {
		im.req.Runs, im.upTo[run.id] = append(im.req.Runs, run.id), *run.newest
		im.filesOf = append(im.filesOf, run.row)
	}
	again, err := w.from(ctx, im)
	if err != nil {
		return err
	}
	w.brief = true
	if again {
		w.found = 0 // the next look counts as a change and imports the frames again
		return nil
	}
	w.imports(runs)
	return nil
}

// bring imports the database, or only the requested runs, and reports the changed runs. version is the version of the
// database before the import, and runs are the watched runs at that version. If runs were requested and the database
// has none of them, bring imports nothing. Afterwards version counts as imported. But if other processes interfered,
// version does not count, and a later look repeats the import.
func (w *watcher) bring(ctx context.Context, version int64, runs []surveyedRun) (err error) {
	again := false
	if w.req.Runs == nil || len(runs) > 0 {
		im := newImportJob(w.store, w.path, ImportRequest{Files: w.live})
		im.memory, im.thorough = w.memory, w.passes%manyPasses == 0
		if im.filesOf, err = w.late(version, runs); err != nil {
			return err
		}
		if w.req.Runs != nil {
			for _, run := range runs {
				im.req.Runs = append(im.req.Runs, run.id)
			}
		}
		if again, err = w.from(ctx, im); err != nil {
			return err
		}
	}
	w.begun, w.live, w.brief = true, true, false
	if !again {
		w.imported, w.waited = version, 0
		w.passes++
		w.imports(runs)
	}
	return nil
}

// from runs the import job im on the database and reports the result, even if an error ended the import. again is
// true if other processes interfered, so that the caller must repeat the import.
func (w *watcher) from(ctx context.Context, im *importJob) (again bool, err error) {
	imported, err := im.from(ctx, w.db)
	if imported != nil {
		again = w.report(imported)
	}
	return again, err
}

// late returns the rows of the runs that have not ended. The import captures the files of these runs, because they
// may have frames that are newer than version. If the database still has this version, or w.live is false, late
// returns nil. runs are the watched runs.
func (w *watcher) late(version int64, runs []surveyedRun) (rows []source.Row, err error) {
	now, err := w.db.Version()
	if err != nil || !w.live || now == version {
		return nil, w.notYet(err)
	}
	for _, run := range runs {
		if is, _ := tables.ReadRun(run.row); !is.Status.Ended() {
			rows = append(rows, run.row)
		}
	}
	return rows, nil
}

// imports records in w.frames that the newest frame of each of runs is imported.
func (w *watcher) imports(runs []surveyedRun) {
	for _, run := range runs {
		if run.newest != nil {
			w.frames[run.id] = *run.newest
		}
	}
}

// report calls the Report callback with the changed runs of imported, and with the runs that were refused for a new
// reason. If there are no such runs, it calls nothing. again is true if a run failed because other processes
// interfered (fault.Conflict or fault.Locked), so that the caller must repeat the import.
func (w *watcher) report(imported *ImportResult) (again bool) {
	news := &ImportResult{}
	for _, run := range imported.Runs {
		if run.Err == nil {
			delete(w.refused, run.RunID)
			if run.Outcome != OutcomeUnchanged {
				news.Runs = append(news.Runs, run)
			}
			continue
		}
		if code := fault.CodeOf(run.Err); code == fault.Conflict || code == fault.Locked {
			again = true
			continue
		}
		if reason := withoutNumbers(run.Err.Error()); w.refused[run.RunID] != reason {
			w.refused[run.RunID] = reason
			news.Runs = append(news.Runs, run)
		}
	}
	if len(news.Runs) > 0 && w.req.Report != nil {
		w.req.Report(news)
	}
	return again
}

// withoutNumbers returns reason without its digits. Two texts that differ only in counts are the same reason.
func withoutNumbers(reason string) string {
	return strings.Map(func(r rune) rune {
		if '0' <= r && r <= '9' {
			return -1
		}
		return r
	}, reason)
}

// last imports all remaining changes after ctx has ended, without waiting for a quiet time. If the database is
// locked, it tries at most lastLooks times. If the import fails, last only warns: the result is always nil. Before
// the first import, last does nothing.
func (w *watcher) last(ctx context.Context) error {
	if !w.begun {
		return nil
	}
	err := source.ErrBusy
	for look := 0; look < lastLooks && errors.Is(err, source.ErrBusy); look++ {
		// The changes are due at once, and the import is thorough.
		w.waited, w.passes = mostLooks, 0
		err = w.try(context.WithoutCancel(ctx))
	}
	if err != nil && !errors.Is(err, errNotYet) {
		w.store.Warn(fmt.Errorf("the last changes could not be imported: %w", err))
	}
	return nil
}

// isAboutDatabase reports whether err has the code fault.InvalidDatabase or fault.DatabaseNotFound.
func isAboutDatabase(err error) bool {
	code := fault.CodeOf(err)
	return err != nil && (code == fault.InvalidDatabase || code == fault.DatabaseNotFound)
}
