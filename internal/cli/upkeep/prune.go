package upkeep

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/internal/upkeep/prune"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// pruneDocument is the document of prune --json, of prune --collect and of prune --undo. Its kind is prune, collect
// or recall.
type pruneDocument struct {
	Kind   string `json:"kind"`
	DryRun bool   `json:"dryRun"`
	*prune.Result
}

// pruneRemoteDocument is the document of prune --remote --json.
type pruneRemoteDocument struct {
	Kind   string `json:"kind"`
	DryRun bool   `json:"dryRun"`
	*prune.PrunedAt
}

func pruneCommand() *arg.Command {
	return &arg.Command{
		Name:    "prune",
		Summary: "remove runs that are no longer wanted",
		Usage: []string{
			"<run>... [--dry-run]",
			"[--workflow NAME] [--keep-last N] [--keep-within D] [--keep-label L]... [--dry-run]",
			"--sessions [--dry-run]", "--undo <run>...", "--collect [--dry-run]", "--remote [<remote>] [<run>...] [--dry-run]",
		},
		About: `Removes whole runs: the named runs, or every ended run that no --keep rule keeps. prune
prints how much space this can free, but frees none yet: --undo restores pruned runs, until
--collect deletes the objects that only they need.

With --workflow, the rules are for the runs of one workflow, and prune leaves all other runs
alone. Without a --keep rule, that prunes every ended run of the workflow.

Forks of a pruned run lose nothing. A pruned run leaves a tombstone. push pushes it, so that
no push brings the run back. --remote deletes pruned runs at a remote, the first
argument or the default remote of push, unless another person has continued the run there.

--sessions prunes the sessions of coding agents that have ended longer ago than smithers.session.keep
says, 30d by default, and frees the space of those it has pruned a week ago. Sessions with a
checkpoint or a fork stay. A hook starts it once a day.

--collect rewrites the packs of run history without the objects that only pruned runs need.
Your own files, commits and stashes stay. Objects in git's own packs stay until git gc.`,
		MaxArgs: arg.AnyNumber,
		Flags: []urfave.Flag{
			&urfave.StringFlag{Name: "workflow", Usage: "choose among the runs of workflow `NAME`"},
			&urfave.IntFlag{Name: "keep-last", Usage: "keep the `N` runs that ended last"},
			&urfave.StringFlag{Name: "keep-within", Usage: "keep runs that ended within `D`, such as 30d, 2w or 12h"},
			arg.TextsFlag("keep-label", "keep forks labeled `L`; may be repeated"),
			&urfave.BoolFlag{Name: "sessions", Usage: "prune sessions of coding agents by their age"},
			&urfave.BoolFlag{Name: "undo", Usage: "restore pruned runs"},
			&urfave.BoolFlag{Name: "collect", Usage: "free the space of pruned runs; this cannot be undone"},
			&urfave.BoolFlag{Name: "remote", Usage: "delete pruned runs at a remote"},
			&urfave.BoolFlag{Name: "dry-run", Usage: "list the changes without making them"},
		},
		Changes: true,
		Exits:   arg.Writes(),
		Examples: []arg.Example{
			{"see which runs a rule would remove", "git smithers prune --keep-last 20 --keep-within 30d --dry-run"},
			{"keep a month of the runs of one workflow", "git smithers prune --workflow nightly --keep-within 30d"},
			{"remove one run, and restore it", "git smithers prune triage-1 && git smithers prune --undo triage-1"},
			{"free the space of all pruned runs", "git smithers prune --collect"},
			{"also delete pruned runs at a remote", "git smithers prune --remote origin"},
		},
		Run: func(ctx context.Context, s *session.Session, c *urfave.Context) error {
			opts, err := parsePrune(c)
			if err != nil {
				return err
			}
			if opts.sessions {
				return s.WithStore(ctx, func(store *timeline.Store) error { return runPruneSessions(ctx, s, store, opts.dryRun) })
			}
			return withKeeper(ctx, s, func(k *prune.Keeper) error { return runPrune(ctx, s, k, opts) })
		},
	}
}

// pruneOptions has the options of prune.
type pruneOptions struct {
	runs    []string
	policy  prune.Policy
	undo    bool
	collect bool
	there   bool // delete pruned runs at a remote; the first of runs names the remote, if there is one
	dryRun  bool

	sessions bool // prune sessions of coding agents by their age
}

