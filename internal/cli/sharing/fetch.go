package sharing

import (
	"context"
	"errors"
	"strconv"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/peer/agent"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/internal/share"
	"github.com/git-smithers/git-smithers/timeline"
)

func fetchCommand() *arg.Command {
	cmd := &arg.Command{
		Name:    "fetch",
		Summary: "fetch runs from a remote",
		Usage:   []string{"[<remote>] [<run>...]", "<remote> <run> --as NEWID"},
		About: `Fetches the named runs, by their full ids, and the runs that they have called, or all runs of
the remote, with all of their history and captured code. New data is checked before any ref in
this repository moves.
Fetched runs work with every command: timeline, diff, show, fork, replay, resume and
restore. Commands of a fetched run are shown, and run only after you confirm them.

The default remote is the same as for push. A fetch only adds to a run. If a run was
continued both here and at the remote, it becomes the remote's version, and your own frames
become a fork of it: nothing is merged, and nothing is lost. If you only decided something,
such as an approval, an answer, a signal or a score, there is no fork: what the remote
accepted first counts, and your decision is noted as late. A run is left alone if another
run here has the same id, or if the run was pruned on either side. --as fetches a run under
another id. A run whose id can be read as an address, such as a:2, is fetched under another id.

Prints each changed or named run, and the outcome.`,
		MaxArgs: arg.AnyNumber,
		Flags:   []urfave.Flag{asFlag()},
		Exits:   arg.Writes(),
		Examples: []arg.Example{
			{"fetch all runs", "git smithers fetch"},
			{"fetch one run of a colleague", "git smithers fetch colleague triage-1"},
			{"fetch a run beside another run with the same id", "git smithers fetch colleague triage-1 --as triage-1-theirs"},
		},
	}
	cmd.Run = func(ctx context.Context, s *session.Session, c *urfave.Context) error {
		req := share.FetchRequest{As: c.String("as")}
		req.Remote, req.Runs = arg.RemoteAndRuns(s, c.Args().Slice())
		if c.IsSet("as") && (req.As == "" || len(req.Runs) != 1) {
			return cmd.Misused("--as needs exactly one run: name the remote and the run")
		}
		return withSharer(ctx, s, func(store *timeline.Store, sharer *share.Sharer) error { return runFetch(ctx, s, store, sharer, req) })
	}
	return cmd
}

// asFlag returns the flag --as for a command that adds runs.
func asFlag() urfave.Flag {
	return &urfave.StringFlag{Name: "as", Usage: "store the run under the id `NEWID`"}
}

// runFetch fetches runs, and prints the outcome for each run, including the runs that the fetch refused.
func runFetch(ctx context.Context, s *session.Session, store *timeline.Store, sharer *share.Sharer, req share.FetchRequest) error {
	fetched, err := sharer.Fetch(ctx, req)
	return tellFetched(ctx, s, "fetch", fetched, errors.Join(err, noteForeign(store, fetched)))
}

// noteForeign notes that sessions have got steps of somebody else, so that what-if asks before it starts an agent on them.
func noteForeign(store *timeline.Store, fetched *share.FetchResult) error {
	if fetched == nil {
		return nil
	}
	var errs []error
	for _, run := range fetched.Runs {
		switch run.State {
		case share.StateCreated, share.StateForwarded, share.StateSplit, share.StateJoined:
			errs = append(errs, agent.NoteForeign(store, run.RunID))
			if run.State == share.StateCreated && run.Fork != "" { // the run is stored under this id
				errs = append(errs, agent.NoteForeign(store, run.Fork))
			}
		}
	}
	return errors.Join(errs...)
}

// tellFetched prints a line for each run of a fetch, and then returns err, the error of the fetch. If printing fails,
// it returns the error of printing instead. If the fetch failed before it reached any run, tellFetched prints nothing
// and returns err. kind is the kind of the document for --json.
func tellFetched(ctx context.Context, s *session.Session, kind string, fetched *share.FetchResult, err error) error {
	if fetched == nil || err != nil && len(fetched.Runs) == 0 {
		return err
	}
	// The runs are fetched: print that, even after Ctrl-C.
	if writeErr := writeFetched(context.WithoutCancel(ctx), s, kind, fetched); writeErr != nil {
		return writeErr
	}
	return err
}

// writeFetched prints a table of the fetched runs, or a document of the given kind with --json. If there are no runs,
// it prints a note with the reason.
func writeFetched(ctx context.Context, s *session.Session, kind string, fetched *share.FetchResult) error {
	if s.JSON {
		return s.WriteJSON(term.Document(kind, fetched))
	}
	switch {
	case fetched.None:
		s.Note("%s shows no runs: it has no runs, or its server hides refs/smithers (transfer.hideRefs)", plain.Text(fetched.Remote))
	case len(fetched.Runs) == 0:
		s.Note("nothing is new in %s", plain.Text(fetched.Remote))
	}
	p := display.NewPainter(ctx, s)
	t := term.Table{Header: []string{"RUN", "STATE", "TIP", "FRAMES", "NOTE"}}
	for _, run := range fetched.Runs {
		tip := ""
		if !run.Tip.IsZero() {
			tip = display.ShortID(run.Tip.String())
		}
		t.Add(
			term.Cell{Text: run.RunID}, term.Cell{Text: run.State}, term.Cell{Text: tip, Paint: p.Revision},
			term.Cell{Text: strconv.Itoa(run.Frames)}, term.Cell{Text: noteOnFetched(run)},
		)
	}
	return t.Write(s.Terminal)
}

// noteOnFetched returns the note about a fetched run: the id of the fork that has the local continuation, the id of
// --as, or the reason for the state.
func noteOnFetched(run share.FetchedRun) string {
	switch {
	case run.State == share.StateSplit:
		return "your own continuation is now the fork " + run.Fork
	case run.State == share.StateJoined:
		return "with your own continuation; push shares it"
	case run.Fork != "" && run.Reason != "":
		return "as " + run.Fork + ": " + plain.OneLine(run.Reason)
	case run.Fork != "":
		return "as " + run.Fork
	}
	return plain.OneLine(run.Reason)
}
