package gitexec

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// Version is a release of git, for example 2.39. It has no third number.
type Version struct{ Major, Minor int }

// MinVersion returns the oldest version of git that this program works with.
func MinVersion() Version { return Version{2, 30} }

// Less reports whether v is older than other.
func (v Version) Less(other Version) bool {
	return v.Major < other.Major || (v.Major == other.Major && v.Minor < other.Minor)
}

// String returns the version as people write it, for example "2.39".
func (v Version) String() string { return strconv.Itoa(v.Major) + "." + strconv.Itoa(v.Minor) }

// Version runs git and returns git's version. The error wraps [ErrGitTooOld] if the output has an unknown form. Running
// git takes time, so Version is meant only for explaining a failure.
func (g *Git) Version(ctx context.Context) (Version, error) {
	out, err := g.Run(ctx, "version")
	if err != nil {
		return Version{}, err
	}
	return parseVersion(string(out))
}

// CheckVersion runs git and returns an error that wraps [ErrGitTooOld] if git is older than [MinVersion].
func (g *Git) CheckVersion(ctx context.Context) error {
	v, err := g.Version(ctx)
	if err != nil {
		return err
	}
	if v.Less(MinVersion()) {
		return fmt.Errorf("%w: it is version %v, but version %v or newer is needed", ErrGitTooOld, v, MinVersion())
	}
	return nil
}

// parseVersion returns the version in output such as "git version 2.39.5 (Apple Git-154)". The error
// wraps [ErrGitTooOld] if the output has another form.
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
