package writeahead

import (
	"context"
	"fmt"
	"time"
)

const (
	idle        = 125 * time.Millisecond // after the newest entry; longer than the pauses of most engines, so that publications are groups
	oldest      = 250 * time.Millisecond // how long an entry waits while more arrive
	retry       = time.Second            // after a publication that failed
	mostEntries = 64                     // entries that make a publication due at once
	mostBytes   = 1 << 20                // bytes of their objects that do
)

// many reports whether a publication is due however young the entries are. The caller holds l.mu.
func (l *Logs) many() bool {
	return len(l.waiting) >= mostEntries || l.bytes >= mostBytes || l.own != nil && l.own.full
}

// wake makes the loop look at the waiting entries, and starts the loop if it does not run. The caller holds l.mu.
func (l *Logs) wake() {
	if l.end == nil {
		ctx, stop := context.WithCancel(context.Background())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			l.loop(ctx)
		}()
		l.end = func(then func() error) error {
			stop()
			<-ended
			return then()
		}
	}
	l.armed = true
	select {
	case l.kick <- struct{}{}:
	default:
	}
}

// loop publishes what this process has logged when it is due, until ctx ends.
func (l *Logs) loop(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	var failed time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.kick:
		case <-timer.C:
		}
		wait := max(l.due(), failed.Add(retry).Sub(l.clock()))
		if wait <= 0 {
			if err := l.PublishOwn(context.WithoutCancel(ctx)); err != nil {
				l.opts.Warn(fmt.Errorf("entries wait in the write-ahead log and were not published: %w", err))
				failed = l.clock()
			}
			wait = l.due()
		}
		timer.Reset(wait)
	}
}

// due returns how long the waiting entries can still wait. Without entries, the loop is not armed any more.
func (l *Logs) due() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.many():
		return 0
	case len(l.waiting) == 0:
		l.armed = false
		return time.Hour
	}
	return min(l.newest.Add(idle).Sub(l.clock()), l.since.Add(oldest).Sub(l.clock()))
}
