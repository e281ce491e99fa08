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

	"github.com/git-smithers/git-smithers/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/peer/smithers/export"
	"github.com/git-smithers/git-smithers/peer/smithers/source"
	"github.com/git-smithers/git-smithers/peer/smithers/tables"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// WatchRequest describes a watch.
type WatchRequest struct {
	Runs   []string      // exact ids of runs, which may appear later; nil for all
	Every  time.Duration // time between two looks at the database; 0 for 20 ms
	Report func(*Imported)
	// Waiting is called once, when everything present has been imported. The database may be empty or not exist yet.
	Waiting func()
}

const (
	watchEvery = 20 * time.Millisecond
	// Frames are imported at once. Other changes are imported after quietLooks looks without a change, and at the
	// latest after mostLooks.
	quietLooks, mostLooks = 25, 150
	// manyPasses is the number of passes after which a pass also reads ended runs that seem unchanged.
	manyPasses = 20
	// troubleLooks is the number of looks until an unreadable database is tried again, and until a warning about a
	// database without Smithers' tables, or an incomplete one.
	troubleLooks = 50
	// A watch waits lockPatience for a lock of another process. After busyLooks locked looks in a row it warns.
	lockPatience, busyLooks = 100 * time.Millisecond, 20
	// lastLooks is how often an ending watch looks at a locked database.
	lastLooks = 50
)

// Watch imports a database and every later change to it, each with the working copy of that moment, until ctx ends.
// It returns nil then. The database may appear later. Runs that exist at the beginning are imported without the
// working copy. If a run cannot be imported, Watch reports it once for each reason, and tries again when the database
// changes. It holds no lock on the database while it waits.
//
// At the beginning, an unreadable database or a missing folder is an error. Later, it is a warning, as is a database
// without Smithers' tables, and Watch tries again. If the end of the database is missing, it may be in the middle of
// a copy: Watch waits for the rest, and warns after a while.
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

func newWatcher(s *timeline.Store, path string, req WatchRequest) *watcher {
	req.Every = cmp.Or(req.Every, watchEvery)
	return &watcher{
		store: s, path: path, req: req, refused: make(map[string]string),
		memory: newMemory(), frames: make(map[string]source.Head),
	}
}

// watcher is a Watch in progress.
type watcher struct {
	store *timeline.Store
	path  string
	req   WatchRequest

	db       *source.DB             // nil while no database can be read
	begun    bool                   // something was imported, or there was nothing to import
	imported int64                  // the version that was imported completely
	passes   int                    // number of passes over the whole database
	frames   map[string]source.Head // the newest imported frame of each run
	memory   *memory
	brief    bool  // the last look imported only frames
	found    int64 // the version found last
	same     int   // number of looks in a row that found it
	waited   int   // number of looks since a new version was found
	refused  map[string]string
	without  int // number of looks at a database without Smithers' tables
	busy     int // number of looks in a row at a locked database
	cut      int // number of looks in a row at an incomplete database
	// live means that new rows have just been written, so the working copy belongs to them. Rows that existed when
	// the watch began may be old.
	live bool
}

// behind reports whether the database is known to have changes that are not imported.
func (w *watcher) behind() bool {
	return w.busy > 0 || w.cut > 0 || w.db != nil && (!w.begun || w.found != w.imported)
}

func (w *watcher) close() {
	if w.db != nil {
		_ = w.db.Close() // opened for reading
	}
	w.db, w.imported, w.found = nil, 0, 0 // the next database counts its versions from 1
}

// look imports the changes, and returns the time until the next look.
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
			w.store.Warn(fmt.Errorf("%s is locked by another process; still waiting for it", w.path))
		}
		return w.req.Every, nil
	case errors.Is(err, source.ErrIncomplete):
		w.close()
		w.live = false // a copied database has older rows
		if w.cut++; w.cut == troubleLooks {
			w.store.Warn(fmt.Errorf("%s is incomplete; still waiting for the rest", w.path))
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
	// Use at most half of the time, however large the database is, and leave the rest to the engine.
	return max(w.req.Every, took), err
}

// errNotYet means that the database does not exist yet.
var errNotYet = errors.New("the database does not exist yet")

