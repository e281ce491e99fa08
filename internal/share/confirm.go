package share

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/git-smithers/git-smithers/internal/share/remotes"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// shownFiles is the maximum number of paths of untracked files that an error lists.
const shownFiles = 10

// confirmFiles decides whether the untracked files of the runs in open may be pushed, and returns the runs that
// may be pushed. The setting smithers.pushFiles decides:
//   - yes: all runs may be pushed.
//   - no: confirmFiles gives the runs with untracked files the final state refused, and leaves these runs out.
//   - ask: all runs may be pushed if a person has permitted their untracked files for this remote, earlier or in
//     this push. Otherwise, confirmFiles calls ask with the files that are new.
//
// Before it refuses or asks, confirmFiles reads the files of all runs. A run that cannot be read gets the final
// state damaged or refused, and is left out.
func (p *push) confirmFiles(ctx context.Context, open []*outgoingRun) ([]*outgoingRun, error) {
	if p.store.Settings().PushFiles == timeline.PushYes || p.confirmed {
		return open, nil
	}
	files, err := p.filesOf(ctx, open)
	if err != nil {
		return nil, err
	}
	open = slices.DeleteFunc(open, func(run *outgoingRun) bool { return run.done })
	if p.store.Settings().PushFiles == timeline.PushNo {
		return p.withhold(open, files), nil
	}
	permitted, err := pushAnswers{p.store}.read(p.to)
	if err != nil {
		return nil, err
	}
	for run, list := range files {
		files[run] = slices.DeleteFunc(list, func(f UntrackedFile) bool { return permitted[f.Path] })
	}
	return open, p.ask(open, files, permitted)
}

// filesOf returns the untracked files of each run in open. If several runs have a file, each of these runs has the
// file in the result. If a run cannot be read, filesOf gives it the final state damaged or refused, and the result
// lacks the run.
func (p *push) filesOf(ctx context.Context, open []*outgoingRun) (map[*outgoingRun][]UntrackedFile, error) {
	// The remote already has the files of its own tips.
	known := make(map[objstore.ID]bool)
	for _, id := range p.there.tips {
		known[id] = true
	}
	files := make(map[*outgoingRun][]UntrackedFile)
	for i, run := range open {
		p.progress("looking for untracked files", i, len(open))
		found, err := p.untrackedFiles(ctx, run.RunID, run.Tip, known)
		if isDamage(err) {
			run.end(StateDamaged, err.Error())
			continue
		}
		if isUnreadable(err) {
			run.end(StateRefused, "the run's captured files cannot be read: "+err.Error())
			continue
		}
		if err != nil {
			return nil, err
		}
		files[run] = found
	}
	return files, nil
}

// withhold gives each run in open that has untracked files the final state refused, and adds these files to
// p.withheld. It returns the other runs.
func (p *push) withhold(open []*outgoingRun, files map[*outgoingRun][]UntrackedFile) []*outgoingRun {
	var clean []*outgoingRun
	for _, run := range open {
		found := files[run]
		if len(found) == 0 {
			clean = append(clean, run)
			continue
		}
		run.end(StateRefused, "the run has untracked files, such as "+found[0].Path+", and smithers.pushFiles is "+timeline.PushNo)
		p.withheld = append(p.withheld, found...)
	}
	return clean
}

// ask asks PushRequest.Confirm whether files, the new untracked files of the runs in open, may be pushed, and stores the
// answer if it is yes. permitted has the paths of earlier answers; it is nil before the first one. If the runs have no untracked files, ask does nothing. A dry run does not ask; it only adds a reason to
// each run with untracked files. If the answer is no, or PushRequest.Confirm is nil, the error's code is unconfirmed.
func (p *push) ask(open []*outgoingRun, files map[*outgoingRun][]UntrackedFile, permitted map[string]bool) error {
	var all []UntrackedFile
	for _, run := range open {
		found := files[run]
		if p.req.DryRun && len(found) > 0 {
			run.Reason = "the run has untracked files, such as " + found[0].Path + ", which need confirmation"
		}
		all = append(all, found...)
	}
	if len(all) == 0 || p.req.DryRun {
		return nil
	}
	if p.req.Confirm != nil {
		yes, err := p.req.Confirm(Question{Remote: p.to.Shown(), Files: all, First: permitted == nil})
		if err != nil {
			return err
		}
		if yes {
			p.confirmed, p.asked = true, true
			return pushAnswers{p.store}.keep(p.to, permitted, all)
		}
		return notConfirmed(p.to, all)
	}
	return unconfirmed(p.to, all).Hint(hintYes).Hint(hintPushFiles)
}

