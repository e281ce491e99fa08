// Package sandbox runs a command where it can do little: with bubblewrap, in namespaces of its own, with the files that it is given.
//
// What a command has is listed, not what it lacks: the system's programs (read-only), its folder, and what a Spec names. Limits of memory,
// processes and processor time are those of cgroups. What this machine cannot enforce is an error, never left out.
package sandbox

import (
	"context"
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

	shown string // see Resolve
}

// InternalsName is the name in Write by which a task may write the repository.
const InternalsName = ".git"

// Place is where a command runs.
type Place struct {
	Dir       string   // its folder, which it may write
	Internals []string // the repository's own folders and files: they are read-only, unless the Spec has InternalsName
	Hidden    []string // folders in them that it must not see
	Files     []string // single files that it may write
	Shown     []string // single files that it may read
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
	// Closed is what the command must not change in the folders that it may write, and why, for people.
	Closed []string

	limits  *limits
	absent  []string // see Place.absent
	private string   // the folder to which SetAside moves; "" if there is none
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
	if err := keepDescriptors(); err != nil {
		return nil, err
	}
	args, shut, absent, err := s.arguments(ctx, at, env)
	if err != nil {
		return nil, err
	}
	kept := s.environment(env, given)
	args = append([]string{bwrap}, args...)
	if err := try(ctx, args); err != nil {
		return nil, err
	}
	limits, err := s.limit(ctx)
	if err != nil {
		return nil, err
	}
	made := &Command{Line: limits.enter(append(args, "--", "sh", "-c", line)), Env: kept, Closed: shut, limits: limits, absent: absent}
	if len(at.Hidden) > 0 {
		made.private = at.Hidden[0]
	}
	return made, nil
}

// Works tries whether the program at path, which is bubblewrap, makes a sandbox on this machine. The error is an *Error if it does not.
func Works(ctx context.Context, path string) error {
	return try(ctx, append([]string{path, "--ro-bind", "/", "/"}, isolation...))
}

// isolation are the arguments of bubblewrap that every sandbox has.
var isolation = []string{"--die-with-parent", "--new-session", "--unshare-all", "--cap-drop", "ALL"}

// try makes the sandbox of the arguments around a command that does nothing. The command is the system's sh, because the user's PATH
// may lead to a stranger's.
func try(ctx context.Context, args []string) error {
	cmd := exec.CommandContext(ctx, args[0], append(slices.Clone(args[1:]), "--", "/bin/sh", "-c", "exit 0")...)
	cmd.Dir, cmd.Env = "/", []string{}
	out, err := cmd.CombinedOutput()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return cannot("bubblewrap cannot make the sandbox here: %s", lastLine(out, err))
	}
	return nil
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

// arguments returns the arguments of bubblewrap, in the order in which it makes the mounts: what is mounted later lies over what was before. So
// what must stay closed comes last. shut names what is closed in the folders that the command may write. absent
// lists the repositories that it must not make there.
func (s *Spec) arguments(ctx context.Context, at Place, env []string) (args, shut, absent []string, err error) {
	if at.Home != "" && within(at.Dir, at.Home) {
		return nil, nil, nil, cannot("the home folder is in the folder of the task, so it cannot be kept from it")
	}
	read, err := s.readable(at)
	if err != nil {
		return nil, nil, nil, err
	}
	write, err := s.writable(at)
	if err != nil {
		return nil, nil, nil, err
	}
	args = append(s.system(at), mounts("--ro-bind", read, at)...)
	args = append(append(args, "--bind", at.Dir, at.Dir), mounts("--bind", write, at)...)
	roots := []string{at.Dir}
	for _, g := range write {
		roots = append(roots, g.real)
	}
	obeyed, err := at.obeyed(ctx, roots, env)
	if err != nil {
		return nil, nil, nil, err
	}
	internals := "--ro-bind"
	if slices.ContainsFunc(s.Write, at.namesInternals) {
		internals = "--bind"
	} else {
		absent = at.absent(roots)
	}
	args = append(args, pinned(roots, at.Internals, obeyed)...)
	for _, c := range obeyed {
		if internals == "--bind" && slices.Contains(at.Internals, c.path) {
			continue
		}
		for _, g := range write {
			if within(c.path, g.real) {
				return nil, nil, nil, cannot("%s lies in what programs outside of the sandbox obey: %s", g.named, c.why)
			}
		}
		args = append(args, "--ro-bind-try", c.path, c.path)
		name := filepath.Base(c.path)
		if rel, err := filepath.Rel(at.Dir, c.path); err == nil && filepath.IsLocal(rel) {
			name = rel
		}
		shut = append(shut, name+" ("+c.why+")")
	}
	for _, path := range at.Internals {
		args = append(args, internals, path, path)
	}
	for _, path := range at.Hidden {
		args = append(args, "--tmpfs", path)
	}
	for _, file := range at.Files {
		args = append(args, "--bind", file, file)
	}
	for _, file := range at.Shown {
		args = append(args, "--ro-bind", file, file)
	}
	return append(args, "--chdir", at.Dir), shut, absent, nil
}

// pinned returns the arguments that mount each folder over itself that lies between a root and something closed. A folder that is a mount
// cannot be renamed; otherwise the command could move it away, and make another one with another file in it.
func pinned(roots, internals []string, obeyed []closed) []string {
	var folders []string
	paths := slices.Clone(internals)
	for _, c := range obeyed {
		paths = append(paths, c.path)
	}
	for _, root := range roots {
		for _, path := range paths {
			for folder := filepath.Dir(path); folder != root && within(root, folder); folder = filepath.Dir(folder) {
				folders = append(folders, folder)
			}
		}
	}
	slices.Sort(folders)
	var args []string
	for _, folder := range slices.Compact(folders) {
		args = append(args, "--bind-try", folder, folder)
	}
	return args
}

// system returns the arguments with which the command sees the system's programs, and a home folder that is empty.
func (s *Spec) system(at Place) []string {
	args := slices.Clone(isolation)
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
	return args
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
