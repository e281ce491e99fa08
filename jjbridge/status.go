package jjbridge

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// status is the result of git status for one working copy.
type status struct {
	commit, branch string // HEAD; both "" before the first commit; branch is "" if HEAD is detached
	staged         bool   // a path of the index differs from HEAD, or is in conflict
	files          []statusFile
	untracked      []string // neither tracked nor ignored; a path with a final slash is a nested git repository
	unreadable     []string // folders that git could not read, each with a final slash
}

// statusFile is a path whose file differs between HEAD, the index and the working copy.
type statusFile struct {
	path string
	// index is the file in the index; it does not exist if the index lacks the path. In a conflict, it is the
	// file of the lowest stage: base, ours or theirs.
	index treeFile
	// same is true if git finds no difference between the index and the working copy.
	same   bool
	exists bool // in the working copy
	module moduleStatus
}

// moduleStatus is the state of a submodule. It is zero for every other path.
type moduleStatus struct {
	is    bool // the path is a submodule in the index and in the working copy
	moved bool // the submodule's HEAD is not the commit in the index
	dirty bool // the submodule has changed or untracked files
}

// status runs git status on the copy of the user's index and returns the result. settings are further configuration,
// each as name=value. git status lists untracked files only if c.scope is snapshot.ScopeAll. Without submodules, git
// also updates the copy. With submodules it does not, because it would also write to their own indexes. git status
// reads HEAD twice. If HEAD moves in between, status runs git again, at most captureRounds times in all, and returns
// the last result.
func (c *filesCapture) status(ctx context.Context, settings ...string) (*status, error) {
	untracked := "all"
	if c.scope != snapshot.ScopeAll {
		untracked = "no"
	}
	env := []string{"GIT_INDEX_FILE=" + c.p.TrackedPath(), "GIT_NO_REPLACE_OBJECTS=1"}
	if !c.state.Survey.Modules {
		env = append(env, "GIT_OPTIONAL_LOCKS=1")
	}
	run := gitRun{
		args: []string{
			"status", "--porcelain=v2", "--branch", "-z", "--untracked-files=" + untracked,
			"--ignore-submodules=none", "--no-renames", "--no-ahead-behind",
		},
		// git uses the untracked cache only if status.showUntrackedFiles equals the option --untracked-files.
		env: env, caches: true,
		settings: append([]string{"core.ignoreStat=false", "status.showUntrackedFiles=" + untracked}, settings...),
	}
	for range captureRounds - 1 {
		before := c.w.headMark()
		s, err := c.w.runStatus(ctx, run)
		if err != nil || c.w.headMark() == before {
			return s, err
		}
	}
	return c.w.runStatus(ctx, run)
}

// runStatus runs git status once, as run describes. It returns git's result and the unreadable folders that git
// warns of.
func (w *Workspace) runStatus(ctx context.Context, run gitRun) (*status, error) {
	out, stderr, err := w.gitFull(ctx, run)
	if err != nil {
		return nil, err
	}
	s := &status{unreadable: unreadableFolders(stderr)}
	return s, s.parse(string(out))
}

// withoutFilters returns settings, as for git's -c, with which git compares files without running a filter: no
// filter has a program, and none is required. git then reports each file with a filter as modified, unless the
// file's times show that it is unchanged.
func (w *Workspace) withoutFilters() []string {
	var settings []string
	for _, key := range slices.Sorted(maps.Keys(w.Repo.Config)) {
		name, ok := strings.CutPrefix(key, "filter.")
		at := strings.LastIndexByte(name, '.')
		if !ok || at < 0 {
			continue
		}
		switch name[at+1:] {
		case "clean", "process":
			settings = append(settings, key+"=")
		case "required":
			settings = append(settings, key+"=false")
		}
	}
	return settings
}

// headMark returns a text that changes if HEAD moves. The text has the content of HEAD and of the ref that HEAD
// names, and the size and time of packed-refs, or the names of the tables with refs. git status reads HEAD twice, so HEAD must
// not move meanwhile.
func (w *Workspace) headMark() string {
	head, _ := os.ReadFile(filepath.Join(w.Repo.GitDir, "HEAD")) // if HEAD is missing, git status fails
	var mark strings.Builder
	mark.Write(head)
	if ref, ok := strings.CutPrefix(strings.TrimSpace(string(head)), "ref: "); ok {
		value, _ := os.ReadFile(filepath.Join(w.Repo.CommonDir, filepath.FromSlash(ref))) // missing if the ref is packed
		mark.Write(value)
	}
	if w.Repo.RefFormat != "files" { // the worktree's own tables have HEAD, the common ones its branch
		for _, dir := range []string{w.Repo.GitDir, w.Repo.CommonDir} {
			list, _ := os.ReadFile(filepath.Join(dir, "reftable", "tables.list"))
			mark.Write(list)
		}
	}
	if info, err := os.Stat(filepath.Join(w.Repo.CommonDir, "packed-refs")); err == nil {
		fmt.Fprintln(&mark, info.Size(), info.ModTime().UnixNano())
	}
	return mark.String()
}

