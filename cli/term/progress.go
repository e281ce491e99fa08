package term

import (
	"fmt"
	"strconv"
	"time"
)

const (
	// ProgressAfter is how long something takes before its progress is shown.
	ProgressAfter = 500 * time.Millisecond
	// progressEvery is the time between two updates.
	progressEvery = 100 * time.Millisecond
	// clearLine goes to the beginning of the line and clears it.
	clearLine = "\r\x1b[K"
)

// Progress is one line on a terminal that says how far something is, and goes
// away when it is done. For one goroutine at a time.
type Progress struct {
	s    *Terminal
	What string
	on   bool
	next time.Time
}

// Progress starts to show the progress of what, if a person would see it.
func (s *Terminal) Progress(what string) *Progress {
	on := !s.Quiet && s.AtTerminal(s.Err)
	return &Progress{s: s, What: what, on: on, next: s.Now().Add(ProgressAfter)}
}

// Update shows that done of total is done; a total of 0 is unknown.
func (p *Progress) Update(done, total int) {
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
	p.s.TalkHalfway(p.What + ": " + count)
}

// Finish takes the line away.
func (p *Progress) Finish() { p.s.EndHalfway() }

// While shows what the command waits for, if a person would see it and it takes long. The
// caller calls done when it is over.
func (s *Terminal) While(what string) (done func()) {
	if s.Quiet || !s.AtTerminal(s.Err) {
		return func() {}
	}
	shown := make(chan bool, 1)
	timer := time.AfterFunc(ProgressAfter, func() {
		s.TalkHalfway(what + " …")
		shown <- true
	})
	return func() {
		if timer.Stop() {
			return
		}
		<-shown
		s.EndHalfway()
	}
}
