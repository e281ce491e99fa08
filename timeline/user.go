package timeline

import "strings"

// UserName is git's user.name, which names who acts unless somebody else is named; ""
// where it is not configured.
func UserName(s *Store) string {
	name, _ := s.repo.Config.Get("user.name")
	return strings.ToValidUTF8(name, "\uFFFD")
}
