package timeline

import "strings"

// UserName returns git's user.name, or "" if it is not configured. It names the acting user unless a command names
// another.
func UserName(s *Store) string {
	name, _ := s.repo.Config.Get("user.name")
	return strings.ToValidUTF8(name, "\uFFFD")
}
