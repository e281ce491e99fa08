package gitexec

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// Version is a release of git. Its parts compare as numbers.
type Version struct{ Major, Minor int }

// MinVersion returns the oldest git that works here.
func MinVersion() Version { return Version{2, 30} }

// Less reports whether v is older than other.
func (v Version) Less(other Version) bool {
	return v.Major < other.Major || (v.Major == other.Major && v.Minor < other.Minor)
}

// String returns the version as people write it.
func (v Version) String() string { return strconv.Itoa(v.Major) + "." + strconv.Itoa(v.Minor) }

// Version asks git for its version. It runs a process, so it is for explaining a failure and not
// for every start.
func (g *Git) Version(ctx context.Context) (Version, error) {
	out, err := g.Run(ctx, "version")
	if err != nil {
		return Version{}, err
	}
	return parseVersion(string(out))
}

// CheckVersion returns an error that wraps ErrGitTooOld if git is older than MinVersion.
func (g *Git) CheckVersion(ctx context.Context) error {
	v, err := g.Version(ctx)
	if err != nil {
		return err
	}
	if v.Less(MinVersion()) {
		return fmt.Errorf("%w: %v, and %v is needed", ErrGitTooOld, v, MinVersion())
	}
	return nil
}

// parseVersion reads output such as "git version 2.39.5 (Apple Git-154)".
func parseVersion(out string) (Version, error) {
	words := strings.Fields(out)
	if len(words) >= 3 && words[0] == "git" && words[1] == "version" {
		major, rest, _ := strings.Cut(words[2], ".")
		minor, _, _ := strings.Cut(rest, ".")
		v := Version{}
		var err error
		if v.Major, err = strconv.Atoi(major); err == nil {
			if v.Minor, err = strconv.Atoi(minor); err == nil {
				return v, nil
			}
		}
	}
	return Version{}, fmt.Errorf("%w: unexpected version %q", ErrGitTooOld, strings.TrimSpace(out))
}
