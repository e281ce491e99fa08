package refs

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// Gone returns the name of a run's tombstone: a commit that records which history of the run
// was pruned. The error wraps ErrMalformed.
func Gone(run string) (Name, error) { return named(gonePrefix, run) }

// Held returns the name that keeps a pruned run's objects until it is collected. Its target is the
// run's tip when it was pruned. No push sends it. The error wraps ErrMalformed.
func Held(run string) (Name, error) { return named(heldPrefix, run) }

// Remote returns the name of the tracking ref for a remote's tip of a run; see
// RemoteComponent for remote. The error wraps ErrMalformed.
func Remote(remote, run string) (Name, error) { return named(remotePrefix+remote+"/", run) }

// RemoteGone returns the name of the tracking ref for a tombstone.
func RemoteGone(remote, run string) (Name, error) {
	return named(remotePrefix+remote+"/"+goneFolder+"/", run)
}

func named(folder, run string) (Name, error) {
	component, err := EscapeRun(run)
	return Name(folder + component), err
}

// RemoteComponent returns the ref component of a remote: the escaped name of a configured
// remote, or the hash of a URL or path, which may contain secrets.
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
