package term

// Steps shows the progress of several steps, one after the other. Only one goroutine may use it at a time.
type Steps struct {
	s    *Terminal
	what string
	step *Progress
}

// Steps returns a new progress line for several activities that follow each other. It shows nothing yet.
func (s *Terminal) Steps() *Steps { return &Steps{s: s} }

// Update shows that done of total steps of an activity are done. what is the activity in words. If what differs from
// the last call, Update begins a new progress line. If total is 0, the total is unknown.
func (p *Steps) Update(what string, done, total int) {
	if p.step == nil || p.what != what {
		p.Finish()
		p.what, p.step = what, p.s.Progress(what)
	}
	p.step.Update(done, total)
}

// Finish removes the line of the last step from the terminal.
func (p *Steps) Finish() {
	if p.step != nil {
		p.step.Finish()
	}
	p.step = nil
}