// try opens the database if necessary, and imports the changes that are due.
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
	changed := version != w.found || w.waited == 0
	if changed {
		w.found, w.same = version, 0
	}
	w.waited++
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

// open opens the database if it is not open.
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

// notYet returns errNotYet if the database is still being created, and otherwise explains the error.
func (w *watcher) notYet(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errNotYet
	case errors.Is(err, source.ErrNotSmithers) && !errors.Is(err, source.ErrIndex):
		if w.without++; w.without == troubleLooks { // an engine creates its tables sooner
			w.store.Warn(fmt.Errorf("%s has no tables of Smithers", w.path))
		}
		return errNotYet
	}
	return explainDatabase(w.path, err)
}

// surveyedRun is a run to watch, with its newest frame.
type surveyedRun struct {
	id     string
	row    source.Row
	newest *source.Head // nil if the run has no frame
}

// survey returns the runs of the database that are watched.
func (w *watcher) survey(ctx context.Context) (runs []surveyedRun, err error) {
	err = w.db.Read(ctx, func(tx *source.Tx) error {
		runs = nil
		rows, err := tx.Runs()
		if err != nil {
			return err
		}
		if len(rows) == 0 && tx.Table(tables.Snapshots) == nil {
			return source.ErrNotSmithers // not yet; a database with runs may be from a version without snapshots
		}
		for _, row := range rows {
			one := surveyedRun{id: dbrow.TextOf(row, "run_id"), row: row}
			if w.req.Runs != nil && !slices.Contains(w.req.Runs, one.id) {
				continue
			}
			// The import of the run reports damage.
			if one.newest, err = tx.Newest(one.id); err != nil && !errors.Is(err, source.ErrDamaged) {
				return err
			}
			runs = append(runs, one)
		}
		return nil
	})
	return runs, err
}

// fresh returns the runs whose newest frame is not imported.
func (w *watcher) fresh(runs []surveyedRun) (fresh []surveyedRun) {
	for _, run := range runs {
		if run.newest != nil && w.frames[run.id] != *run.newest {
			fresh = append(fresh, run)
		}
	}
	return fresh
}

// bringFrames imports the new frames of runs, with the current files.
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
		w.found = 0 // look again
		return nil
	}
	w.imports(runs)
	return nil
}

// bring imports everything. version and runs are from the survey before.
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

// from imports and reports the result, even if it is incomplete. again means that the import should be repeated.
func (w *watcher) from(ctx context.Context, im *importJob) (again bool, err error) {
	imported, err := im.from(ctx, w.db)
	if imported != nil {
		again = w.report(imported)
	}
	return again, err
}

// late returns the rows of runs that may have got frames since the survey.
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

// imports records that the newest frames of runs are imported.
func (w *watcher) imports(runs []surveyedRun) {
	for _, run := range runs {
		if run.newest != nil {
			w.frames[run.id] = *run.newest
		}
	}
}

// report reports the news. again means that other processes interfered and that the import should be repeated.
func (w *watcher) report(imported *Imported) (again bool) {
	news := &Imported{}
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

// withoutNumbers returns a reason without its digits, because counts in it change while the reason stays the same.
func withoutNumbers(reason string) string {
	return strings.Map(func(r rune) rune {
		if '0' <= r && r <= '9' {
			return -1
		}
		return r
	}, reason)
}

// last imports the changes that were not yet due when ctx ended.
func (w *watcher) last(ctx context.Context) error {
	if !w.begun {
		return nil
	}
	err := source.ErrBusy
	for look := 0; look < lastLooks && errors.Is(err, source.ErrBusy); look++ {
		w.waited, w.passes = mostLooks, 0
		err = w.try(context.WithoutCancel(ctx))
	}
	if err != nil && !errors.Is(err, errNotYet) {
		w.store.Warn(fmt.Errorf("the last changes could not be imported: %w", err))
	}
	return nil
}

// isAboutDatabase reports whether an error is about the database.
func isAboutDatabase(err error) bool {
	code := fault.CodeOf(err)
	return err != nil && (code == fault.InvalidDatabase || code == fault.DatabaseNotFound)
}