// parsePrune returns the options of prune from the flags and arguments in c. The error is usage if a value is invalid,
// if flags and arguments do not go together, or if the command line names nothing to prune.
func parsePrune(c *urfave.Context) (pruneOptions, error) {
	opts := pruneOptions{
		runs: c.Args().Slice(), undo: c.Bool("undo"), collect: c.Bool("collect"), there: c.Bool("remote"),
		dryRun: c.Bool("dry-run"), sessions: c.Bool("sessions"), policy: prune.Policy{Workflow: c.String("workflow"), Last: c.Int("keep-last"), Labels: arg.Texts(c, "keep-label")},
	}
	var err error
	if c.IsSet("keep-within") {
		if opts.policy.Within, err = parseAge("keep-within", c.String("keep-within")); err != nil {
			return opts, err
		}
	}
	rules := c.IsSet("workflow") || c.IsSet("keep-last") || c.IsSet("keep-within") || c.IsSet("keep-label")
	asked := 0
	for _, is := range []bool{rules, opts.undo, opts.collect, opts.there, opts.sessions} {
		if is {
			asked++
		}
	}
	switch {
	case opts.policy.Last < 0:
		return opts, fault.New(fault.Usage, "--keep-last cannot be %d", opts.policy.Last).Hint("use a number of runs, from 0")
	case c.IsSet("workflow") && opts.policy.Workflow == "":
		return opts, fault.New(fault.Usage, "the name of the workflow is empty").Hint("`git smithers runs` lists the workflows of the runs")
	case asked > 1:
		return opts, fault.New(fault.Usage, "--workflow, --keep-…, --sessions, --undo, --collect and --remote do not go together").Hint("type only one of them")
	case len(opts.runs) > 0 && (rules || opts.collect || opts.sessions):
		return opts, fault.New(fault.Usage, "runs do not go together with --workflow, --keep-…, --sessions or --collect").
			Hint("name runs, or use --keep-… rules; --collect frees the space of all pruned runs")
	case len(opts.runs) == 0 && asked == 0:
		return opts, fault.New(fault.Usage, "prune needs runs or a rule").
			Hint("name the runs to prune, or the runs to keep: `git smithers prune --keep-last 20 --dry-run`")
	case opts.there && len(opts.runs) > 0 && opts.runs[0] == "":
		return opts, fault.New(fault.Usage, "the name of the remote is empty")
	case opts.undo && opts.dryRun:
		return opts, fault.New(fault.Usage, "--undo and --dry-run do not go together").Hint("`%s` takes the undo back", fault.CommandLine(arg.Program, append([]string{"prune"}, opts.runs...)...))
	}
	return opts, nil
}

// parseAge returns the length of time in text, such as 30d, 2w or 12h. The units d and w are days and weeks; text may
// also be a duration for time.ParseDuration. The error is usage if text is no such length, or if the length is not
// above 0. flag is the name of the flag, for the message of the error.
func parseAge(flag, text string) (time.Duration, error) {
	const day = 24 * time.Hour
	for unit, length := range map[string]time.Duration{"d": day, "w": 7 * day} {
		if number, ok := strings.CutSuffix(text, unit); ok {
			if n, err := strconv.Atoi(number); err == nil && n > 0 && n < 100_000 { // a larger number might overflow
				return time.Duration(n) * length, nil
			}
		}
	}
	if age, err := time.ParseDuration(text); err == nil && age > 0 {
		return age, nil
	}
	return 0, fault.New(fault.Usage, "--%s cannot be %q", flag, text).
		Hint("use a length of time, such as 30d, 2w or 12h")
}

// runPrune does the job that opts selects: it restores pruned runs, frees the space of pruned runs, deletes pruned runs
// at a remote, or otherwise prunes runs. It prints a line for each run. If opts.dryRun is true, it changes nothing.
func runPrune(ctx context.Context, s *session.Session, k *prune.Keeper, opts pruneOptions) error {
	switch {
	case opts.undo:
		return runRecall(ctx, s, k, opts)
	case opts.collect:
		return runCollect(ctx, s, k, opts)
	case opts.there:
		return runPruneRemote(ctx, s, k, opts)
	}
	pruned, err := k.Forget(ctx, opts.policy, opts.dryRun, opts.runs...)
	if err != nil {
		return err
	}
	if s.JSON {
		return s.WriteJSON(pruneDocument{"prune", opts.dryRun, pruned})
	}
	var gone []string
	err = tablePruned(s, pruned.Runs, func(run prune.PrunedRun) string {
		switch {
		case run.Kept != "":
			return "kept: " + run.Kept
		case opts.dryRun:
			gone = append(gone, run.RunID)
			return "would be pruned"
		}
		gone = append(gone, run.RunID)
		return "pruned"
	})
	n := plain.Count(len(gone), "run")
	switch {
	case len(gone) == 0:
		s.Note("no run to prune")
	case opts.dryRun:
		s.Note("pruning and collecting %s would free about %s", n, display.Size(pruned.Bytes))
	default:
		s.Note("pruned %s; `git smithers prune --collect` frees about %s", n, display.Size(pruned.Bytes))
		s.Note("until then %s", plain.Text(howToRecall(gone)))
	}
	return err
}

// howToRecall returns a sentence with the command that brings pruned runs back. runs has the ids of the pruned runs.
// The command names at most three of them, and the sentence has the number of the others.
func howToRecall(runs []string) string {
	const named = 3
	shown := runs[:min(named, len(runs))]
	out := fmt.Sprintf("`%s` brings %s back", fault.CommandLine(arg.Program, append([]string{"prune", "--undo"}, shown...)...), itOrThem(len(shown)))
	if more := len(runs) - len(shown); more > 0 {
		out += fmt.Sprintf(", and so on for %d more", more)
	}
	return out
}

