package sharing

import (
	"bufio"
	"context"
	"errors"
	"strings"
	"time"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/internal/share/secretscan"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// allowFlag returns the flag --allow of push and bundle.
func allowFlag() urfave.Flag {
	return arg.TextsFlag("allow", "let the finding with this `DIGEST` through once")
}

func scanCommand() *arg.Command {
	return &arg.Command{
		Name:    "scan",
		Summary: "search runs for secrets",
		Usage:   []string{"[<run>...]", "--allow DIGEST... --reason TEXT", "--allowed", "--pre-push REMOTE"},
		About: `Searches the named runs, or all runs, for secrets: their states, logs, messages, and captured
files. Prints the run, the frame and the place of each finding, the rule that found it, a
digest that names it, and the text around it with the secret masked. Objects that are clean
are remembered, so the next scan is fast.

push and bundle do the same before they send anything. If a finding is harmless, --allow lets
it through from now on; the reason is kept in this clone, and --allowed lists what is allowed.

--pre-push searches what a git push sends, for a pre-push hook; init installs one.`,
		MaxArgs: arg.AnyNumber,
		Flags: []urfave.Flag{
			arg.TextsFlag("allow", "let the finding with this `DIGEST` through from now on"),
			&urfave.StringFlag{Name: "reason", Usage: "why the findings of --allow are harmless: `TEXT`"},
			&urfave.BoolFlag{Name: "allowed", Usage: "list what is allowed"},
			&urfave.StringFlag{Name: "pre-push", Usage: "read from standard input what git pushes to `REMOTE`, and search it"},
		},
		Exits: arg.Writes(),
		Examples: []arg.Example{
			{"search all runs", "git smithers scan"},
			{"allow a finding that is no secret", "git smithers scan --allow 5f3a09c1d2e4b687 --reason 'an example from the manual'"},
		},
		Run: func(ctx context.Context, s *session.Session, c *urfave.Context) error {
			return s.WithStore(ctx, func(store *timeline.Store) error {
				switch {
				case c.IsSet("allow"):
					return runAllow(s, store, c.String("reason"), arg.Texts(c, "allow"))
				case c.Bool("allowed"):
					return listAllowed(s, store)
				case c.IsSet("pre-push"):
					return runPrePush(ctx, s, store, c.String("pre-push"))
				}
				return runScan(ctx, s, store, c.Args().Slice())
			})
		},
	}
}

// runScan searches runs, or all runs if none is named, and prints the findings. The error is secrets_found if there is any that is not
// allowed.
func runScan(ctx context.Context, s *session.Session, store *timeline.Store, names []string) error {
	runs, err := runsToScan(ctx, store, names)
	if err != nil {
		return err
	}
	report, err := scanRuns(ctx, s, store, secretscan.Request{Runs: runs})
	if err != nil {
		return err
	}
	if s.JSON {
		if err := s.WriteJSON(term.Document("scan", report)); err != nil {
			return err
		}
	} else if err := writeFindings(s, report); err != nil {
		return err
	}
	if len(report.Findings) == 0 {
		s.Note("no secrets in %s", plain.Count(len(runs), "run"))
		return nil
	}
	return report.Refusal("the runs are not clean")
}

// runsToScan returns the named runs, or all runs.
func runsToScan(ctx context.Context, store *timeline.Store, names []string) ([]secretscan.Run, error) {
	var runs []secretscan.Run
	for _, name := range names {
		id, tip, err := store.FindRun(ctx, name, timeline.ToRead)
		if err != nil {
			return nil, err
		}
		runs = append(runs, secretscan.Run{ID: id, Tip: tip})
	}
	if len(names) > 0 {
		return runs, nil
	}
	tips, err := store.Refs().Tips(ctx)
	if err != nil {
		return nil, timeline.Explain(err)
	}
	for _, tip := range tips {
		runs = append(runs, secretscan.Run{ID: refs.ShownRun(tip.Component), Tip: tip.ID})
	}
	return runs, nil
}

// scanRuns searches runs, and shows progress.
func scanRuns(ctx context.Context, s *session.Session, store *timeline.Store, req secretscan.Request) (*secretscan.Report, error) {
	steps := s.Steps()
	defer steps.Finish()
	req.Progress = func(done, total int) { steps.Update("looking for secrets", done, total) }
	return secretscan.Scan(ctx, store, req)
}

// writeFindings prints a table of the findings.
func writeFindings(s *session.Session, report *secretscan.Report) error {
	if len(report.Findings)+len(report.Allowed) == 0 {
		return nil
	}
	t := term.Table{Header: []string{"WHERE", "RULE", "DIGEST", "TEXT", "ALLOWED"}}
	add := func(f secretscan.Finding, allowed string) {
		t.Add(term.Cell{Text: f.Where()}, term.Cell{Text: f.Rule}, term.Cell{Text: f.Digest}, term.Cell{Text: f.Excerpt}, term.Cell{Text: plain.OneLine(allowed)})
	}
	for _, f := range report.Findings {
		add(f, "")
	}
	for _, f := range report.Allowed {
		add(f, f.Reason)
	}
	return t.Write(s.Terminal)
}

// tellFindings lists on standard error the secrets for which a push or a bundle was refused. err is its error, or nil. Scripts read
// them in the details of the error.
func tellFindings(s *session.Session, err error) error {
	known, ok := errors.AsType[*fault.Error](err)
	if !ok || known.Code != fault.SecretsFound || s.JSON {
		return err
	}
	found, _ := known.Details["findings"].([]secretscan.Finding)
	for _, f := range found {
		s.Talk("%s: %s %s", plain.Text(f.Where()), plain.Text(f.Rule), f.Digest)
		if f.Excerpt != "" {
			s.Talk(": %s", plain.Text(f.Excerpt))
		}
		s.Talk("\n")
	}
	return err
}

// runAllow lets findings through from now on.
func runAllow(s *session.Session, store *timeline.Store, reason string, digests []string) error {
	if err := secretscan.Allow(store, reason, digests...); err != nil {
		return err
	}
	if s.JSON {
		return listAllowed(s, store)
	}
	s.Note("%s may leave this clone from now on", plain.Count(len(digests), "finding"))
	return nil
}

// listAllowed prints what may leave the repository.
func listAllowed(s *session.Session, store *timeline.Store) error {
	list, err := secretscan.Allowances(store)
	if err != nil {
		return err
	}
	if s.JSON {
		return s.WriteJSON(term.Document("allowed", term.Member("allowed", append([]secretscan.Allowance{}, list...))))
	}
	t := term.Table{Header: []string{"DIGEST", "SINCE", "REASON"}}
	for _, a := range list {
		t.Add(term.Cell{Text: a.Digest}, term.Cell{Text: time.UnixMilli(a.AtMs).Format(time.DateOnly)}, term.Cell{Text: plain.OneLine(a.Reason)})
	}
	return t.Write(s.Terminal)
}

// runPrePush searches what git is about to push to a remote under refs/smithers/. The refs of others are not looked at.
func runPrePush(ctx context.Context, s *session.Session, store *timeline.Store, remote string) error {
	req, err := readPrePush(s, store)
	if err != nil || len(req.Runs)+len(req.Also) == 0 {
		return err
	}
	if _, ok := store.Repo().Config.Get("remote." + remote + ".url"); ok {
		req.Remote = remote
	}
	report, err := scanRuns(ctx, s, store, req)
	if err != nil {
		return err
	}
	return tellFindings(s, report.Refusal("nothing was pushed to "+plain.Text(remote)))
}

// readPrePush reads what git tells a pre-push hook: on each line a local ref, a local id, a remote ref and a remote id. An id of zeros
// stands for no object.
func readPrePush(s *session.Session, store *timeline.Store) (req secretscan.Request, err error) {
	lines := bufio.NewScanner(s.In)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		const localID, theirs, theirID, all = 1, 2, 3, 4
		if len(words) != all {
			return req, fault.New(fault.Usage, "standard input has not what git writes for a pre-push hook").Hint("call this from a pre-push hook")
		}
		tip, err := objstore.ParseID(words[localID])
		if err != nil {
			return req, fault.New(fault.Usage, "standard input has not what git writes for a pre-push hook: %w", err)
		}
		had, err := objstore.ParseID(words[theirID])
		if err == nil && !had.IsZero() {
			req.Have = append(req.Have, had)
		}
		if tip.IsZero() || !strings.HasPrefix(words[theirs], refs.Folder) {
			continue
		}
		if entry, err := snapshot.ReadEntry(store.Objects(), tip); err == nil {
			req.Runs = append(req.Runs, secretscan.Run{ID: entry.Run, Tip: tip})
		} else {
			req.Also = append(req.Also, tip) // a tombstone, a base commit, or what nobody can read
		}
	}
	return req, lines.Err()
}
