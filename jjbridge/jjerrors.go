package jjbridge

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/git-smithers/git-smithers/internal/gitexec"
)

// minJJ is the oldest jj that works here: 0.<minJJ>. It is the first with --config.
const minJJ = 25

// whyJJ returns the cause of a failed jj command.
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
		return fmt.Errorf("%w: 0.%d, and 0.%d is needed: %w", ErrJJTooOld, minor, minJJ, failed.Err)
	}
	return failed.Err
}

// IsUnknownToJJ reports whether jj complains about an unknown command, option or template. Its
// version may be too old.
func IsUnknownToJJ(stderr string) bool {
	return slices.ContainsFunc([]string{
		"unexpected argument", "unrecognized subcommand", "Failed to parse template", "Failed to parse revset",
	}, func(words string) bool { return strings.Contains(stderr, words) })
}

// parseJJVersion reads the minor version in "jj 0.42.0-b8f7c45". A release 1.0 or later counts as
// new enough.
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
