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

	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/requests"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/peer/smithers"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/timeline"
)

func watchCommand() *arg.Command {
	return &arg.Command{
		Name:    "watch",
		Summary: "import new frames from a Smithers database while an engine writes it",
		Usage:   []string{"<smithers.db> [--run R]..."},
		About: `Imports the runs of a database, as import does, and then everything that an engine adds,
until you stop it, for example with Ctrl-C. Each new frame is captured with the current
files of the working copy, so restore and revert work with frames of Smithers, also in git
repositories. If several frames are new at once, the files go to the newest frame and to
frames at most a quarter of a second older.

The database may be created later. watch never makes the engine wait, and locks nothing as
long as nothing is new. A watch that was stopped or killed catches up when you start it
again; only the files of the frames in between are missing.

Prints a line for each run that has changed. A run that cannot be imported is named once,
and tried again after the next change of the database.`,
		MinArgs: 1, MaxArgs: 1,
		Flags: []urfave.Flag{importRunsFlag()},
		Exits: arg.Writes(),
		Examples: []arg.Example{
			{"follow all runs", "git smithers watch smithers.db"},
			{"follow one run, even before it starts", "git smithers watch smithers.db --run run-a"},
		},
		Run: func(ctx context.Context, s *session.Session, c *urfave.Context) error {
			name, runs := c.Args().First(), arg.Texts(c, "run")
			if err := refuseEmptyRuns(runs); err != nil {
				return err
			}
			return s.WithStore(ctx, func(store *timeline.Store) error { return runWatch(ctx, s, store, name, runs) })
		},
	}
}

// runWatch imports the runs of the database with the given name, and then everything that Smithers adds later. It
// continues until ctx ends, or until printing fails because the reader has closed the output. runs has the ids of the
// runs to import; if it is empty, runWatch imports all runs. The error is never nil.
func runWatch(ctx context.Context, s *session.Session, store *timeline.Store, name string, runs []string) error {
	watching, stop := context.WithCancel(ctx)
	defer stop()
	var failed error
	// told stops the watch after an error of printing, and keeps the first such error.
	told := func(err error) {
		if err != nil {
			failed = cmp.Or(failed, err)
			stop()
		}
	}
	following := false
	err := smithers.Watch(watching, store, s.Path(name), smithers.WatchRequest{
		Runs: runs,
		Report: func(imported *smithers.ImportResult) {
			told(tellWatched(s, imported))
			if following { // what the database had before is no news
				notifyOfWatched(watching, s, store, imported)
			}
		},
		Waiting: func() {
			following = true
			told(tellWatching(s, name))
		},
	})
	return cmp.Or(failed, err, ctx.Err())
}

// notifyOfWatched notifies the user, with the command in smithers.notify, of the imported runs that now wait or have ended. It does
// so even if ctx has ended: the last import comes when the watch is interrupted.
func notifyOfWatched(ctx context.Context, s *session.Session, store *timeline.Store, imported *smithers.ImportResult) {
	ctx = context.WithoutCancel(ctx)
	d := requests.Open(s, store)
	for _, run := range imported.Runs {
		if run.Err != nil || run.Tip == "" {
			continue
		}
		head, err := store.Head(ctx, run.RunID)
		if err != nil {
			s.Warn(err)
			continue
		}
		d.Notify(ctx, head)
	}
}

// tellWatching notes that everything in the database was imported, and that the watch continues. If the database does
// not exist yet, it notes this instead. With --json, it prints the same document in both cases. name is the name of the
// database file.
func tellWatching(s *session.Session, name string) error {
	if s.JSON {
		return s.WriteJSON(term.Document("watching", term.Member("database", name)))
	}
	if _, err := os.Stat(s.Path(name)); errors.Is(err, fs.ErrNotExist) {
		s.Note("waiting for the database %s, which does not exist yet", plain.Text(name))
		return nil
	}
	s.Note("watching %s", plain.Text(name))
	return nil
}

// tellWatched prints the result of an import during a watch. With --json, it prints a document for each run. Otherwise
// it prints a line for each imported run, and warns of mismatches, of answers without effect, and of the runs that
// could not be imported.
func tellWatched(s *session.Session, imported *smithers.ImportResult) error {
	for _, run := range imported.Runs {
		doc := describeImported(s, run)
		if s.JSON {
			if err := s.WriteJSON(term.Document("watch", doc)); err != nil {
				return err
			}
			continue
		}
		if run.Err != nil {
			s.Warn(fmt.Errorf("run %s was not imported: %s", run.RunID, *doc.Message))
			continue
		}
		what := "frame " + strconv.FormatInt(run.Frame, 10)
		if run.Frames > 1 {
			what = fmt.Sprintf("%s up to %d", plain.Count(int(run.Frames), "frame"), run.Frame)
		} else if run.Frames == 0 {
			what = "new events since frame " + strconv.FormatInt(run.Frame, 10)
		}
		if err := s.Printf("%s: %s, %s%s\n", plain.Text(run.RunID), run.Outcome, what, plain.Text(after(doc.note()))); err != nil {
			return err
		}
		warnOfMarks(s, doc)
		warnOfAnswers(s, doc)
	}
	return nil
}

// after returns note with "; " before it, so that note can follow other words on a line. It returns "" if note is "".
func after(note string) string {
	if note == "" {
		return ""
	}
	return "; " + note
}