func itOrThem(n int) string {
	if n == 1 {
		return "it"
	}
	return "them"
}

// noneToRecall returns the usage error for prune --undo without the id of a run. Its hints list the pruned runs that
// can be restored, and have the command that restores the first of them.
func noneToRecall(ctx context.Context, k *prune.Keeper) error {
	const shown = 10
	out := fault.New(fault.Usage, "prune --undo needs the runs to restore")
	runs, err := k.Recallable(ctx)
	switch {
	case err != nil:
		return err
	case len(runs) == 0:
		return out.Hint("this repository has no pruned run that can be restored")
	}
	return out.Hint("pruned runs that can be restored: %s", display.ListUpTo(shown, runs)).Hint("%s", howToRecall(runs[:1]))
}

// runRecall restores the pruned runs in opts.runs, and prints a line for each. If opts.runs is empty, it returns the
// error of noneToRecall.
func runRecall(ctx context.Context, s *session.Session, k *prune.Keeper, opts pruneOptions) error {
	if len(opts.runs) == 0 {
		return noneToRecall(ctx, k)
	}
	back, err := k.Recall(ctx, opts.runs...)
	if err != nil {
		return err
	}
	if s.JSON {
		return s.WriteJSON(pruneDocument{"recall", false, back})
	}
	return tablePruned(s, back.Runs, func(prune.PrunedRun) string { return "is back" })
}

// runCollect deletes the objects that only pruned runs need. It prints a line for each run, and notes how much space it
// has freed. If opts.dryRun is true, it deletes nothing, and notes how much space it would free.
func runCollect(ctx context.Context, s *session.Session, k *prune.Keeper, opts pruneOptions) error {
	got, err := k.Collect(ctx, opts.dryRun)
	if err != nil {
		return err
	}
	if s.JSON {
		return s.WriteJSON(pruneDocument{"collect", opts.dryRun, got})
	}
	state := "collected"
	if opts.dryRun {
		state = "would be collected"
	}
	err = tablePruned(s, got.Runs, func(prune.PrunedRun) string { return state })
	switch {
	case opts.dryRun:
		s.Note("collecting would free about %s", display.Size(got.Bytes))
	case len(got.Runs) == 0 && got.Bytes == 0 && got.Left == 0:
		s.Note("nothing to collect")
	default:
		s.Note("freed %s", display.Size(got.Bytes))
	}
	if got.Partial {
		s.Note("this is a partial clone: git deletes no object that came from the remote, so fetched runs can still be read here; a new clone does not have them")
	}
	if got.Left > 0 {
		s.Note("%s of unneeded objects stay, because they are in git's own packs or in use; `git gc` frees them later", display.Size(got.Left))
	}
	return err
}

// runPruneRemote deletes at a remote the runs that were pruned in this repository. The first element of opts.runs is
// the remote, and the others are the runs. If opts.runs is empty, the remote is the default remote. runPruneRemote
// prints the outcome for each run, including the runs that stay at the remote. If the remote still has a run, it then
// returns push_refused. After any other error, it prints nothing. If opts.dryRun is true, it deletes nothing.
func runPruneRemote(ctx context.Context, s *session.Session, k *prune.Keeper, opts pruneOptions) error {
	remote, runs := arg.RemoteAndRuns(s, opts.runs)
	there, err := k.PruneRemote(ctx, remote, opts.dryRun, runs...)
	if there == nil || err != nil && fault.CodeOf(err) != fault.PushRefused {
		return err
	}
	if s.JSON {
		if writeErr := s.WriteJSON(pruneRemoteDocument{"pruneRemote", opts.dryRun, there}); writeErr != nil {
			return writeErr
		}
		return err
	}
	if len(there.Runs) == 0 {
		s.Note("no run was pruned in this repository")
	}
	t := term.Table{Header: []string{"RUN", "STATE", "NOTE"}}
	for _, run := range there.Runs {
		state := run.State
		if opts.dryRun && state == prune.ThereDeleted {
			state = "would be deleted"
		}
		t.Add(term.Cell{Text: run.RunID}, term.Cell{Text: state}, term.Cell{Text: plain.OneLine(run.Reason)})
	}
	if writeErr := t.Write(s.Terminal); writeErr != nil {
		return writeErr
	}
	return err
}

// tablePruned prints a line for each run. state returns the text of the column STATE.
func tablePruned(s *session.Session, runs []prune.PrunedRun, state func(prune.PrunedRun) string) error {
	t := term.Table{Header: []string{"RUN", "FRAMES", "ALONE", "STATE"}}
	for _, run := range runs {
		size := strconv.FormatInt(run.Bytes, 10)
		if s.IsTerminalOut() {
			size = display.Size(run.Bytes)
		}
		t.Add(term.Cell{Text: run.RunID}, term.Cell{Text: strconv.FormatInt(run.Frames, 10)}, term.Cell{Text: size}, term.Cell{Text: state(run)})
	}
	return t.Write(s.Terminal)
}
