package share

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
	"github.com/git-smithers/git-smithers/timeline/place"
)

// shownFiles is the maximum number of untracked files that an error lists.
const shownFiles = 10

// confirmFiles checks that the untracked files of the push may go to the other side: by the setting, by an earlier
// answer for that place, or by asking. If the setting forbids it, the runs with such files are refused. Without an
// answer, the error is unconfirmed.
func (p *push) confirmFiles(ctx context.Context, open []*outgoingRun) ([]*outgoingRun, error) {
	if p.store.Settings().PushFiles == timeline.PushYes || p.confirmed {
		return open, nil
	}
	if p.store.Settings().PushFiles == timeline.PushAsk {
		answered, err := pushAnswers{p.store}.given(p.to)
		if err != nil || answered {
			p.confirmed = answered
			return open, err
		}
	}
	files, err := p.filesOf(ctx, open)
	if err != nil {
		return nil, err
	}
	open = slices.DeleteFunc(open, func(run *outgoingRun) bool { return run.done })
	if p.store.Settings().PushFiles == timeline.PushNo {
		return p.withhold(open, files), nil
	}
	return open, p.ask(open, files)
}

// filesOf returns the untracked files of each run; a shared file belongs to the first run. Runs that
// cannot be read end here.
func (p *push) filesOf(ctx context.Context, open []*outgoingRun) (map[*outgoingRun][]UntrackedFile, error) {
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
			run.end(StateRefused, "its captured files cannot be read: "+err.Error())
			continue
		}
		if err != nil {
			return nil, err
		}
		files[run] = found
	}
	return files, nil
}

// withhold refuses the runs with untracked files, and returns the others.
func (p *push) withhold(open []*outgoingRun, files map[*outgoingRun][]UntrackedFile) []*outgoingRun {
	var clean []*outgoingRun
	for _, run := range open {
		found := files[run]
		if len(found) == 0 {
			clean = append(clean, run)
			continue
		}
		run.end(StateRefused, "it holds untracked files, such as "+found[0].Path+", and smithers.pushFiles is "+timeline.PushNo)
		p.withheld = append(p.withheld, found...)
	}
	return clean
}

// ask asks whether the files may be pushed, and stores a yes. It does not ask without files. A
// dry run only reports the files.
func (p *push) ask(open []*outgoingRun, files map[*outgoingRun][]UntrackedFile) error {
	var all []UntrackedFile
	for _, run := range open {
		found := files[run]
		if p.req.DryRun && len(found) > 0 {
			run.Reason = "it holds untracked files, such as " + found[0].Path + ", which need confirmation"
		}
		all = append(all, found...)
	}
	if len(all) == 0 || p.req.DryRun {
		return nil
	}
	if p.req.Confirm != nil {
		yes, err := p.req.Confirm(p.to.Shown(), all)
		if err != nil {
			return err
		}
		if yes {
			p.confirmed, p.asked = true, true
			return pushAnswers{p.store}.keep(p.to)
		}
		return notConfirmed(p.to, all)
	}
	return unconfirmed(p.to, all).
		Hint("nothing was pushed; --yes allows them for this remote from now on; smithers.pushFiles=yes or no decides for every remote")
}

// notConfirmed returns the error that a person refused to push the files.
func notConfirmed(to place.Place, files []UntrackedFile) error {
	return fault.New(fault.Unconfirmed, "pushing untracked files to %s was not confirmed", to.Shown()).
		Hint("nothing was pushed; --yes allows them for this remote from now on; smithers.pushFiles=yes or no decides for every remote").
		Detail("files", files)
}

// unconfirmed returns the error that the user has not agreed to push the files. It lists each path once, even if
// several runs have it.
func unconfirmed(to place.Place, files []UntrackedFile) *fault.Error {
	paths := ByPath(files)
	what := "untracked files"
	if len(paths) == 1 {
		what = "untracked file"
	}
	err := fault.New(fault.Unconfirmed, "%d %s of captured working copies would be pushed to %s", len(paths), what, to.Shown())
	for _, path := range paths[:min(len(paths), shownFiles)] {
		err = err.Hint("%s: %s (%d bytes)", path.InRuns(), path.Path, path.Bytes)
	}
	if more := len(paths) - shownFiles; more > 0 {
		err = err.Hint("and %d more", more)
	}
	return err.Detail("files", files)
}

// pushAnswers stores which remotes a person lets untracked files go to.
type pushAnswers struct{ store *timeline.Store }

// path returns the file that stores the answer for a place.
func (a pushAnswers) path(to place.Place) string {
	return filepath.Join(a.store.Private(), "pushes", to.Component)
}

// content returns the content of that file: the address of the place, so that a remote with a
// new address is asked about again.
func (a pushAnswers) content(to place.Place) string {
	sum := sha256.Sum256([]byte(place.URL(a.store, to)))
	return "untracked files may go to " + hex.EncodeToString(sum[:]) + "\n"
}

// given reports whether a person has agreed before.
func (a pushAnswers) given(to place.Place) (bool, error) {
	data, err := os.ReadFile(a.path(to))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, timeline.Explain(fmt.Errorf("whether untracked files may be pushed: %w", err))
	}
	return string(data) == a.content(to), nil
}

func (a pushAnswers) keep(to place.Place) error {
	path := a.path(to)
	err := os.MkdirAll(filepath.Dir(path), 0o777)
	if err == nil {
		err = os.WriteFile(path, []byte(a.content(to)), 0o666)
	}
	return timeline.Explain(err)
}
