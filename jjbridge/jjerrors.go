package jjbridge

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/git-smithers/git-smithers/internal/gitexec"
)

// minJJ is the minor version of the oldest supported jj, 0.25. jj 0.25 is the first version with the option --config.
const minJJ = 25

// whyJJ returns the cause of a failed jj command. The cause wraps ErrStale if the working copy is stale, and
// ErrJJTooOld if jj does not know a part of the command and is older than minJJ. Otherwise the cause is
// failed.Err. whyJJ may run jj --version.
func whyJJ(ctx context.Context, w *Workspace, failed *gitexec.Error) error {
	if strings.Contains(failed.Stderr, "working copy is stale") {
		return fmt.Errorf("%w: %w", ErrStale, failed.Err)
	}
	if !IsUnknownToJJ(failed.Stderr) {
		return failed.Err
	}
	program, err := findJJ(w.env)
	if err != nil {
		return failed.Err
	}
	out, _, err := gitexec.Process{Program: program, Dir: w.Root, Env: gitexec.PlumbingEnv(w.env), Args: []string{"--version"}}.Run(ctx)
	if minor, ok := parseJJVersion(string(out)); err == nil && ok && minor < minJJ {
		return fmt.Errorf("%w: its version is 0.%d, but git-smithers needs at least 0.%d: %w", ErrJJTooOld, minor, minJJ, failed.Err)
	}
	return failed.Err
}

// IsUnknownToJJ reports whether jj's standard error says that jj does not know a command, an option, a
// template or a revset. The reason may be that jj is too old.
func IsUnknownToJJ(stderr string) bool {
	return slices.ContainsFunc([]string{
		"unexpected argument", "unrecognized subcommand", "Failed to parse template", "Failed to parse revset",
	}, func(words string) bool { return strings.Contains(stderr, words) })
}

// parseJJVersion returns the minor version in out, the output of jj --version such as "jj 0.42.0-b8f7c45".
// For a release 1.0 or later it returns minJJ. ok is false if out has another form.
func parseJJVersion(out string) (minor int, ok bool) {
	words := strings.Fields(out)
	if len(words) < 2 || words[0] != "jj" {
		return 0, false
	}
	parts := strings.SplitN(words[1], ".", 3)
	if len(parts) < 2 {
		return 0, false
	}
	major, err := strconv.Atoi(parts[0])
	if err != nil {
		return 0, false
	}
	if major > 0 {
		return minJJ, true
	}
	minor, err = strconv.Atoi(parts[1])
	return minor, err == nil
}
