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

// WatchRequest says what to watch.
type WatchRequest struct {
	Runs   []string      // exact ids, which need not exist yet; nil for all
	Every  time.Duration // how often to look; 0 for 20 ms
	Report func(*Imported)
	// Waiting is called once, when all that there is has been imported: it may be nothing, and
	// the database may not exist yet.
	Waiting func()
}

const (
	watchEvery = 20 * time.Millisecond
	// Frames are imported as they are found. What else has changed is when this many looks in a row found
	// nothing, and at the latest after that many.
	quietLooks, mostLooks = 25, 150
	// manyPasses is how many passes over the whole database there are for each one that looks at runs, too,
	// that have ended and seem to be as they were.
	manyPasses = 20
	// troubleLooks is how many looks pass until a database that cannot be read is tried again, and
	// until one without tables of Smithers, or without its end, is named.
	troubleLooks = 50
	// A watch waits no longer than this for the locks of others before it looks again, and names them after
	// so many looks in a row that found one.
	lockPatience, busyLooks = 100 * time.Millisecond, 20
	// lastLooks is how often a watch that ends looks at a database that is locked.
	lastLooks = 50
)

// Watch imports, and goes on importing whatever is committed to the database, with the
// working copy as it is then, until ctx ends, which is no error. The database need not
// exist yet; what it has when the watch begins is imported without the working copy. Where importing a
// run fails, Report is told, once for each reason, and it is tried again when the database changes. It
// holds no lock on the database while it waits.
//
// A database that cannot be read, or has no folder to be made in, is an error at the beginning;
// later on, and where it has no tables of Smithers yet, that is a warning, and it is tried again. One whose end is
// missing is waited for, as it may be on its way from somewhere, with a warning after a while.
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

// watcher is one Watch under way.
type watcher struct {
	store *timeline.Store
	path  string
	req   WatchRequest

	db       *source.DB             // nil while there is none that can be read
	begun    bool                   // something was imported, or there was nothing to import
	imported int64                  // the version of which all is imported
	passes   int                    // over the whole database
	frames   map[string]source.Head // by run: the newest that is imported
	memory   *memory
	brief    bool  // the last look imported frames alone
	found    int64 // the version that was found last
	same     int   // how often in a row
	waited   int   // looks since a version was found that is not imported
	refused  map[string]string
	without  int // looks that found a database without tables of Smithers
	busy     int // looks in a row that found a database that is locked
	cut      int // the same of one whose end is missing, as while it is copied
	// live tells that what is new has just been added, so that the files are those of now: what
	// was there when the watch began may be old.
	live bool
}

// behind reports whether there is something that is not imported, as far as that can be seen.
func (w *watcher) behind() bool {
	return w.busy > 0 || w.cut > 0 || w.db != nil && (!w.begun || w.found != w.imported)
}

func (w *watcher) close() {
	if w.db != nil {
		_ = w.db.Close() // it was only read
	}
	w.db, w.imported, w.found = nil, 0, 0 // versions are counted from 1 in whatever is opened next
}

// look imports what is new, and returns how long to wait until the next look.
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
			w.store.Warn(fmt.Errorf("%s is locked by another process; it is read when it is not any more", w.path))
		}
		return w.req.Every, nil
	case errors.Is(err, source.ErrIncomplete):
		w.close()
		w.live = false // a copy is of something older
		if w.cut++; w.cut == troubleLooks {
			w.store.Warn(fmt.Errorf("%s is not whole; it is read when it is", w.path))
		}
		return w.req.Every, nil
	case isAboutDatabase(err) && w.begun:
		w.close()
		w.store.Warn(err)
		return troubleLooks * w.req.Every, nil
	}
	w.busy, w.cut = 0, 0
	if w.brief {
		took /= 4 // while frames come, it is their files that matter
	}
	// No more than half of the time, however large the database is: the engine has work to do.
	return max(w.req.Every, took), err
}

// errNotYet means that the database does not exist yet.
var errNotYet = errors.New("there is no database yet")

// try opens the database unless it is open, and imports what is new and due.
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

// open opens the database unless it is open.
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

// notYet returns errNotYet if the database is still being made, or else explains the error.
func (w *watcher) notYet(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errNotYet
	case errors.Is(err, source.ErrNotSmithers) && !errors.Is(err, source.ErrIndex):
		if w.without++; w.without == troubleLooks { // an engine is faster
			w.store.Warn(fmt.Errorf("%s has no tables of Smithers", w.path))
		}
		return errNotYet
	}
	return explainDatabase(w.path, err)
}

// surveyed is a run that is wanted, with its newest frame.
type surveyed struct {
	id     string
	row    source.Row
	newest *source.Head // nil for none
}

// survey returns the wanted runs of the database.
func (w *watcher) survey(ctx context.Context) (runs []surveyed, err error) {
	err = w.db.Read(ctx, func(tx *source.Tx) error {
		runs = nil
		rows, err := tx.Runs()
		if err != nil {
			return err
		}
		if len(rows) == 0 && tx.Table(tables.Snapshots) == nil {
			return source.ErrNotSmithers // yet; where there are runs it is of a version without snapshots
		}
		for _, row := range rows {
			one := surveyed{id: dbrow.TextOf(row, "run_id"), row: row}
			if w.req.Runs != nil && !slices.Contains(w.req.Runs, one.id) {
				continue
			}
			// What cannot be read of a run is for its import to say.
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
func (w *watcher) fresh(runs []surveyed) (fresh []surveyed) {
	for _, run := range runs {
		if run.newest != nil && w.frames[run.id] != *run.newest {
			fresh = append(fresh, run)
		}
	}
	return fresh
}

// bringFrames imports the frames that were found, with the files as they are.
func (w *watcher) bringFrames(ctx context.Context, runs []surveyed) (err error) {
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

// bring imports all that is there; version and runs are of before.
func (w *watcher) bring(ctx context.Context, version int64, runs []surveyed) (err error) {
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

// from imports, and reports the result, even if it is incomplete.
func (w *watcher) from(ctx context.Context, im *importJob) (again bool, err error) {
	imported, err := im.from(ctx, w.db)
	if imported != nil {
		again = w.report(imported)
	}
	return again, err
}

// late are the rows of runs that may have got frames since a version was surveyed.
func (w *watcher) late(version int64, runs []surveyed) (rows []source.Row, err error) {
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

// imports notes that the newest frames of runs are imported.
func (w *watcher) imports(runs []surveyed) {
	for _, run := range runs {
		if run.newest != nil {
			w.frames[run.id] = *run.newest
		}
	}
}

// report tells what is new, and whether others were in the way, so that the same once more
// can do better.
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

// withoutNumbers is a reason without what changes in it while it stays: how many events there are.
func withoutNumbers(reason string) string {
	return strings.Map(func(r rune) rune {
		if '0' <= r && r <= '9' {
			return -1
		}
		return r
	}, reason)
}

// last imports the changes that were not due yet when ctx ended.
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
		w.store.Warn(fmt.Errorf("what happened last is not imported: %w", err))
	}
	return nil
}

// isAboutDatabase reports whether an error is about the database.
func isAboutDatabase(err error) bool {
	code := fault.CodeOf(err)
	return err != nil && (code == fault.InvalidDatabase || code == fault.DatabaseNotFound)
}
