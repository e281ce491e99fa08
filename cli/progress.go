package cli

import (
	"fmt"
	"strconv"
	"time"
)

const (
	// progressAfter is how long something takes before its progress is shown.
	progressAfter = 500 * time.Millisecond
	// progressEvery is the time between two updates.
	progressEvery = 100 * time.Millisecond
	// clearLine goes to the beginning of the line and clears it.
	clearLine = "\r\x1b[K"
)

// progress is one line on a terminal that says how far something is, and goes
// away when it is done. For one goroutine at a time.
type progress struct {
	s    *session
	what string
	on   bool
	next time.Time
}

// progress starts to show the progress of what, if a person would see it.
func (s *session) progress(what string) *progress {
	on := !s.quiet && s.isTTY(s.Err)
	return &progress{s: s, what: what, on: on, next: s.Now().Add(progressAfter)}
}

// update says that done of total is done; a total of 0 is unknown.
func (p *progress) update(done, total int) {
	if !p.on {
		return
	}
	now := p.s.Now()
	if now.Before(p.next) {
		return
	}
	p.next = now.Add(progressEvery)
	count := strconv.Itoa(done)
	if total > 0 {
		count = fmt.Sprintf("%d of %d (%d %%)", done, total, done*100/total)
	}
	p.s.talkHalfway(p.what + ": " + count)
}

// finish takes the line away.
func (p *progress) finish() { p.s.endHalfway() }

// while says what is being waited for, if a person would see it and it takes long. The
// caller calls done when it is over.
func (s *session) while(what string) (done func()) {
	if s.quiet || !s.isTTY(s.Err) {
		return func() {}
	}
	shown := make(chan bool, 1)
	timer := time.AfterFunc(progressAfter, func() {
		s.talkHalfway(what + " …")
		shown <- true
	})
	return func() {
		if timer.Stop() {
			return
		}
		<-shown
		s.endHalfway()
	}
}
