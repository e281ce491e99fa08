package jjbridge

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/snapshot"
)

// jjFolder is the data of a workspace's .jj folder.
type jjFolder struct {
	top    string // the top folder of the workspace
	repo   string // the .jj/repo folder of the main workspace
	target string // the git directory in which jj stores commits
	name   string // the workspace's name
}

// readJJ reads the .jj folder of the workspace at top. If jj does not store commits in git, the error wraps
// ErrBackend. If a file of the .jj folder, the main repository or the git directory cannot be read, the error
// wraps ErrNoStore.
func readJJ(top string) (jjFolder, error) {
	link := jjFolder{top: top, repo: filepath.Join(top, ".jj", "repo")}
	info, err := os.Stat(link.repo)
	if err != nil {
		return jjFolder{}, fmt.Errorf("%w: %w", ErrNoStore, err)
	}
	// In every workspace but the first, .jj/repo is a file with the path of the main repository.
	if !info.IsDir() {
		if link.repo, err = follow(filepath.Dir(link.repo), link.repo); err != nil {
			return jjFolder{}, fmt.Errorf("%w: the workspace's main repository is gone: %w", ErrNoStore, err)
		}
	}
	store := filepath.Join(link.repo, "store")
	kind, err := os.ReadFile(filepath.Join(store, "type"))
	if err != nil {
		return jjFolder{}, fmt.Errorf("%w: %w", ErrNoStore, err)
	}
	if string(kind) != "git" {
		return jjFolder{}, fmt.Errorf("%w: its store has the type %q", ErrBackend, kind)
	}
	if link.target, err = follow(store, filepath.Join(store, "git_target")); err != nil {
		return jjFolder{}, fmt.Errorf("%w: %w", ErrNoStore, err)
	}
	link.name = workspaceName(top, info.IsDir())
	return link, nil
}

// follow reads a path from file and returns the path without symbolic links. A relative path is relative to the folder
// base. If the path does not exist, follow returns an error.
func follow(base, file string) (string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	path := filepath.FromSlash(strings.TrimRight(string(data), "\r\n"))
	if !filepath.IsAbs(path) {
		path = filepath.Join(base, path)
	}
	return filepath.EvalSymlinks(path)
}

// leadsTo reports whether jj stores the commits of l in repo: in repo's git directory, in its common directory, or in
// the directory to which .git in repo's worktree leads.
func (l jjFolder) leadsTo(repo gitexec.Repo) bool {
	if l.target == repo.CommonDir || l.target == repo.GitDir {
		return true
	}
	dotGit, err := filepath.EvalSymlinks(filepath.Join(repo.WorkTree, ".git")) // a file, in a linked worktree
	return err == nil && l.target == dotGit
}

// obeyed reports whether the .jj folder of l may be obeyed. git must not track a file in the folder, or in a folder that it leads to,
// because the author of a commit could have written the file. If the folder belongs to another user, obeyed returns the error
// of [gitexec.CheckOwner].
func (l jjFolder) obeyed(ctx context.Context, env []string) (bool, error) {
	dotJJ := filepath.Join(l.top, ".jj")
	if err := gitexec.CheckOwner(ctx, l.top, env, dotJJ, l.repo); err != nil {
		return false, err
	}
	base := l.top // the nearest folder with a .git
	for !exists(filepath.Join(base, ".git")) {
		if base == filepath.Dir(base) {
			return true, nil
		}
		base = filepath.Dir(base)
	}
	args := []string{"ls-files", "-z", "--"}
	for _, path := range []string{dotJJ, l.repo, l.target} {
		if rel, err := filepath.Rel(base, path); err == nil && filepath.IsLocal(rel) {
			args = append(args, rel)
		}
	}
	git := gitexec.Process{Dir: base, Env: gitexec.PlumbingEnv(env), Options: []string{"--literal-pathspecs"}, Args: args}
	tracked, _, err := git.Run(ctx)
	failed, _ := errors.AsType[*gitexec.Error](err)
	switch {
	case err == nil:
		return len(tracked) == 0, nil
	case errors.Is(err, gitexec.ErrNoRepository), strings.Contains(failed.Stderr, "dubious ownership"):
		return true, nil // git obeys no repository above
	}
	return false, err
}