// The hints of an error with code unconfirmed.
const (
	hintYes       = "nothing was pushed; add --yes to push these files"
	hintPushFiles = "`git config smithers.pushFiles yes` allows untracked files for every remote; the value no forbids them"
)

// notConfirmed returns the error, with code unconfirmed, for a person who answered that files must not be pushed
// to remote.
func notConfirmed(remote remotes.Place, files []UntrackedFile) error {
	return fault.New(fault.Unconfirmed, "pushing untracked files to %s was not confirmed", remote.Shown()).
		Hint(hintYes).Hint(hintPushFiles).Detail("files", files)
}

// unconfirmed returns the error, with code unconfirmed, that a push of files to remote needs a permission. The
// error lists each path once, even if several runs have the path. It lists at most shownFiles paths, and the
// number of the other paths.
func unconfirmed(remote remotes.Place, files []UntrackedFile) *fault.Error {
	paths := ByPath(files)
	what := "untracked files"
	if len(paths) == 1 {
		what = "untracked file"
	}
	err := fault.New(fault.Unconfirmed, "%d %s of captured working copies would be pushed to %s", len(paths), what, remote.Shown())
	for _, path := range paths[:min(len(paths), shownFiles)] {
		err = err.Hint("%s: %s (%d bytes)", path.InRuns(), path.Path, path.Bytes)
	}
	if more := len(paths) - shownFiles; more > 0 {
		err = err.Hint("and %d more", more)
	}
	return err.Detail("files", files)
}

// pushAnswers stores which untracked files a person has permitted to be pushed to which remotes.
type pushAnswers struct{ store *timeline.Store }

// path returns the path of the file that stores the answers for a remote.
func (a pushAnswers) path(remote remotes.Place) string {
	return filepath.Join(a.store.Private(), "pushes", remote.Component)
}

// head returns the first line of the file that stores the answers for a remote. It has the hash of the remote's address, so a
// remote that gets a new address needs new answers. After it, the file has a path a line, quoted.
func (a pushAnswers) head(remote remotes.Place) string {
	sum := sha256.Sum256([]byte(remotes.URL(a.store, remote)))
	return "untracked files that may go to " + hex.EncodeToString(sum[:]) + "\n"
}

// read returns the paths of the files that may go to a remote at its present address. It returns nil if no answer is stored.
func (a pushAnswers) read(remote remotes.Place) (map[string]bool, error) {
	data, err := os.ReadFile(a.path(remote))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, timeline.Explain(fmt.Errorf("the permission to push untracked files cannot be read: %w", err))
	}
	list, ok := strings.CutPrefix(string(data), a.head(remote))
	if !ok {
		return nil, nil
	}
	permitted := make(map[string]bool)
	for line := range strings.Lines(list) {
		if path, err := strconv.Unquote(strings.TrimSuffix(line, "\n")); err == nil {
			permitted[path] = true
		}
	}
	return permitted, nil
}

// keep stores that a person has permitted files, besides the paths in permitted, for a remote at its present address.
func (a pushAnswers) keep(remote remotes.Place, permitted map[string]bool, files []UntrackedFile) error {
	paths := slices.Collect(maps.Keys(permitted))
	for _, f := range files {
		paths = append(paths, f.Path)
	}
	slices.Sort(paths)
	content := []byte(a.head(remote))
	for _, path := range slices.Compact(paths) {
		content = append(strconv.AppendQuote(content, path), '\n')
	}
	path := a.path(remote)
	err := os.MkdirAll(filepath.Dir(path), 0o777)
	if err == nil {
		err = os.WriteFile(path, content, 0o666)
	}
	return timeline.Explain(err)
}
