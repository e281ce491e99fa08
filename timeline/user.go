package timeline

import "strings"

// UserName returns git's user.name, or "" if git's configuration has no user.name. UserName replaces invalid
// UTF-8. The result names the acting user unless a command names another user.
func UserName(s *Store) string {
	name, _ := s.repo.Config.Get("user.name")
	return strings.ToValidUTF8(name, "\uFFFD")
}
