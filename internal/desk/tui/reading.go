package tui

import (
	"context"
	"sync"

	tea "charm.land/bubbletea/v2"

	"github.com/git-smithers/git-smithers/internal/desk/browse"
)

// reading reads one thing at a time. Of the requests of one kind that wait, only the newest is carried out.
type reading struct {
	ctx    context.Context //nolint:containedctx // of the program
	reader *browse.Reader

	one    sync.Mutex     // held while something is read
	mutex  sync.Mutex     // guards newest and polled
	newest map[string]int // the number of the newest request of each kind
	polled map[string]bool
}

// newReading returns a reading from reader.
func newReading(ctx context.Context, reader *browse.Reader) *reading {
	return &reading{ctx: ctx, reader: reader, newest: make(map[string]int), polled: make(map[string]bool)}
}

// do returns a command that reads something, unless a newer request of its kind came meanwhile. read returns the message.
func (r *reading) do(kind string, read func(ctx context.Context, from *browse.Reader) (tea.Msg, error)) tea.Cmd {
	r.mutex.Lock()
	r.newest[kind]++
	number := r.newest[kind]
	r.mutex.Unlock()
	return func() tea.Msg {
		r.one.Lock()
		defer r.one.Unlock()
		r.mutex.Lock()
		stale := r.newest[kind] != number
		r.mutex.Unlock()
		if stale || r.ctx.Err() != nil {
			return nil
		}
		msg, err := read(r.ctx, r.reader)
		if err != nil {
			return failed{err}
		}
		return msg
	}
}

// poll returns a command that looks for something new, or nil if one of its kind waits or is under way: what takes longer than a tick is
// not asked for twice.
func (r *reading) poll(kind string, read func(ctx context.Context, from *browse.Reader) (tea.Msg, error)) tea.Cmd {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.polled[kind] {
		return nil
	}
	r.polled[kind] = true
	return func() tea.Msg {
		r.one.Lock()
		defer r.one.Unlock()
		defer func() {
			r.mutex.Lock()
			defer r.mutex.Unlock()
			r.polled[kind] = false
		}()
		msg, err := read(r.ctx, r.reader)
		if err != nil {
			return failed{err}
		}
		return msg
	}
}
