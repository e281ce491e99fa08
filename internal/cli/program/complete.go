package program

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/list"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// completeCommand returns the hidden command that the completion scripts of shells call. Its arguments are the words of
// the command line. It prints the values that can complete the last word, one on each line. tree returns the root of
// all commands.
func completeCommand(tree func() *arg.Command) *arg.Command {
	return &arg.Command{
		Name:    "__complete",
		Summary: "print the words that complete a command line",
		Hidden:  true,
		MaxArgs: arg.AnyNumber,
		Run: func(ctx context.Context, s *session.Session, c *urfave.Context) error {
			words := c.Args().Slice()
			if len(words) == 0 {
				return nil
			}
			for _, candidate := range complete(ctx, s, tree(), words[:len(words)-1], words[len(words)-1]) {
				if plain.Text(candidate) != candidate {
					continue // a line feed would make two candidates
				}
				if strings.HasPrefix(candidate, "-") && !strings.HasPrefix(words[len(words)-1], "-") {
					continue // the command line would read the candidate as a flag
				}
				if err := s.Printf("%s\n", candidate); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// A completion finds values for the last word of a command line.
type completion struct {
	s    *session.Session
	run  string // the run that the command line names; "" for none
	word string // the last word, or its part after "="
}

// complete returns the values that can complete the last word of a command line. word is the last word. before has the
// words before it, without the name of the program. If the values cannot be read, the result is empty. Flags and the
// names of commands are not among the values, because the scripts have them.
func complete(ctx context.Context, s *session.Session, root *arg.Command, before []string, word string) []string {
	cmd, place, named, flag := arg.ReadPartly(root, before)
	c := completion{s: s, run: named, word: word}
	name, value, isFlag := strings.Cut(word, "=")
	switch {
	case flag != "":
		return c.values(ctx, cmd.FlagKind(flag))
	case isFlag && strings.HasPrefix(name, "--"):
		c.word = value
		values := c.values(ctx, cmd.FlagKind(strings.TrimLeft(name, "-")))
		for i := range values {
			values[i] = name + "=" + values[i]
		}
		return values
	case strings.HasPrefix(word, "-"):
		return nil
	}
	var out []string
	for _, kind := range cmd.PlaceKinds(place) {
		out = append(out, c.values(ctx, kind)...)
	}
	return out
}

// values returns the values of the given kind that begin with c.word. It returns no values for an unknown kind, or if
// the values cannot be read.
func (c completion) values(ctx context.Context, kind string) []string {
	var all []string
	switch kind {
	case "workflow":
		all = c.workflows()
	case "run", "address", "frame", "node":
		store, err := timeline.Open(ctx, timeline.Options{Dir: c.s.Dir, Env: c.s.Env, Now: c.s.Now})
		if err != nil {
			return nil
		}
		all = c.stored(ctx, store, kind)
		_ = store.Close() //nolint:contextcheck // nothing was written
	}
	return slices.DeleteFunc(all, func(value string) bool { return !strings.HasPrefix(value, c.word) })
}

// stored returns the values of the given kind that the history has:
//   - For kind node, the values are the ids of the nodes of c.run.
//   - For kind frame, the values are the numbers of the frames of c.run.
//   - For kind run, the values are the ids of all runs.
//   - For kind address, if c.word has a colon, the values are the addresses of the frames of a run. The id of this run
//     is the text before the last colon. If c.word has no colon, the values are the ids of all runs.
func (c completion) stored(ctx context.Context, store *timeline.Store, kind string) []string {
	switch kind {
	case "node":
		return nodesOf(ctx, store, c.run)
	case "frame":
		return framesOf(ctx, store, c.run, "")
	}
	if at := strings.LastIndex(c.word, ":"); kind == "address" && at > 0 {
		return framesOf(ctx, store, c.word[:at], c.word[:at+1])
	}
	list, err := list.Runs(ctx, store)
	if err != nil {
		return nil
	}
	runs := make([]string, len(list))
	for i, run := range list {
		runs[i] = run.RunID
	}
	return runs
}

// framesOf returns the numbers of the frames of a run, each with prefix before it. run is the id of the run or a unique
// prefix. framesOf returns nil if the run cannot be read.
func framesOf(ctx context.Context, store *timeline.Store, run, prefix string) []string {
	t, err := list.Timeline(ctx, store, run, list.TreeOptions{})
	if err != nil {
		return nil
	}
	frames := make([]string, len(t.Timeline.Frames))
	for i, f := range t.Timeline.Frames {
		frames[i] = prefix + strconv.FormatInt(f.FrameNo, 10)
	}
	return frames
}

// nodesOf returns the ids of the nodes at an address, sorted, each id once. It returns nil if address is "" or cannot
// be read. If a node cannot be read, it returns the ids of the nodes before it.
func nodesOf(ctx context.Context, store *timeline.Store, address string) []string {
	if address == "" {
		return nil
	}
	loaded, err := store.Load(ctx, address)
	if err != nil {
		return nil
	}
	state, err := loaded.Entry.State()
	if err != nil {
		return nil
	}
	var ids []string
	for row, err := range state.Nodes().Rows() {
		id, _, keyErr := snapshot.SplitKey(row.Key)
		if err != nil || keyErr != nil {
			return ids
		}
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// workflows returns the workflow files and the folders that can complete c.word. It reads the folder in c.word, which
// is the part up to the last slash; without a slash, it reads the current folder. A workflow file has a name that ends
// in .yaml or .yml. The name of a folder gets "/" at its end. Names that begin with a dot are left out.
func (c completion) workflows() []string {
	folder, _ := filepath.Split(c.word)
	entries, err := os.ReadDir(c.s.Path(folder))
	if err != nil {
		return nil
	}
	var files []string
	for _, entry := range entries {
		switch ext := filepath.Ext(entry.Name()); {
		case strings.HasPrefix(entry.Name(), "."):
		case isFolder(c.s.Path(folder), entry):
			files = append(files, folder+entry.Name()+"/")
		case ext == ".yaml" || ext == ".yml":
			files = append(files, folder+entry.Name())
		}
	}
	return files
}

// isFolder reports whether entry is a folder or a symbolic link to a folder. in is the path of the folder that has the
// entry.
func isFolder(in string, entry fs.DirEntry) bool {
	info, err := os.Stat(filepath.Join(in, entry.Name())) // follows links
	return err == nil && info.IsDir()
}
