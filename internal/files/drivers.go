package files

import (
	"context"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/engine/sandbox"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// distrusted returns the run of the first entry whose files git must neither run nor obey, or "". It turns off the monitor of the working copy w then, which may
// be such a file.
func distrusted(s *timeline.Store, w *jjbridge.Workspace, entries ...*snapshot.Entry) (run string, err error) {
	for _, entry := range entries {
		if trusted, err := s.TrustsFiles(entry); err != nil || trusted {
			if err != nil {
				return "", err
			}
			continue
		}
		w.NoMonitor = true
		return entry.Stored().Run, nil
	}
	return "", nil
}

// CheckTrust returns untrusted_files if files of the trees, which the entries have, must not be put into the working copy of the store. A dry run of
// RestoreJobs does not look.
func CheckTrust(ctx context.Context, s *timeline.Store, entries []*snapshot.Entry, trees ...objstore.ID) error {
	run, err := distrusted(s, s.Workspace(), entries...)
	if err != nil {
		return err
	}
	return checkPrograms(ctx, run, s.Workspace(), func() ([]string, error) { return changedFromOwn(ctx, s, trees...) }, trees...)
}

// checkPrograms returns untrusted_files if git could run a program among the files of trees, or read it as configuration, once these files are in the working
// copy w. run is the result of distrusted. changed returns the paths at which the trees differ from the user's own working copy: a program that is
// equal there is the user's own.
func checkPrograms(ctx context.Context, run string, w *jjbridge.Workspace, changed func() ([]string, error), trees ...objstore.ID) error {
	if run == "" {
		return nil
	}
	lines, files, err := w.Obeyed(ctx, trees...)
	if err != nil || len(lines)+len(files) == 0 {
		return err
	}
	for _, line := range lines {
		named, err := sandbox.Programs(w.Root, w.Environ(), line)
		if err != nil || w.Root == "" {
			return untrustedProgram(run, line)
		}
		files = append(files, named...)
	}
	paths, err := changed()
	if err != nil {
		return err
	}
	for _, file := range files {
		if slices.ContainsFunc(paths, func(path string) bool { return holds(path, file) || holds(file, path) }) {
			return untrustedProgram(run, file)
		}
	}
	return nil
}

// checkPrograms checks the programs of the planned restore, as the function does. Files in a worktree are compared with the working copy of the store, too.
func (r *RestoreJob) checkPrograms(ctx context.Context, run string) error {
	return checkPrograms(ctx, run, r.Copy.workspace, func() (paths []string, err error) {
		if r.Copy.Root() != r.Store.Workspace().Root {
			paths, err = changedFromOwn(ctx, r.Store, r.Want.Tree)
		}
		for _, change := range r.plan.Changes {
			paths = append(paths, change.Path)
		}
		return paths, err
	}, r.Want.Tree)
}

// changedFromOwn returns the paths at which one of the trees differs from the files of the store's working copy. Without a working copy, it returns all paths.
func changedFromOwn(ctx context.Context, s *timeline.Store, trees ...objstore.ID) (out []string, err error) {
	objects, own := s.Objects().Begin(), objstore.ID{} // objects reads the quarantine, and is never committed
	if s.Workspace().Root != "" {
		have, err := WorkingCopyOf(s).readWith(ctx, snapshot.ScopeAll, nil)
		if err != nil {
			return nil, err
		}
		defer have.Close() //nolint:errcheck // a later capture removes a quarantine that stays
		if own = have.VCS.Tree; have.Objects(objects) != nil {
			own = objstore.ID{} // everything counts as changed
		}
	}
	for _, tree := range trees {
		changes, err := ChangedFiles(ctx, objects, own, tree, "")
		if err != nil {
			return nil, err
		}
		for _, change := range changes {
			out = append(out, change.Path)
		}
	}
	return out, nil
}

// holds reports whether name is folder, or lies in it.
func holds(folder, name string) bool { return name == folder || strings.HasPrefix(name, folder+"/") }

// untrustedProgram returns the error of checkPrograms. what is the file, or the command line that may use any file.
func untrustedProgram(run, what string) error {
	return fault.New(fault.UntrustedFiles, "run %q was not recorded in this clone, and git would run or obey a file of the run: %s", run, what).
		Hint("nothing was changed; add --trust-files %s if git may obey this run's files", fault.Word(run)).
		Detail("runId", run).Detail("files", []string{what})
}
