package sharing

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/internal/share"
	"github.com/git-smithers/git-smithers/timeline"
)

func remoteCommand() *arg.Command {
	cmd := &arg.Command{
		Name:    "remote",
		Summary: "compare the runs of this repository and its remotes",
		Usage:   []string{"[<remote>...]", "--forget <remote>"},
		About: `Lists the runs that differ between this repository and a remote: unpushed or unfetched, with
the number of entries; diverged if both sides have continued; unrelated if the two sides
have different runs with the same id; pruned-here or pruned-there. remote contacts no
remote: it shows the state as of the last push or fetch. With --json, prints one object per
remote and line.

If a remote is not configured, such as a URL that a run was once pushed to, remote shows
only its number of runs, unless you name the remote. --forget removes the records about a
remote from this repository: refs/smithers-remote, and the permission to push untracked
files.`,
		MaxArgs: arg.AnyNumber,
		Flags:   []urfave.Flag{&urfave.StringFlag{Name: "forget", Usage: "forget the remote `NAME`"}},
		Exits:   arg.Writes(),
		Examples: []arg.Example{
			{"compare with all remotes", "git smithers remote"},
			{"fetch first, then compare", "git smithers fetch origin && git smithers remote origin"},
			{"forget a remote that is gone", "git smithers remote --forget colleague"},
		},
	}
	cmd.Run = func(ctx context.Context, s *session.Session, c *urfave.Context) error {
		if c.IsSet("forget") {
			forget := c.String("forget")
			if forget == "" || c.Args().Present() {
				return cmd.Misused("--forget takes one remote and no other argument")
			}
			return withSharer(ctx, s, func(_ *timeline.Store, sharer *share.Sharer) error {
				return runForget(ctx, s, sharer, arg.RemoteName(s, forget))
			})
		}
		var remotes []string
		for _, remote := range c.Args().Slice() {
			remotes = append(remotes, arg.RemoteName(s, remote))
		}
		return withSharer(ctx, s, func(_ *timeline.Store, sharer *share.Sharer) error { return runRemote(ctx, s, sharer, remotes) })
	}
	return cmd
}

// runForget forgets the last known state of a remote, and notes how many refs it has removed. remote is the name of the
// remote.
func runForget(ctx context.Context, s *session.Session, sharer *share.Sharer, remote string) error {
	forgotten, err := sharer.Forget(ctx, remote)
	if err != nil {
		return err
	}
	if s.JSON {
		return s.WriteJSON(term.Document("forget", forgotten))
	}
	s.Note("forgot the last known state of %s: removed %s", plain.Text(forgotten.Remote), plain.Count(forgotten.Refs, "ref"))
	return nil
}

// runRemote prints the runs that differ between this repository and each remote, and a summary line for each remote.
// remotes has the names of the remotes. If remotes is empty, runRemote prints all known remotes, but lists no runs of a
// remote that is not configured.
//   - At a terminal, the runs of a remote follow its summary.
//   - For scripts, one table has the runs of all remotes, and the summaries go to standard error.
//   - With --json, runRemote prints a document for each remote, with all runs that differ.
func runRemote(ctx context.Context, s *session.Session, sharer *share.Sharer, remotes []string) error {
	states, err := sharer.Remotes(ctx, remotes...)
	if err != nil {
		return err
	}
	if s.JSON {
		for _, state := range states {
			if err := s.WriteJSON(term.Document("remote", state)); err != nil {
				return err
			}
		}
		return nil
	}
	if len(states) == 0 {
		s.Note("no remote is known")
	}
	all := term.Table{Header: []string{"REMOTE", "RUN", "STATE", "AHEAD", "BEHIND"}}
	var grouped strings.Builder
	for _, state := range states {
		of := term.Table{Header: all.Header[1:]}
		if state.Configured || len(remotes) > 0 {
			for _, run := range state.Runs {
				ahead, behind := strconv.Itoa(run.Ahead), strconv.Itoa(run.Behind)
				of.Add(term.Cell{Text: run.RunID}, term.Cell{Text: run.State}, term.Cell{Text: ahead}, term.Cell{Text: behind})
				all.Add(term.Cell{Text: state.Remote}, term.Cell{Text: run.RunID}, term.Cell{Text: run.State}, term.Cell{Text: ahead}, term.Cell{Text: behind})
			}
		}
		if !s.IsTerminalOut() {
			s.Note("%s", summarize(state))
			continue
		}
		grouped.WriteString(summarize(state) + "\n")
		of.Align(&grouped, "  ")
	}
	if s.IsTerminalOut() {
		return s.Printf("%s", grouped.String())
	}
	return all.Write(s.Terminal)
}

// summarize returns a line about a remote. The line has the number of runs that are the same on both sides, and the
// number of runs in each other state.
func summarize(state share.RemoteState) string {
	parts := []string{plain.Count(state.Current, "run") + " the same on both sides"}
	counts := make(map[string]int)
	for _, run := range state.Runs {
		counts[run.State]++
	}
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%d %s", counts[name], name))
	}
	return plain.Text(state.Remote) + ": " + strings.Join(append(parts, "as of the last push or fetch"), ", ")
}