// exists reports whether there is a file, folder or link at path.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// colocated returns the jj workspace of a folder that is also git's worktree. If PATH has no jj and env does not set
// SMITHERS_JJ_PATH, colocated returns git's worktree with NoJJ set. repo is the repository of the worktree.
func (l jjFolder) colocated(repo gitexec.Repo, env []string) *Workspace {
	named, _ := gitexec.LookupEnv(env, jjPathVariable)
	if _, err := findJJ(env); err == nil || named != "" {
		return l.workspace(repo, env)
	}
	w := gitWorkspace(repo, env)
	w.NoJJ = true
	return w
}

// workspace returns the jj workspace of l. repo is the repository in which jj stores its commits. env is the
// environment of the workspace's commands.
func (l jjFolder) workspace(repo gitexec.Repo, env []string) *Workspace {
	return &Workspace{
		Repo: repo, Type: snapshot.VCSJJ, Root: l.top, Name: l.name,
		main: filepath.Dir(filepath.Dir(l.repo)), jjRepo: l.repo, env: env,
	}
}

// workspaceName returns the name that jj recorded when it last updated the workspace at top. If jj recorded no name or
// the record cannot be read, workspaceName returns jj's default. This is "default" if first, which means the main
// workspace, is true, and otherwise the name of the folder.
func workspaceName(top string, first bool) string {
	if data, err := os.ReadFile(filepath.Join(top, ".jj", "working_copy", "checkout")); err == nil {
		// the field workspace_name of jj's Checkout message
		if name, ok := stringField(data, 3); ok && name != "" {
			return name
		}
	}
	if first {
		return "default"
	}
	return filepath.Base(top)
}

// stringField returns the first string field with the given number in data, an encoded protocol buffer. ok is
// false if data has no such field. ok is also false if, before the field, data is truncated or has a field that
// is neither an integer nor a string.
func stringField(data []byte, number uint64) (value string, ok bool) {
	for len(data) > 0 {
		key, n := binary.Uvarint(data)
		if n <= 0 {
			return "", false
		}
		// size is the length of a string, or the value of an integer.
		size, m := binary.Uvarint(data[n:])
		if m <= 0 {
			return "", false
		}
		data = data[n+m:]
		switch key & 7 {
		case 0: // an integer, read already
		case 2:
			if size > uint64(len(data)) {
				return "", false
			}
			if key>>3 == number {
				return string(data[:size]), true
			}
			data = data[size:]
		default:
			return "", false
		}
	}
	return "", false
}

// HasWorkspaceAt reports whether the folder dir is the top of the workspace with the given name, in the
// repository of w.
func (w *Workspace) HasWorkspaceAt(dir, name string) bool {
	link, err := readJJ(dir)
	return err == nil && link.repo == w.jjRepo && link.name == name
}

// WorkspacePaths returns the known folders of jj's workspaces by name. It reads jj's file of paths, because no command
// of jj prints a folder that is gone. jj has this file since version 0.36. Without the file, the result has only the
// main workspace and w.
func (w *Workspace) WorkspacePaths() map[string]string {
	paths := map[string]string{"default": w.main}
	if data, err := os.ReadFile(filepath.Join(w.jjRepo, "workspace_store", "index")); err == nil {
		for _, message := range messages(data) {
			// Field 1 is the workspace's name, field 2 its folder.
			name, named := stringField(message, 1)
			path, placed := stringField(message, 2)
			if !named || !placed {
				continue
			}
			path = filepath.FromSlash(path)
			if !filepath.IsAbs(path) {
				path = filepath.Join(w.jjRepo, path)
			}
			paths[name] = filepath.Clean(path)
		}
	}
	paths[w.Name] = w.Root
	return paths
}

// messages returns the messages in data, an encoded protocol buffer whose only field is repeated and has the number 1.
// If data has another form, messages returns nil. If data is empty, it also returns nil.
func messages(data []byte) [][]byte {
	var found [][]byte
	for len(data) > 0 {
		size, n := binary.Uvarint(data[1:])
		// A key of 1<<3|2 means field 1, with a length before its bytes.
		if data[0] != 1<<3|2 || n <= 0 || size > uint64(len(data)-1-n) {
			return nil
		}
		data = data[1+n:]
		found, data = append(found, data[:size]), data[size:]
	}
	return found
}
