package refs

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// Gone is the name of a run's tombstone: a commit that says which history of the run
// was pruned. The error wraps ErrMalformed.
func Gone(run string) (Name, error) { return named(gonePrefix, run) }

// Held is the name that keeps what a pruned run has, until it is collected: its tip when
// it was pruned. No push carries it. The error wraps ErrMalformed.
func Held(run string) (Name, error) { return named(heldPrefix, run) }

// Remote is the name under which a clone remembers which tip of a run a remote has; see
// RemoteComponent for remote. The error wraps ErrMalformed.
func Remote(remote, run string) (Name, error) { return named(remotePrefix+remote+"/", run) }

// RemoteGone is the same for a tombstone.
func RemoteGone(remote, run string) (Name, error) {
	return named(remotePrefix+remote+"/"+goneFolder+"/", run)
}

func named(folder, run string) (Name, error) {
	component, err := EscapeRun(run)
	return Name(folder + component), err
}

// RemoteComponent is the ref component that stands for a remote: the escaped name of one
// that is configured, and the hash of any other, a URL or a path, which may hold what is
// nobody's business.
func RemoteComponent(remote string, configured bool) string {
	if configured {
		if component, err := EscapeRun(remote); err == nil {
			return component
		}
	}
	sum := sha256.Sum256([]byte(remote))
	return hashPrefix + hex.EncodeToString(sum[:])
}

// isShared reports whether a name is one of Gone, Held, Remote or RemoteGone.
func (n Name) isShared() bool {
	if rest, ok := strings.CutPrefix(string(n), remotePrefix); ok {
		remote, rest, ok := strings.Cut(rest, "/")
		return ok && isComponent(remote) && isComponent(strings.TrimPrefix(rest, goneFolder+"/"))
	}
	for _, folder := range []string{gonePrefix, heldPrefix} {
		if component, ok := strings.CutPrefix(string(n), folder); ok {
			return isComponent(component)
		}
	}
	return false
}
