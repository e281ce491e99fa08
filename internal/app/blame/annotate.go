package blame

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/git-smithers/git-smithers/internal/gitexec"
)

// annotation is what `git blame` says about the lines of a file.
type annotation struct {
	lines   []line
	commits map[string]*commitInfo
}

// line is a line of the file, and its place in the version of the commit that wrote it.
type line struct {
	commit          string
	path            string // in the commit
	number, written int    // in the file and in the commit's version, from 1
	text            string // without the line end
}

// commitInfo is what git says about a commit.
type commitInfo struct {
	headers  []string // the lines as `git blame --porcelain` prints them, without the path
	values   map[string]string
	boundary bool
}

// annotate runs git on the graph. start is the commit with the file, and lines are those of Query. limits are further
// options.
func (g *graph) annotate(ctx context.Context, start string, lines, limits []string) (*annotation, error) {
	release, err := g.batch.Flush(ctx)
	if err != nil {
		return nil, err
	}
	release()
	args := []string{"blame", "-M", "--porcelain", "--encoding=UTF-8", "--no-textconv"}
	for _, one := range lines {
		args = append(args, "-L"+one)
	}
	if len(g.grafts) > 0 {
		revisions := filepath.Join(g.dir, "revisions")
		if err := os.WriteFile(revisions, g.revisions(), 0o600); err != nil {
			return nil, err
		}
		args = append(args, "-S", revisions)
	}
	args = append(append(args, start), limits...)
	out, err := g.w.RunGit(ctx, append(args, "--", g.path)...)
	if err != nil {
		return nil, err
	}
	return parse(out)
}

// revisions returns the parents of the commits with grafts, in the form of `git blame -S`.
func (g *graph) revisions() []byte {
	var b bytes.Buffer
	for _, commit := range slices.Sorted(maps.Keys(g.grafts)) {
		parents, _ := g.r.parents(commit)                                                            // it was read before
		parents = slices.DeleteFunc(parents, func(parent string) bool { return !g.r.known(parent) }) // of a shallow clone
		fmt.Fprintln(&b, strings.Join(slices.Concat([]string{commit}, parents, g.grafts[commit]), " "))
	}
	return b.Bytes()
}

// errAnnotation is the error of an output of git that is no annotation.
var errAnnotation = errors.New("git blame printed something else than --porcelain")

// parse reads the output of `git blame --porcelain`.
func parse(out []byte) (*annotation, error) {
	a := &annotation{commits: make(map[string]*commitInfo)}
	paths := make(map[string]string)
	var at line
	head := false
	for text := range strings.Lines(string(out)) {
		text = strings.TrimSuffix(text, "\n")
		switch {
		case !head:
			fields := strings.Fields(text)
			if len(fields) < 3 {
				return nil, errAnnotation
			}
			var errs [2]error
			at.commit = fields[0]
			at.written, errs[0] = strconv.Atoi(fields[1])
			at.number, errs[1] = strconv.Atoi(fields[2])
			if errors.Join(errs[:]...) != nil {
				return nil, errAnnotation
			}
			if a.commits[at.commit] == nil {
				a.commits[at.commit] = &commitInfo{values: make(map[string]string)}
			}
			head = true
		case strings.HasPrefix(text, "\t"):
			at.text, at.path = text[1:], paths[at.commit]
			a.lines = append(a.lines, at)
			head = false
		default:
			name, value, _ := strings.Cut(text, " ")
			if name == "filename" {
				paths[at.commit] = unquoted(value)
				continue
			}
			info := a.commits[at.commit]
			if _, ok := info.values[name]; ok {
				continue
			}
			info.headers, info.values[name] = append(info.headers, text), value
			info.boundary = info.boundary || name == "boundary"
		}
	}
	return a, nil
}

// unquoted returns a path that git may have quoted.
func unquoted(path string) string {
	if !strings.HasPrefix(path, `"`) {
		return path
	}
	if plain, err := strconv.Unquote(path); err == nil { // git's escapes are among Go's
		return plain
	}
	return path
}

// refusedLines returns what git says about lines that the file does not have, or "".
func refusedLines(err error) string {
	failed, ok := errors.AsType[*gitexec.Error](err)
	if !ok {
		return ""
	}
	said := strings.TrimPrefix(failed.Stderr, "fatal: ")
	for _, words := range []string{"has only", "-L parameter", "-L argument", "-L invalid", "usage: git blame", "no match"} {
		if strings.Contains(said, words) {
			first, _, _ := strings.Cut(said, "\n")
			if strings.HasPrefix(first, "usage:") {
				return "not a range of lines"
			}
			return first
		}
	}
	return ""
}
