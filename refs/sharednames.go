package refs

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// Gone returns the name of the ref for a run's tombstone: a commit that records which history of the run was
// pruned. For an empty run id, the error wraps ErrMalformed.
func Gone(run string) (Name, error) { return named(gonePrefix, run) }

// Held returns the name of the ref that keeps the objects of a pruned run until git collects them. Its target
// is the tip that the run had when it was pruned. No push sends this ref. For an empty run id, the error
// wraps ErrMalformed.
func Held(run string) (Name, error) { return named(heldPrefix, run) }

// Remote returns the name of the tracking ref for the tip that a run has in a remote. remote is a RemoteComponent. For
// an empty run id, the error wraps ErrMalformed.
func Remote(remote, run string) (Name, error) { return named(remotePrefix+remote+"/", run) }

// RemoteGone returns the name of the tracking ref for the tombstone that a run has in a remote. remote is a
// RemoteComponent. For an empty run id, the error wraps ErrMalformed.
func RemoteGone(remote, run string) (Name, error) {
	return named(remotePrefix+remote+"/"+goneFolder+"/", run)
}

// named returns the name of a run's ref in a folder, which ends with "/". For an empty run id, the error
// wraps ErrMalformed.
func named(folder, run string) (Name, error) {
	component, err := EscapeRun(run)
	return Name(folder + component), err
}

// RemoteComponent returns the ref component of a remote. If configured is true, remote is the name of a
// configured remote, and the component is the escaped name. Otherwise remote is a URL or path, which may
// contain secrets, and the component is its hash.
func RemoteComponent(remote string, configured bool) string {
	if configured {
		if component, err := EscapeRun(remote); err == nil {
			return component
		}
	}
	sum := sha256.Sum256([]byte(remote))
	return hashPrefix + hex.EncodeToString(sum[:])
}

// isShared reports whether Gone, Held, Remote or RemoteGone can return n.
func (n Name) isShared() bool {
	if rest, ok := strings.CutPrefix(string(n), remotePrefix); ok {
		remote, rest, ok := strings.Cut(rest, "/")
		// A tip is remote/run, and a tombstone is remote/_gone/run.
		return ok && isComponent(remote) && isComponent(strings.TrimPrefix(rest, goneFolder+"/"))
	}
	for _, folder := range []string{gonePrefix, heldPrefix} {
		if component, ok := strings.CutPrefix(string(n), folder); ok {
			return isComponent(component)
		}
	}
	return false
}
