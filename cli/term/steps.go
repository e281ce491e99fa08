package term

// Steps shows the progress of one thing after the other. For one goroutine at a time.
type Steps struct {
	s    *Terminal
	what string
	step *Progress
}

// Steps starts to show how far the steps of something are.
func (s *Terminal) Steps() *Steps { return &Steps{s: s} }

// Update shows that done of total is done of the step called what; a total of 0 is unknown.
func (p *Steps) Update(what string, done, total int) {
	if p.step == nil || p.what != what {
		p.Finish()
		p.what, p.step = what, p.s.Progress(what)
	}
	p.step.Update(done, total)
}

// Finish takes the line away.
func (p *Steps) Finish() {
	if p.step != nil {
		p.step.Finish()
	}
	p.step = nil
}
