package transport

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// manyMoves is the number of moves from which on a push goes through a scratch git directory. git looks through all refs of its git
// directory for each of the refs that it is told to push, so that a push of many refs from a repository with many takes minutes.
const manyMoves = 20

// scratchDir makes a git directory without refs, which has the objects and the configuration of the repository. It returns "" if git would
// not push alike from there: a shallow or partial clone knows of its gaps by its own files. The caller removes the folder.
func (t *Transport) scratchDir(ctx context.Context) (string, error) {
	repo := t.opts.Repo
	if _, err := os.Stat(filepath.Join(repo.CommonDir, "shallow")); err == nil || repo.Config.IsPartial() || strings.ContainsAny(repo.CommonDir, "\n\"") {
		return "", nil
	}
	config, err := t.run(ctx, t.process([]string{"config", "--list", "-z"}, nil))
	if err != nil {
		return "", err
	}
	folder := filepath.Join(repo.CommonDir, "smithers", "tmp") // the configuration may have secrets
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp(folder, "push-")
	if err != nil {
		return "", err
	}
	removeLeft(folder, dir)
	err = errors.Join(os.MkdirAll(filepath.Join(dir, "objects", "info"), 0o700), os.Mkdir(filepath.Join(dir, "refs"), 0o700))
	for name, text := range map[string]string{
		"HEAD":                    "ref: refs/heads/none\n",
		"config":                  configText(string(config)),
		"objects/info/alternates": filepath.Join(repo.CommonDir, "objects") + "\n",
	} {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), []byte(text), 0o600))
	}
	if err != nil {
		return "", errors.Join(err, os.RemoveAll(dir))
	}
	return dir, nil
}

// longestPush is how old a scratch folder is at least whose push was killed.
const longestPush = 24 * time.Hour

// removeLeft removes the scratch folders of pushes that were killed. fresh is a folder that was just made.
func removeLeft(folder, fresh string) {
	now, err := os.Stat(fresh)
	if err != nil {
		return
	}
	all, _ := filepath.Glob(filepath.Join(folder, "push-*"))
	for _, old := range all {
		if info, err := os.Stat(old); err == nil && now.ModTime().Sub(info.ModTime()) > longestPush {
			_ = os.RemoveAll(old) // else the next push tries again
		}
	}
}

// configText returns configuration, as git config --list -z prints it, as a file with the same order. The values of included files are among
// the others, and what belongs to the repository's own folders is left out.
func configText(list string) string {
	quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`, "\b", `\b`)
	var b strings.Builder
	for entry := range strings.SplitSeq(strings.TrimSuffix(list, "\x00"), "\x00") {
		key, value, valued := strings.Cut(entry, "\n")
		section, rest, _ := strings.Cut(key, ".")
		if key == "" || section == "include" || section == "includeif" || section == "extensions" && rest != "objectformat" || key == "core.worktree" || key == "core.bare" {
			continue
		}
		name := rest
		if at := strings.LastIndexByte(rest, '.'); at >= 0 {
			name = rest[at+1:]
			section += ` "` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(rest[:at]) + `"`
		}
		fmt.Fprintf(&b, "[%s]\n\t%s", section, name)
		if valued {
			fmt.Fprintf(&b, " = \"%s\"", quote.Replace(value))
		}
		b.WriteByte('\n')
	}
	return b.String()
}
