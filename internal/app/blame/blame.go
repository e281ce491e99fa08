// Package blame finds who wrote the lines of a file: the frame of a run, with its turn, prompt, tool calls and attempts, or a commit.
//
// git decides by content. Blame writes a commit for each frame that changed the file, into an object folder that it throws away, makes these
// commits parents of the commits that landed the frames, and lets `git blame` walk the result.
package blame

import (
	"cmp"
	"context"
	"strings"

	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// Query asks who wrote the lines of a file.
type Query struct {
	Path     string   // of the file, relative to the top of the working copy, with slashes
	Revision string   // a commit, or a frame such as run:3; "" means the file in the working copy
	Worktree string   // the task whose own worktree has the file, if Revision is a frame; "" means the run's working copy
	Lines    []string // as `git blame -L` takes them; empty means all lines
	Own      bool     // leave out the lines that are not new in the commit Revision
}

// File is a file with the writers of its lines.
type File struct {
	Path   string  `json:"path"`
	Commit string  `json:"commit,omitempty"` // of Query.Revision; "" for a frame and for the working copy
	Frame  string  `json:"frame,omitempty"`  // the address of Query.Revision; "" for a commit and for the working copy
	Ranges []Range `json:"ranges"`           // sorted by Start; never nil
}

// Range is adjacent lines that stand together in the version of their writer, too.
type Range struct {
	Start int `json:"start"` // the number of the first line in the file, from 1
	End   int `json:"end"`   // the number of the last line
	// OriginalStart and OriginalPath are the first line in the version that the writer wrote.
	OriginalStart int    `json:"originalStart"`
	OriginalPath  string `json:"originalPath"`
	// Landed is the commit with which the lines of a frame came into the history of Query.Revision; "" if no commit of it has them.
	Landed string   `json:"landedBy,omitempty"`
	Writer *Writer  `json:"writer"`
	Text   []string `json:"-"` // the lines, without line ends
}

// most is how often git looks at the file. Each time, it may find that older lines were landed, too.
const most = 6

// File returns the file of a query with the writers of its lines. Codes: usage if the revision is neither a commit nor a frame, or has no such
// file, or Lines are not lines of the file; no_code for a frame without files; no_working_copy.
func (r *Reader) File(ctx context.Context, q Query) (*File, error) {
	g, err := newGraph(r, q.Path)
	if err != nil {
		return nil, timeline.Explain(err)
	}
	defer g.close()
	file := &File{Path: q.Path, Ranges: []Range{}}
	start, err := g.start(ctx, q, file)
	if err != nil {
		return nil, timeline.Explain(err)
	}
	limits, err := g.limits(q, file.Commit)
	if err != nil {
		return nil, timeline.Explain(err)
	}
	var lines, first *annotation
	for range most {
		if lines, err = g.annotate(ctx, start, q.Lines, limits); err != nil {
			return nil, explain(err, q)
		}
		if first == nil {
			first = lines
		}
		more, err := g.addLanded(ctx, lines)
		if err != nil {
			return nil, timeline.Explain(err)
		}
		if !more {
			break
		}
	}
	w := newWriters(ctx, g, lines)
	file.Ranges, err = w.ranges(first, q.Own)
	return file, timeline.Explain(err)
}

// limits returns the options of git that mark the lines that are not new in a commit.
func (g *graph) limits(q Query, commit string) ([]string, error) {
	if !q.Own || commit == "" {
		return nil, nil
	}
	limits := []string{"--root"} // the lines of a first commit are new
	parents, err := g.r.parents(commit)
	for _, parent := range parents {
		limits = append(limits, "^"+parent)
	}
	return limits, err
}

// start returns the commit at which blame begins, and sets the revision in file.
func (g *graph) start(ctx context.Context, q Query, file *File) (string, error) {
	if q.Revision == "" {
		return g.workingCopy(ctx)
	}
	commit := ""
	if q.Worktree == "" {
		var err error
		if commit, err = jjbridge.ResolveCommit(ctx, g.s.Workspace(), q.Revision); err != nil {
			return "", err
		}
	}
	if commit != "" {
		file.Commit = commit
		return commit, g.hasFile(commit, q)
	}
	at, err := g.s.Load(ctx, q.Revision)
	if code := fault.CodeOf(err); code == fault.RunNotFound || code == fault.InvalidRunID || code == fault.InvalidAddress {
		return "", fault.New(fault.Usage, "%q is neither a commit nor a frame of a run", q.Revision).
			Hint("name a branch, a revision such as HEAD~2, or a frame such as triage-1:7")
	}
	if err != nil {
		return "", err
	}
	file.Frame = at.Address.String()
	id, err := g.chain(ctx, at.Entry, q.Worktree)
	if err == nil && id == "" {
		err = fault.New(fault.NoCode, "%s has no captured files", at.Address).Hint("`git smithers timeline %s` lists the frames", fault.Word(at.Address.Run))
	}
	if err != nil {
		return "", err
	}
	return id, g.hasFile(id, q)
}

// hasFile returns the error usage if a commit has no file at the path.
func (g *graph) hasFile(commit string, q Query) error {
	at, err := g.fileIn(commit)
	if err != nil {
		return err
	}
	if at.Mode != objstore.ModeFile && at.Mode != objstore.ModeExecutable {
		what := "has no file"
		if at.Mode != 0 {
			what = "has no regular file"
		}
		return fault.New(fault.Usage, "%s %s %s", cmp.Or(q.Revision, "the working copy"), what, q.Path).
			Hint("a path is relative to the current folder").
			Hint("for the state of a run: `git smithers blame RUN outputs.TABLE.MEMBER`")
	}
	return nil
}

// explain returns the error of a failed blame. What git refuses of the lines is a mistake of the caller.
func explain(err error, q Query) error {
	if said := refusedLines(err); said != "" && len(q.Lines) > 0 {
		return fault.New(fault.Usage, "-L %s: %s", strings.Join(q.Lines, " -L "), said).Hint("as for `git blame`: -L 10,20, -L 10,+5 or -L :name")
	}
	return timeline.Explain(err)
}
