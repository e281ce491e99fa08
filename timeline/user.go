package timeline

import "strings"

// UserName returns git's user.name with U+FFFD for invalid UTF-8, or "" if git's configuration has no user.name.
// The result names the acting user unless a command names another user.
func UserName(s *Store) string {
	name, _ := s.repo.Config.Get("user.name")
	return strings.ToValidUTF8(name, "\uFFFD")
}