// parse decodes out, the output of git status --porcelain=v2 --branch -z --no-renames, into s.
func (s *status) parse(out string) error {
	for len(out) > 0 {
		line, rest, _ := strings.Cut(out, "\x00")
		kind, text, _ := strings.Cut(line, " ")
		var err error
		switch kind {
		case "#":
			s.header(text)
		case "?":
			s.untracked = append(s.untracked, text)
		case "1":
			err = s.changed(text)
		case "u":
			err = s.unmerged(text)
		default:
			err = errors.New("unexpected line")
		}
		if err != nil {
			return fmt.Errorf("git status: %q: %w", line, err)
		}
		out = rest
	}
	// Before the first commit, git prints the branch but no commit.
	if s.commit == "" {
		s.branch = ""
	}
	return nil
}

var errUnexpectedFields = errors.New("unexpected fields")

// header reads a header line without its "# ". It sets s.commit or s.branch if the line has the commit or the branch.
func (s *status) header(text string) {
	switch name, value, _ := strings.Cut(text, " "); {
	case name == "branch.oid" && value != "(initial)":
		s.commit = value
	case name == "branch.head" && value != "(detached)" && value != "(null)":
		s.branch = value
	}
}

// changed reads the line of a changed path into s.files. text is the line without its "1 ", in git's fields:
// "XY sub mH mI mW hH hI path".
func (s *status) changed(text string) error {
	fields := strings.SplitN(text, " ", 8)
	if len(fields) != 8 || len(fields[0]) != 2 {
		return errUnexpectedFields
	}
	index, err := parseTreeFile(fields[3], fields[6])
	if err != nil {
		return err
	}
	s.staged = s.staged || fields[0][0] != '.'
	// A dot as Y means that the working copy has no change.
	return s.add(fields[7], index, fields[0][1] == '.', fields[4], fields[1])
}

// unmerged reads the line of a path in conflict into s.files. text is the line without its "u ", in git's
// fields: "XY sub m1 m2 m3 mW h1 h2 h3 path".
func (s *status) unmerged(text string) error {
	fields := strings.SplitN(text, " ", 10)
	if len(fields) != 10 {
		return errUnexpectedFields
	}
	s.staged = true
	var index treeFile
	for _, stage := range []int{4, 3, 2} { // the last file that exists counts, and so the lowest stage
		side, err := parseTreeFile(fields[stage], fields[stage+4])
		if err != nil {
			return err
		}
		if side.exists() {
			index = side
		}
	}
	return s.add(fields[9], index, false, fields[5], fields[1])
}

// add adds path to s.files. index is the file in the index. unchanged is true if git finds no difference between the
// index and the working copy. mode is the file's octal mode in the working copy, or 0 if there is no file. module is
// git's field sub: "N..." or, for a submodule, "S" and three letters.
func (s *status) add(path string, index treeFile, unchanged bool, mode, module string) error {
	now, err := strconv.ParseUint(mode, 8, 32)
	if err != nil {
		return err
	}
	f := statusFile{path: path, index: index, same: unchanged, exists: now != 0}
	if len(module) == 4 && module[0] == 'S' && index.isModule() && objstore.Mode(now) == objstore.ModeCommit {
		f.module = moduleStatus{is: true, moved: module[1] == 'C', dirty: module[2] == 'M' || module[3] == 'U'}
	}
	s.files = append(s.files, f)
	return nil
}

// splitPaths returns the paths in out, in which each path ends in a NUL. The result is nil if out is empty.
func splitPaths(out []byte) []string {
	if len(out) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
}

// unreadableFolders returns the folders, each with a final slash, that git could not read. It finds them in git's
// warnings in stderr.
func unreadableFolders(stderr []byte) []string {
	var folders []string
	for line := range strings.Lines(string(stderr)) {
		if name, ok := strings.CutPrefix(line, "warning: could not open directory '"); ok {
			if i := strings.LastIndex(name, "': "); i > 0 {
				folders = append(folders, strings.TrimSuffix(name[:i], "/")+"/")
			}
		}
	}
	return folders
}
