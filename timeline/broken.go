package timeline

import (
	"errors"
	"fmt"

	"github.com/git-smithers/git-smithers/refs"
)

// BrokenRefs splits err, the error of a listing of refs. It returns the errors about single broken refs, and all
// other errors joined. The second result is nil if there are no other errors.
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

// WarnOf warns about problems: errors about runs that a list leaves out. Each problem gets its own warning.
func (s *Store) WarnOf(problems []error) {
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
