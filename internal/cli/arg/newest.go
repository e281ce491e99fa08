package arg

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/git-smithers/git-smithers/internal/app"
	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/peer/agent"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// errNoRun is the cause of the error that NeedsRun returns.
var errNoRun = errors.New("needs a run")

// NeedsRun returns the usage error for a command line without the run that the command needs. Run takes the newest run instead if a person is
// at the terminal.
func (c *Command) NeedsRun() *fault.Error {
	return c.Misused("%s %w, such as %s for the newest one", c.Path, errNoRun, c.nameOf(app.NewestName, 0))
}

// nameOf returns what the name of a newest run means as the argument at a place: @ is @session where a command takes sessions alone.
func (c *Command) nameOf(name string, place int) string {
	if name == app.NewestName && slices.Contains(c.PlaceKinds(place), "session") {
		return app.NewestSessionName
	}
	return name
}

// isRun reports whether an argument of a kind names a run.
func isRun(kind string) bool { return kind == "run" || kind == "address" || kind == "session" }

// isNoRun reports whether an argument of a kind names no run.
func isNoRun(kind string) bool { return !isRun(kind) }

// A newestWord is a word of a command line that names a newest run.
type newestWord struct {
	word        *string // the word, or the flag with its value
	flag        string  // "--name=" for the value of a flag
	name, frame string  // see app.SplitNewest
}

// newestWords returns the words of in that name newest runs: arguments in the place of a run, an address or a session, and values of flags that
// are runs. A path that begins with @ is not one.
func (in *Invocation) newestWords() (words []newestWord) {
	for i := range in.Args {
		name, frame, ok := app.SplitNewest(in.Args[i])
		if ok && frame != "" && in.Args[i] == name+frame && strings.Contains(strings.Join(in.Command.Usage, " "), "<path>") {
			continue // @ID, or a path such as @types/node
		}
		if ok && slices.ContainsFunc(in.Command.kindsAt(i), isRun) {
			words = append(words, newestWord{&in.Args[i], "", in.Command.nameOf(name, i), frame})
		}
	}
	for i, text := range in.Flags {
		flag, value, _ := strings.Cut(text, "=")
		if !in.Command.takesNewest(strings.TrimPrefix(flag, "--")) {
			continue
		}
		if name, frame, ok := app.SplitNewest(value); ok {
			words = append(words, newestWord{&in.Flags[i], flag + "=", name, frame})
		}
	}
	return words
}

// takesNewest reports whether the value of a flag of c is a run or a frame. name is any name of the flag. It returns false for runs of another
// database, and for --trust-files, which takes whole ids, because it consents.
func (c *Command) takesNewest(name string) bool {
	long := LongName(c.Flag(name))
	for _, h := range c.flagHelps() {
		if h.long == long {
			return h.value == "RUN" && long != "trust-files" || h.value == "FRAME"
		}
	}
	return false
}

// resolveNewest replaces the words that name newest runs by the ids of these runs, or by addresses of their frames. It names each run on standard error, if
// the command writes history, or if said is true. If the command changes runs, and @ can mean two, it asks: see confirmNewest.
func (in *Invocation) resolveNewest(ctx context.Context, s *session.Session, said bool) error {
	words := in.newestWords()
	if len(words) == 0 {
		return nil
	}
	if kinds := in.Command.PlaceKinds(0); len(kinds) > 0 && kinds[0] == "remote" && words[0].word == &in.Args[0] {
		in.Args = slices.Insert(in.Args, 0, "") // the default remote
		words = in.newestWords()
	}
	return s.WithStore(ctx, func(store *timeline.Store) error {
		for _, w := range words {
			run, err := app.Newest(ctx, store, w.name)
			if err != nil {
				return err
			}
			if said || slices.Contains(in.Command.Exits, fault.ExitConflict) {
				s.Note("%s is %s", w.name, describeNewest(s, run))
			}
			if err := in.confirmNewest(s, run, said); err != nil {
				return err
			}
			address, err := agent.FrameOf(ctx, store, run.ID, w.frame)
			if err != nil {
				return err
			}
			*w.word = w.flag + address
		}
		return nil
	})
}

// sameTime is how long after its newest entry a run of the other kind makes @ ambiguous.
const sameTime = time.Hour

// confirmNewest asks the person at the terminal whether the command may change the run, if the person has named no run, or if @ could just as well
// mean the newest run of the other kind: that one has an entry of the last hour. Code: unconfirmed if the answer is no. With --yes or --dry-run, and where
// nobody can be asked, it asks nothing.
func (in *Invocation) confirmNewest(s *session.Session, run *app.NewestRun, unnamed bool) error {
	other := run.Other
	if other != nil && s.Now().Sub(time.UnixMilli(other.AtMs)) >= sameTime {
		other = nil
	}
	if !in.Command.Changes || other == nil && !unnamed || !s.CanAsk() || in.has("yes") || in.has("dry-run") {
		return nil
	}
	if other != nil {
		s.Note("%s could also be %s", app.NewestName, describeNewest(s, other))
	}
	yes, err := s.Ask(fmt.Sprintf("Go on with %s?", plain.Text(run.ID)))
	if err == nil && !yes {
		err = fault.New(fault.Unconfirmed, "%s changed nothing: nobody has agreed to take run %q", in.Command.Path, run.ID).
			Hint("type the id of the run, or %s or %s", app.NewestSessionName, app.NewestRunName)
	}
	return err
}

// describeNewest describes a run by its kind, its id and its age.
func describeNewest(s *session.Session, run *app.NewestRun) string {
	what := "run " + plain.Text(run.ID)
	switch {
	case run.Session:
		what = "session " + plain.Text(run.ID)
	case run.Workflow != "":
		what += " of " + plain.Text(run.Workflow)
	}
	return what + ", last changed " + display.Ago(s.Now(), run.AtMs)
}
