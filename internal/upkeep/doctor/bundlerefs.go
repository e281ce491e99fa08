package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/objstore"
)

// bundleFolder has the refs of runs that git clone --bundle-uri makes from a bundle of all refs.
const bundleFolder = "refs/bundles/smithers"

// bundleRef is a ref in bundleFolder or in that of the tracking refs beside it.
type bundleRef struct {
	name string
	id   objstore.ID
}

// bundleRefs notes the refs of runs that git clone --bundle-uri has made. They are the runs of nobody and hold objects. The repair deletes
// those whose commits other refs reach.
func (e *examination) bundleRefs(ctx context.Context) error {
	spare, only, err := e.readBundleRefs(ctx)
	if failed, ok := errors.AsType[*gitexec.Error](err); ok && failed.Status == 128 {
		return nil // git cannot read a commit: other findings report what runs lack
	} else if err != nil {
		return err
	}
	if len(spare) > 0 {
		e.note(Finding{
			Kind: Untidy, Where: bundleFolder, What: plain.Count(len(spare), "ref") + " of runs, from `git clone --bundle-uri`, with commits that other refs have, too",
			Repair: "deletes these refs",
		}, e.dropBundleRefs)
	}
	if len(only) > 0 {
		e.note(Finding{Kind: Untidy, Where: bundleFolder, What: fmt.Sprintf(
			"%s of runs, from `git clone --bundle-uri`, with commits that no other ref has: after `git smithers fetch`, doctor deletes those of the runs that it brings; "+
				"`git for-each-ref --format='delete %%(refname)' refs/bundles/smithers refs/bundles/smithers-remote | git update-ref --stdin` deletes all", plain.Count(len(only), "ref"))}, nil)
	}
	for _, ref := range append(spare, only...) {
		e.elsewhere = append(e.elsewhere, ref.id) // the entries are not lost
	}
	return nil
}

// readBundleRefs returns the refs of bundleRefs: those whose commits other refs reach, and the others.
func (e *examination) readBundleRefs(ctx context.Context) (spare, only []bundleRef, err error) {
	out, err := e.git.run(ctx, "for-each-ref", "--format=%(objectname) %(objecttype) %(refname)", bundleFolder, bundleFolder+"-remote")
	if err != nil || out == "" {
		return nil, nil, err
	}
	var asked strings.Builder
	for line := range strings.Lines(out) {
		id, _, _ := strings.Cut(line, " ")
		asked.WriteString(id + "\n")
	}
	held, err := gitexec.New(e.git.repo, e.git.env).RunWith(ctx, strings.NewReader(asked.String()),
		"rev-list", "--ignore-missing", "--stdin", "--not", "--exclude=refs/bundles/*", "--all")
	if err != nil {
		return nil, nil, err
	}
	unheld := make(map[string]bool)
	for id := range strings.FieldsSeq(string(held)) {
		unheld[id] = true
	}
	for line := range strings.Lines(out) {
		fields := strings.Fields(line)
		id, err := objstore.ParseID(fields[0])
		if err != nil {
			return nil, nil, err
		}
		ref := bundleRef{fields[2], id}
		if fields[1] != "commit" || unheld[fields[0]] {
			only = append(only, ref)
		} else {
			spare = append(spare, ref)
		}
	}
	return spare, only, nil
}

// dropBundleRefs deletes the refs of bundleRefs whose commits other refs reach now.
func (e *examination) dropBundleRefs(ctx context.Context) error {
	spare, _, err := e.readBundleRefs(ctx)
	if err != nil {
		return err
	}
	var lines strings.Builder
	for _, ref := range spare {
		fmt.Fprintf(&lines, "delete %s %v\n", ref.name, ref.id)
	}
	_, err = gitexec.New(e.git.repo, e.git.env).RunWith(ctx, strings.NewReader(lines.String()), "update-ref", "--stdin")
	return err
}
