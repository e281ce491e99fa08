//go:build unix

package requests

import (
	"syscall"

	"github.com/git-smithers/git-smithers/internal/cli/session"
)

// BecomeDesk replaces this process by git-smithers-desk, at the same terminal. It returns only with an error. Code: view_missing.
func BecomeDesk(s *session.Session, args ...string) error {
	path, err := findDesk()
	if err != nil {
		return err
	}
	if err := syscall.Chdir(s.Dir); err != nil {
		return err
	}
	return syscall.Exec(path, append([]string{deskProgram}, args...), s.Env) //nolint:gosec // our own program
}
