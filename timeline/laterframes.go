package timeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/snapshot"
)

// framesIdle is how long no entry must be published until the refs of earlier frames are made.
const framesIdle = time.Second

// laterFrames are the frames whose refs are not made yet; see [Series.RefsLater]. The ref of a run's newest frame is made at once,
// since refs of all frames take three times as long; the others are made when the process is idle, or ends. If the process is killed
// before, the notes tell the next one: see seriesNotes. It is safe for concurrent use.
type laterFrames struct {
	store *Store

	mu     sync.Mutex
	runs   map[string]*laterRun
	timer  *time.Timer
	making sync.WaitGroup
	ended  bool // finish was called; the timer may have gone off just before
}

// laterRun has the frames of one run, oldest first.
type laterRun struct {
	frames []refs.FrameRef
	note   *seriesNote
}

// add notes frames of a run, oldest first. Of all that are noted, at most the newest ones get refs.
func (l *laterFrames) add(run string, frames []refs.FrameRef, most int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	of := l.runs[run]
	if of == nil {
		note, err := seriesNotes{l.store.Private()}.begin(run, frames[0].Frame)
		if err != nil {
			l.store.warn(fmt.Errorf("cannot record that frame refs of run %q are missing: %w", run, err))
		}
		of = &laterRun{note: note}
		if l.runs == nil {
			l.runs = make(map[string]*laterRun)
		}
		l.runs[run] = of
	}
	of.frames = append(of.frames, frames...)
	of.frames = of.frames[max(0, len(of.frames)-most):]
	if l.timer == nil {
		l.timer = time.AfterFunc(framesIdle, l.idle)
	} else {
		l.timer.Reset(framesIdle)
	}
}

// forget drops the noted frames of a run: their refs are not wanted any more.
func (l *laterFrames) forget(run string) error {
	l.mu.Lock()
	of := l.runs[run]
	delete(l.runs, run)
	l.mu.Unlock()
	if of == nil {
		return nil
	}
	return of.note.remove()
}

// idle begins to make the refs of the noted frames, unless finish makes them.
func (l *laterFrames) idle() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.ended {
		l.making.Go(l.make)
	}
}

// make makes the refs of the noted frames. Errors are warnings, since frames are also found without refs.
func (l *laterFrames) make() {
	l.mu.Lock()
	runs := l.runs
	l.runs = nil
	l.mu.Unlock()
	for run, of := range runs {
		frames, err := l.stillThere(context.Background(), run, of.frames)
		if err == nil {
			slices.Reverse(frames)
			// Make as many refs as the entries would have got one by one: refs above the budget are dropped when a run ends.
			_, err = l.store.FrameRefs().make(context.Background(), &RunFrames{Row: snapshot.Run{ID: run}, Frames: frames}, int64(len(frames)))
		}
		if err == nil {
			err = of.note.remove()
		} else {
			_ = of.note.leave() // the lock ends with the process, too
		}
		if err != nil {
			l.store.warn(fmt.Errorf("the frame refs of run %q were not created: %w", run, err))
		}
	}
}

// stillThere returns the frames that the run still has: its history can have been replaced, or the run removed.
func (l *laterFrames) stillThere(ctx context.Context, run string, noted []refs.FrameRef) ([]refs.FrameRef, error) {
	tip, err := refs.Tip(run)
	if err != nil {
		return nil, err
	}
	id, err := l.store.refs.Resolve(ctx, tip)
	if errors.Is(err, refs.ErrNotFound) {
		return nil, nil
	}
	var newest, oldest *snapshot.Entry
	var now *RunFrames
	if err == nil {
		newest, err = snapshot.ReadEntry(l.store.objects, id)
	}
	if err == nil {
		oldest, err = snapshot.ReadEntry(l.store.objects, noted[0].ID)
	}
	if err == nil {
		now, err = readFrames(ctx, l.store.objects, newest, oldest.Parent)
	}
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(noted, func(ref refs.FrameRef) bool { return now.At(ref.Frame) != ref.ID }), nil
}

// finish makes the refs of all noted frames, and returns when they are made.
func (l *laterFrames) finish() {
	l.mu.Lock()
	l.ended = true
	if l.timer != nil {
		l.timer.Stop()
	}
	l.mu.Unlock()
	l.making.Wait()
	l.make()
}
