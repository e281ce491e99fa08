package timeline

import (
	"errors"
	"fmt"

	"github.com/git-smithers/git-smithers/refs"
)

// BrokenRefs splits the error of a ref listing. It returns the errors of broken refs, and all other errors
// joined, or nil if err has no other errors.
func BrokenRefs(err error) ([]*refs.BrokenError, error) {
	all := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		all = joined.Unwrap()
	}
	var broken []*refs.BrokenError
	var others []error
	for _, err := range all {
		if b, ok := errors.AsType[*refs.BrokenError](err); ok && b.Name != "" {
			broken = append(broken, b)
		} else {
			others = append(others, err)
		}
	}
	return broken, errors.Join(others...)
}

// WarnOf warns about each run that a list leaves out because of a problem, and once about all runs in an older format.
func (s *Store) WarnOf(problems []error) {
	older, problems := withoutOlder(problems)
	s.WarnOfOlder("left out", older)
	for _, problem := range problems {
		broken, err := BrokenRefs(problem)
		for _, b := range broken {
			s.warn(fmt.Errorf("left out: %w", b))
		}
		if err != nil {
			s.warn(fmt.Errorf("left out: %w", err))
		}
	}
}
