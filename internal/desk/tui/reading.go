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
	mutex  sync.Mutex     // guards newest
	newest map[string]int // the number of the newest request of each kind
}

// newReading returns a reading from reader.
func newReading(ctx context.Context, reader *browse.Reader) *reading {
	return &reading{ctx: ctx, reader: reader, newest: make(map[string]int)}
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
