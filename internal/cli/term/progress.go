package term

import (
	"fmt"
	"strconv"
	"time"
)

const (
	// ProgressAfter is how long an activity must take before its progress is shown.
	ProgressAfter = 500 * time.Millisecond
	// progressEvery is the time between two updates.
	progressEvery = 100 * time.Millisecond
	// clearLine goes to the beginning of the line and clears it.
	clearLine = "\r\x1b[K"
)

// Progress is a line at a terminal that shows the progress of an activity until the activity ends. Only one
// goroutine may use it at a time.
type Progress struct {
	s    *Terminal
	What string    // the activity, in words
	on   bool      // whether a person would see the line
	next time.Time // when the line may be shown again
}

// Progress returns the progress line of an activity, which appears with the first Update. what is the activity in
// words, for people. With --quiet, or if standard error is not a terminal, nothing ever appears.
func (s *Terminal) Progress(what string) *Progress {
	on := !s.Quiet && s.AtTerminal(s.Err)
	return &Progress{s: s, What: what, on: on, next: s.Now().Add(ProgressAfter)}
}

// Update shows that done of total steps are done. If total is 0, the total is unknown, and Update shows only done. It
// shows nothing until ProgressAfter has passed since the activity began. After that, it shows a new line at most once
// in progressEvery.
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

// Finish removes the progress line from the terminal. The caller must call it after the last Update.
func (p *Progress) Finish() { p.s.EndHalfway() }

// While shows the text what, an activity for which the user waits, until the caller calls done. The text appears only
// after ProgressAfter, and only if a person reads standard error at a terminal. The caller must call done exactly once.
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
		if timer.Stop() { // nothing was shown
			return
		}
		// The timer has fired: wait until its function has written the line.
		<-shown
		s.EndHalfway()
	}
}
