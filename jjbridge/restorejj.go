package jjbridge

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/git-smithers/git-smithers/internal/jjbridge/gitindex"
	"github.com/git-smithers/git-smithers/snapshot"
)

// snapshot makes jj record the restored files in its working-copy commit, with one command and so as one operation. If
// the restore brought back files that jj ignores, two more commands make jj track these files. dir is a folder for
// temporary files. Every error wraps ErrUnfinished.
func (p *Plan) snapshot(ctx context.Context, w *Workspace, dir string) error {
	err := p.track(ctx, w, dir)
	if err != nil {
		return fmt.Errorf("%w: jj has not recorded the restored files: %w", ErrUnfinished, err)
	}
	return nil
}

// track makes jj take a snapshot that also tracks the files that p adds. If the snapshot lacks some of these files,
// because jj ignores them, track makes jj track them and take another snapshot. If the first snapshot has a conflict,
// track does not look for ignored files. dir is a folder for temporary files.
func (p *Plan) track(ctx context.Context, w *Workspace, dir string) error {
	config := filepath.Join(dir, "jj.toml"+gitindex.Unfinished)
	if err := os.WriteFile(config, snapshotConfig(p), 0o666); err != nil {
		return err
	}
	defer os.Remove(config) //nolint:errcheck // the next process that locks the folder removes it
	rev, _, err := w.jjRevision(ctx, "--config-file="+config)
	if err != nil || rev.conflict || len(p.added()) == 0 {
		return err
	}
	// The commit of the snapshot lacks the added files that jj ignores.
	out, err := w.RunGit(ctx, diffTreeArgs(rev.commit, p.To.String())...)
	if err != nil {
		return err
	}
	edits, err := parseEdits(out)
	if err != nil {
		return err
	}
	missing := (&Plan{edits: edits}).added()
	if len(missing) == 0 {
		return nil
	}
	args := []string{"file", "track", "--quiet", "--include-ignored", "--config-file=" + config, "--"}
	if _, _, err := w.RunJJ(ctx, append(args, missing...)...); err != nil {
		return err
	}
	_, _, err = w.jjRevision(ctx, "--config-file="+config) // this snapshot reads the files
	return err
}

// snapshotConfig returns a jj configuration with which jj begins to track exactly the files that plan adds. It
// sets jj's size limit for new files to the size of the largest added file, but at least to 1 byte.
func snapshotConfig(plan *Plan) []byte {
	return fmt.Appendf(nil, "[snapshot]\nmax-new-file-size = %d\nauto-track = %s\n",
		max(plan.largest, 1), quoteTOML(oneOf(plan.added())))
}

// added returns the files that p adds, each as a fileset in jj's language.
func (p *Plan) added() []string {
	var files []string
	for _, e := range p.edits {
		if e.to.exists() && !e.from.exists() {
			files = append(files, "root-file:"+quoteFileset(e.path))
		}
	}
	return files
}

// oneOf returns the union of filesets as one expression, or "none()" if filesets is empty. Halving keeps the expression
// shallow, because jj reads nested expressions by recursion.
func oneOf(filesets []string) string {
	switch n := len(filesets); n {
	case 0:
		return "none()"
	case 1:
		return filesets[0]
	default:
		return "(" + oneOf(filesets[:n/2]) + "|" + oneOf(filesets[n/2:]) + ")"
	}
}

// quoteFileset returns s as a quoted string in jj's fileset language. Control characters are escaped.
func quoteFileset(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c == 0x7f:
			fmt.Fprintf(&b, `\x%02x`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// quoteTOML returns s as a quoted TOML string. s must not have control characters.
func quoteTOML(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// RestoreConflict restores the conflicts of commit in the jj workspace w. Before the call, a restore must have
// written the files in conflict with their conflict markers. RestoreConflict makes jj record these files as
// conflicts again, which adds one operation to jj's log, and returns true.
//
// RestoreConflict touches no file and returns false if w is not a jj workspace, if commit is not the id of a commit in
// the repository, or if the commit has no conflict. After an error, done is false, too.
func RestoreConflict(ctx context.Context, w *Workspace, commit string) (done bool, err error) {
	if w.Type != snapshot.VCSJJ || commit == "" || strings.Trim(commit, "0123456789abcdef") != "" {
		return false, nil
	}
	out, _, err := w.RunJJ(ctx, "log", "--ignore-working-copy", "--no-graph", `--template=if(conflict, "conflict")`, "--revisions=present("+commit+")")
	if err != nil || string(out) != "conflict" {
		return false, err
	}
	out, _, err = w.RunJJ(ctx, "file", "list", "--ignore-working-copy", "--revision="+commit, `--template=if(self.conflict(), self.path() ++ "\0")`)
	paths := splitPaths(out)
	if err != nil || len(paths) == 0 {
		return false, err
	}
	args := []string{"restore", "--quiet", "--from=" + commit, "--"}
	for _, path := range paths {
		args = append(args, "root-file:"+quoteFileset(path))
	}
	_, _, err = w.RunJJ(ctx, args...)
	return err == nil, err
}
