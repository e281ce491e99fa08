// Package sandbox runs a command where it can do little: with bubblewrap, in namespaces of its own, with the files that it is given.
//
// What a command has is listed, not what it lacks: the system's programs (read-only), its folder, and what a Spec names. Limits of memory,
// processes and processor time are those of cgroups. What this machine cannot enforce is an error, never left out.
package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Spec is what a command may do.
type Spec struct {
	Network bool     // it has the network of the machine; otherwise it has none, not even loopback of the machine
	Write   []string // what it may write beside its folder
	Read    []string // what it may read beside its folder and the system
	Env     []string // the names of the variables that it gets, sorted

	Memory    int64   // bytes; 0 for no limit
	Processes int     // at most so many at a time; 0 for no limit
	CPU       float64 // processors' worth of time; 0 for no limit
}

// InternalsName is the name in Write by which a task may write the repository.
const InternalsName = ".git"

// Place is where a command runs.
type Place struct {
	Dir       string   // its folder, which it may write
	Internals []string // the repository's own folders and files: they are read-only, unless the Spec has InternalsName
	Hidden    []string // folders in them that it must not see
	Files     []string // single files that it may write
	Home      string   // the home folder, of which it sees an empty one; "" if there is none
}

// Error is why a sandbox cannot be made here.
type Error struct{ text string }

func (e *Error) Error() string { return e.text }

// cannot returns an Error.
func cannot(format string, args ...any) error { return &Error{fmt.Sprintf(format, args...)} }

// systemFolders are the folders of programs and of what they need. Those that a machine lacks are left out.
var systemFolders = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix/store", "/gnu/store"}

// secretFiles are files in them that no command needs.
var secretFiles = []string{"/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers", "/etc/ssh", "/etc/ssl/private", "/etc/krb5.keytab"}

// Command is a command in a sandbox.
type Command struct {
	Line string   // for sh -c
	Env  []string // the whole environment

	limits *limits
}

// Close removes what the limits needed. The caller calls it after the command has ended.
func (c *Command) Close() error { return c.limits.remove() }

// alwaysNamed are variables that every command gets: without them, programs do not find each other or write in another language.
var alwaysNamed = []string{"PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TERM", "HOME"}

// New returns the command that runs line in a sandbox. env has all variables that the command could get; those in given are kept whatever
// the Spec says. It tries whether the machine makes such a sandbox. The error is an *Error if it does not.
func (s *Spec) New(ctx context.Context, line string, at Place, env, given []string) (*Command, error) {
	bwrap, err := exec.LookPath("bwrap")
	if err != nil {
		return nil, cannot("bubblewrap is not installed: there is no bwrap on PATH")
	}
	args, err := s.arguments(at)
	if err != nil {
		return nil, err
	}
	kept := s.environment(env, given)
	args = append([]string{bwrap}, args...)
	try := exec.CommandContext(ctx, args[0], append(slices.Clone(args[1:]), "--", "sh", "-c", "exit 0")...)
	try.Env = kept
	if out, err := try.CombinedOutput(); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, cannot("bubblewrap cannot make the sandbox here: %s", lastLine(out, err))
	}
	limits, err := s.limit(ctx)
	if err != nil {
		return nil, err
	}
	return &Command{Line: limits.enter(append(args, "--", "sh", "-c", line)), Env: kept, limits: limits}, nil
}

// lastLine returns the last line of an output, or the error if there is none.
func lastLine(out []byte, err error) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if last := lines[len(lines)-1]; last != "" {
		return last
	}
	return err.Error()
}

// environment returns the variables that the command gets.
func (s *Spec) environment(env, given []string) []string {
	var kept []string
	for _, entry := range env {
		name, _, _ := strings.Cut(entry, "=")
		if slices.Contains(alwaysNamed, name) || slices.Contains(s.Env, name) {
			kept = append(kept, entry)
		}
	}
	return append(kept, given...)
}

// arguments returns the arguments of bubblewrap, in the order in which it makes the mounts: what is mounted later lies over what was before.
func (s *Spec) arguments(at Place) ([]string, error) {
	if rel, err := filepath.Rel(at.Dir, at.Home); at.Home != "" && err == nil && filepath.IsLocal(rel) {
		return nil, cannot("the home folder is in the folder of the task, so it cannot be kept from it")
	}
	args := []string{"--die-with-parent", "--new-session", "--unshare-all", "--cap-drop", "ALL"}
	if s.Network {
		args = append(args, "--share-net")
	}
	for _, folder := range systemFolders {
		if target, err := os.Readlink(folder); err == nil { // such as /bin, which is a link to usr/bin
			args = append(args, "--symlink", target, folder)
		} else {
			args = append(args, "--ro-bind-try", folder, folder)
		}
	}
	for _, path := range secretFiles {
		if info, err := os.Lstat(path); err == nil && info.IsDir() {
			args = append(args, "--tmpfs", path)
		} else if err == nil {
			args = append(args, "--ro-bind", "/dev/null", path)
		}
	}
	args = append(args, "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--tmpfs", "/run", "--tmpfs", "/var/tmp", "--dir", "/var/empty")
	if s.Network {
		// Name servers may be listed in a file of /run, to which /etc/resolv.conf leads.
		if target, err := filepath.EvalSymlinks("/etc/resolv.conf"); err == nil && strings.HasPrefix(target, "/run/") {
			args = append(args, "--ro-bind-try", target, target)
		}
	}
	if at.Home != "" && at.Home != "/" {
		args = append(args, "--tmpfs", at.Home)
	}
	for _, path := range s.Read {
		full, err := s.existing(path, at)
		if err != nil {
			return nil, err
		}
		args = append(args, "--ro-bind", full, full)
	}
	args = append(args, "--bind", at.Dir, at.Dir)
	internals := "--ro-bind"
	if slices.Contains(s.Write, InternalsName) {
		internals = "--bind"
	}
	for _, path := range at.Internals {
		args = append(args, internals, path, path)
	}
	for _, path := range at.Hidden {
		args = append(args, "--tmpfs", path)
	}
	for _, path := range s.Write {
		if path == InternalsName {
			continue
		}
		full, err := s.existing(path, at)
		if err != nil {
			return nil, err
		}
		args = append(args, "--bind", full, full)
	}
	for _, file := range at.Files {
		args = append(args, "--bind", file, file)
	}
	return append(args, "--chdir", at.Dir), nil
}

// existing returns the absolute path of what a Spec names. A path that begins with ~/ is in the home folder, a relative one in the command's
// folder. What does not exist cannot be given.
func (s *Spec) existing(path string, at Place) (string, error) {
	full := path
	switch rest, home := strings.CutPrefix(path, "~/"); {
	case home && at.Home == "":
		return "", cannot("%s: there is no home folder", path)
	case home:
		full = filepath.Join(at.Home, rest)
	case !filepath.IsAbs(path):
		full = filepath.Join(at.Dir, path)
	}
	if _, err := os.Lstat(full); err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return "", cannot("%s does not exist", path)
		}
		return "", cannot("%s cannot be read", path)
	}
	return full, nil
}

// quoteAll returns words as a line for sh.
func quoteAll(words []string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = quote(word)
	}
	return strings.Join(quoted, " ")
}

// quote returns a word for sh.
func quote(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// number returns a number for the file of a limit.
func number(n int64) string { return strconv.FormatInt(n, 10) }
