package peers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/cli/arg"
	"github.com/git-smithers/git-smithers/cli/session"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/peer/smithers"
	"github.com/git-smithers/git-smithers/timeline"
)

// watchDocument is a run of which watch imported something, with --json.
type watchDocument struct {
	Kind string `json:"kind"`
	importedRun
}

// watchingDocument is printed with --json when everything in the database is imported.
type watchingDocument struct {
	Kind     string `json:"kind"`
	Database string `json:"database"` // as it was given
}

func watchCommand() *arg.Command {
	return &arg.Command{
		Name:    "watch",
		Summary: "follow a Smithers database that an engine writes",
		Usage:   []string{"<smithers.db> [--run R]..."},
		About: `Imports what the database has, as import does, and then whatever an engine adds, until it
is stopped, by Ctrl-C for one. Each new frame is captured with the working copy as it is at
that moment, so restore and revert work with frames of Smithers, also in git repositories.
Of frames that are new at once, the newest has them, and those of the quarter of a second
before it.

The database need not be there yet. The engine need not know: it is never made to wait, and
nothing is locked while nothing is new. A watch that was stopped or killed is started again
and catches up, but for the files of the frames that it missed.

Prints a line for each run of which something was new, as it happens. A run that cannot be
imported is named once, and tried again when the database has changed.`,
		MinArgs: 1, MaxArgs: 1,
		Flags: []urfave.Flag{importRunsFlag()},
		Exits: arg.Writes(),
		Examples: []arg.Example{
			{"follow all runs", "git smithers watch smithers.db"},
			{"follow one, which may begin later", "git smithers watch smithers.db --run run-a"},
		},
		Run: func(ctx context.Context, s *session.Session, c *urfave.Context) error {
			name, runs := c.Args().First(), c.StringSlice("run")
			if err := refuseEmptyRuns(runs); err != nil {
				return err
			}
			return s.WithStore(ctx, func(store *timeline.Store) error { return runWatch(ctx, s, store, name, runs) })
		},
	}
}

// runWatch imports until a signal stops it, or the reader closes its output.
func runWatch(ctx context.Context, s *session.Session, store *timeline.Store, name string, runs []string) error {
	watching, stop := context.WithCancel(ctx)
	defer stop()
	var failed error
	told := func(err error) {
		if err != nil {
			failed = cmp.Or(failed, err)
			stop()
		}
	}
	err := smithers.Watch(watching, store, s.Path(name), smithers.WatchRequest{
		Runs:    runs,
		Report:  func(imported *smithers.Imported) { told(tellWatched(s, imported)) },
		Waiting: func() { told(tellWatching(s, name)) },
	})
	return cmp.Or(failed, err, ctx.Err())
}

// tellWatching says that the watch has caught up.
func tellWatching(s *session.Session, name string) error {
	if s.JSON {
		return s.WriteJSON(watchingDocument{"watching", name})
	}
	if _, err := os.Stat(s.Path(name)); errors.Is(err, fs.ErrNotExist) {
		s.Note("there is no database %s yet: watching for it", plain.Text(name))
		return nil
	}
	s.Note("watching %s", plain.Text(name))
	return nil
}

// tellWatched prints the runs that were imported.
func tellWatched(s *session.Session, imported *smithers.Imported) error {
	for _, run := range imported.Runs {
		doc := describeImported(s, run)
		if s.JSON {
			if err := s.WriteJSON(watchDocument{"watch", doc}); err != nil {
				return err
			}
			continue
		}
		if run.Err != nil {
			s.Warn(fmt.Errorf("run %s is not imported: %s", run.RunID, *doc.Message))
			continue
		}
		what := "frame " + strconv.FormatInt(run.Frame, 10)
		if run.Frames > 1 {
			what = fmt.Sprintf("%d frames up to %d", run.Frames, run.Frame)
		} else if run.Frames == 0 {
			what = "what happened since frame " + strconv.FormatInt(run.Frame, 10)
		}
		if err := s.Printf("%s: %s, %s%s\n", plain.Text(run.RunID), run.Outcome, what, plain.Text(after(doc.note()))); err != nil {
			return err
		}
		warnOfMarks(s, doc)
		warnOfAnswers(s, doc)
	}
	return nil
}

// after is what follows something on a line; "" for nothing.
func after(note string) string {
	if note == "" {
		return ""
	}
	return "; " + note
}
