package jjbridge

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/internal/lazyregexp"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// filterKey matches the keys of git's configuration whose value is the command of a filter.
var filterKey = lazyregexp.New(`^filter\.(.*)\.(clean|smudge|process)$`)

// Obeyed returns what git obeys when it writes or reads the files of trees in the working copy: the commands of the filters that these files may use, and the
// files of the working copy that git reads as configuration, relative to the top. A file of configuration may not exist yet.
func (w *Workspace) Obeyed(ctx context.Context, trees ...objstore.ID) (commands, files []string, err error) {
	out, err := w.RunGit(ctx, "config", "--list", "-z", "--show-origin")
	if err != nil {
		return nil, nil, err
	}
	home, _ := gitexec.LookupEnv(w.env, "HOME")
	uses := make(map[string]bool)
	obeys := func(paths ...string) {
		for _, path := range paths {
			target, _ := filepath.EvalSymlinks(path)
			for _, path := range []string{path, target} {
				inside, err := filepath.Rel(w.Root, path)
				if err == nil && w.Root != "" && filepath.IsLocal(inside) && !strings.HasPrefix(inside, ".git"+string(filepath.Separator)) {
					files = append(files, filepath.ToSlash(inside))
				}
			}
		}
	}
	obeys(filepath.Join(w.Repo.CommonDir, "info/attributes"))
	for words := splitPaths(out); len(words) >= 2; words = words[2:] {
		origin, isFile := strings.CutPrefix(words[0], "file:")
		if origin = w.full(origin); isFile && filepath.IsAbs(strings.TrimPrefix(words[0], "file:")) {
			origin = strings.TrimPrefix(words[0], "file:")
		}
		key, value, _ := strings.Cut(words[1], "\n")
		obeys(origin)
		folder := w.Root // in which a relative path counts
		if strings.HasPrefix(key, "include") && strings.HasSuffix(key, ".path") {
			folder = filepath.Dir(origin)
		} else if key != "core.attributesfile" {
			folder = ""
		}
		switch rest, isHome := strings.CutPrefix(value, "~/"); {
		case folder == "":
		case isHome:
			obeys(filepath.Join(home, rest))
		case filepath.IsAbs(value):
			obeys(value)
		default:
			obeys(filepath.Join(folder, value))
		}
		filter := filterKey.FindStringSubmatch(key)
		if filter == nil || value == "" || w.Type == snapshot.VCSJJ { // jj runs no filters, and git does not for it
			continue
		}
		name := filter[1]
		if _, known := uses[name]; !known {
			if uses[name], err = w.usesFilter(ctx, name, trees); err != nil {
				return nil, nil, err
			}
		}
		if uses[name] {
			commands = append(commands, value)
		}
	}
	return commands, files, nil
}

// usesFilter reports whether the attributes of trees, of the working copy or of the user name a filter.
func (w *Workspace) usesFilter(ctx context.Context, name string, trees []objstore.ID) (bool, error) {
	text := "filter=" + name
	config, _ := gitexec.LookupEnv(w.env, "XDG_CONFIG_HOME")
	if home, _ := gitexec.LookupEnv(w.env, "HOME"); config == "" {
		config = filepath.Join(home, ".config")
	}
	own, _ := w.Repo.Config.Get("core.attributesfile")
	for _, path := range []string{filepath.Join(w.Repo.CommonDir, "info/attributes"), filepath.Join(config, "git/attributes"), "/etc/gitattributes", own} {
		if data, err := os.ReadFile(path); err == nil && strings.Contains(string(data), text) || path == own && strings.HasPrefix(own, "~") {
			return true, nil
		}
	}
	where := []string{"--no-index"} // the files in the working copy
	for _, tree := range trees {
		where = append(where, tree.String())
	}
	for _, place := range where {
		if w.Root == "" && place == "--no-index" {
			continue
		}
		_, err := w.RunGit(ctx, "grep", "--quiet", "--text", "--fixed-strings", "-e", text, place, "--", ":(icase,glob)**/.gitattributes")
		if failed, ok := errors.AsType[*gitexec.Error](err); err == nil || !ok || failed.Status != 1 {
			return err == nil, err
		}
	}
	return false, nil
}
