package term

import (
	"fmt"
	"strconv"
	"time"
)

const (
	// ProgressAfter is how long an activity takes before its progress is shown.
	ProgressAfter = 500 * time.Millisecond
	// progressEvery is the time between two updates.
	progressEvery = 100 * time.Millisecond
	// clearLine goes to the beginning of the line and clears it.
	clearLine = "\r\x1b[K"
)

// Progress is a line at a terminal that shows the progress of an activity until the
// activity ends. For one goroutine at a time.
type Progress struct {
	s    *Terminal
	What string
	on   bool
	next time.Time
}

// Progress starts to show the progress of an activity, if a person would see the line.
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

// Finish removes the line.
func (p *Progress) Finish() { p.s.EndHalfway() }

// While shows what the command waits for, if the wait takes long and a person would see the
// line. The caller calls done at the end of the wait.
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
