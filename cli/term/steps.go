package term

// Steps shows the progress of one step after the other. For one goroutine at a time.
type Steps struct {
	s    *Terminal
	what string
	step *Progress
}

// Steps starts to show the progress of steps.
func (s *Terminal) Steps() *Steps { return &Steps{s: s} }

// Update shows how much of a step is done; a total of 0 is unknown. what is the name of the step.
func (p *Steps) Update(what string, done, total int) {
	if p.step == nil || p.what != what {
		p.Finish()
		p.what, p.step = what, p.s.Progress(what)
	}
	p.step.Update(done, total)
}

// Finish removes the line.
func (p *Steps) Finish() {
	if p.step != nil {
		p.step.Finish()
	}
	p.step = nil
}
