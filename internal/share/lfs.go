package share

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/internal/share/remotes"
	"github.com/git-smithers/git-smithers/internal/share/secretscan"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// LFSObjects are the LFS objects of files in a push. git-lfs sends them, and a push of runs does not.
type LFSObjects struct {
	Known   bool                    `json:"known"` // the remote lacks each object; otherwise it may have some
	Count   int                     `json:"count"`
	Objects []secretscan.LFSPointer `json:"objects"` // sorted by path, at most 100
	Command string                  `json:"command"` // sends the objects
}

// lookForLFS sets p.lfs to the LFS objects of pointers in runs, without those that are seen at the remote, and warns about them.
func (p *push) lookForLFS(pointers []secretscan.LFSPointer, runs []secretscan.Run) {
	const most, named = 100, 3
	stores := p.lfsStores()
	pointers = slices.DeleteFunc(pointers, func(o secretscan.LFSPointer) bool {
		return slices.ContainsFunc(stores, func(store string) bool {
			info, err := os.Stat(filepath.Join(store, o.OID[:2], o.OID[2:4], o.OID))
			return err == nil && info.Size() == o.Size
		})
	})
	if p.lfs = nil; len(pointers) == 0 {
		return
	}
	slices.SortFunc(pointers, func(a, b secretscan.LFSPointer) int { return strings.Compare(a.Path, b.Path) })
	words := []string{"git lfs push", fault.Word(p.to.Shown())}
	if len(runs) > named {
		words, runs = slices.Insert(words, 0, "git for-each-ref --format='%(refname)' refs/smithers/_tip | xargs"), nil
	}
	for _, run := range runs {
		if tip, err := refs.Tip(run.ID); err == nil {
			words = append(words, fault.Word(string(tip)))
		}
	}
	p.lfs = &LFSObjects{len(stores) > 0, len(pointers), pointers[:min(len(pointers), most)], strings.Join(words, " ")}
	var paths []string
	for _, o := range pointers[:min(len(pointers), named)] {
		paths = append(paths, plain.Text(o.Path))
	}
	what := p.to.Shown() + " may lack"
	if p.lfs.Known {
		what = p.to.Shown() + " lacks"
	}
	more := ""
	if len(pointers) > named {
		more = fmt.Sprintf(" and %d more", len(pointers)-named)
	}
	command := p.lfs.Command
	p.store.Warn(fmt.Errorf("%s the LFS objects of %s%s: `%s` sends them", what, strings.Join(paths, ", "), more, command))
}

// lfsStores returns the folders in which git-lfs keeps the objects of a remote that is a folder. It returns none if the remote is
// elsewhere, or if git-lfs is told to keep the objects elsewhere.
func (p *push) lfsStores() (stores []string) {
	repo := p.store.Repo()
	for _, key := range []string{"lfs.url", "lfs.pushurl", "remote." + p.to.Name + ".lfsurl", "remote." + p.to.Name + ".lfspushurl"} {
		if _, set := repo.Config.Get(key); set {
			return nil
		}
	}
	if _, err := os.Lstat(filepath.Join(repo.WorkTree, ".lfsconfig")); err == nil {
		return nil
	}
	path := strings.TrimPrefix(remotes.URL(p.store, p.to), "file://")
	if !filepath.IsAbs(path) {
		path = filepath.Join(repo.WorkTree, path)
	}
	for _, end := range []string{"/.git", "", ".git/.git", ".git"} { // where git looks for the repository
		if info, err := os.Stat(filepath.Join(path+end, "objects")); err == nil && info.IsDir() {
			return []string{filepath.Join(path+end, "lfs", "objects")}
		}
	}
	return nil
}
