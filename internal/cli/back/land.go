package back

import (
	"context"
	"encoding/json"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/app"
	"github.com/git-smithers/git-smithers/internal/app/group"
	"github.com/git-smithers/git-smithers/internal/back/land"
	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/requests"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

func landCommand() *arg.Command {
	cmd := &arg.Command{
		Name:    "land",
		Summary: "merge what a run changed onto the commit that is checked out",
		Usage: []string{
			"<run>[:<frame>] [--from FRAME] [--worktree TASK]… [--apply | --commit | --branch NAME] [--each-turn] [-m TEXT] [--dry-run]",
			"<run>[:<frame>] [--from FRAME] [--worktree TASK]… --pr",
			"--best <group> [--by EXPR] [--from FRAME] [--commit | --branch NAME] [-m TEXT] [--dry-run]",
			"--abort",
		},
		About: `Merges the changes between the run's first frame and the frame, three ways, onto the commit
that is checked out, as git merge does. A fork lands the changes of its parent before the
fork, too. Without --commit or --branch, the changes are in the files and staged, and git
commit has a message prepared. --commit commits them; --branch makes a branch with the
commit, and leaves the files alone. No hook runs; commits are signed if commit.gpgSign says so.

Changes of yours that are not committed stay so: they are merged in the files alone, and
saved as a frame of the landing first. Files that are as a fork began have none, so that a
course can be landed where it began. A conflict leaves conflict markers and git's unmerged
paths: resolve them, git add, git commit; or --abort. undo takes a landing back. In a jj
workspace, the changes are a new change on @, with jj's own conflicts.

Nothing is landed while a merge, rebase, cherry-pick or revert is under way, if the same files
have staged changes, or if a submodule that the run moved has changes or lacks the commit. Files
that a capture left out are not landed.
While another run or session was at work in the same folder, nobody knows which changes are
whose: they are landed with --shared, and with --own those that a session's calls name.

--best lands the finished variant of a sweep, or the course of a session, with the highest value of
--by, an expression as compare takes it; without --by, with the highest score of compare --score, or
the highest value of the sweep's own --by. If several variants have this value, nothing is landed and the error names them.

Prints the run of the landing; with --branch the branch. --dry-run prints the changed files, and
notes conflicts and messages instead; what a landing would refuse is the error. --pr prints a title and a body for a
pull request in Markdown, and changes nothing.`,
		MaxArgs: 1,
		Flags: []urfave.Flag{
			&urfave.BoolFlag{Name: "apply", Usage: "change files and index, without a commit (the default)"},
			&urfave.BoolFlag{Name: "commit", Usage: "make a commit on the current branch"},
			&urfave.StringFlag{Name: "branch", Usage: "make a commit on a new branch `NAME`"},
			&urfave.StringFlag{Name: "from", Usage: "land the changes since `FRAME`, a number or an address"},
			arg.TextsFlag("worktree", "land the worktree of `TASK`; several are landed in order"),
			&urfave.BoolFlag{Name: "each-turn", Usage: "make a commit for each turn of a session"},
			&urfave.StringFlag{Name: "message", Aliases: []string{"m"}, Usage: "begin the message of the commit with `TEXT`"},
			&urfave.StringFlag{Name: "best", Usage: "land the best variant of the sweep `RUN`"},
			&urfave.StringFlag{Name: "by", Usage: "with --best: the variant with the highest `EXPR` is best; without --by, that of the sweep"},
			&urfave.BoolFlag{Name: "abort", Usage: "take back a landing with conflicts"},
			&urfave.BoolFlag{Name: "shared", Usage: "land changes that may be those of another run or session"},
			&urfave.BoolFlag{Name: "own", Usage: "land the files that a session's own calls of tools name"},
			&urfave.BoolFlag{Name: "dry-run", Usage: "say what a landing would do, and change nothing"},
			&urfave.BoolFlag{Name: "pr", Usage: "print a title and a body for a pull request"},
			requests.RemovalFlag(), requests.TrustFilesFlag(),
		},
		Changes: true,
		Exits:   arg.Writes(),
		Examples: []arg.Example{
			{"land what a run changed, and look at it before you commit", "git smithers land triage-1"},
			{"commit it, with a message that leads back to the run", "git smithers land triage-1:6 --commit"},
			{"land the best variant of a sweep", "git smithers land --best sweep-k7q2abcd --by outputs.verdict.score"},
			{"open a pull request with it", "git smithers land triage-1 --branch fix-login"},
		},
	}
	cmd.Run = func(ctx context.Context, s *session.Session, c *urfave.Context) error {
		req, err := parseLand(cmd, c)
		if err != nil {
			return err
		}
		return s.WithStore(ctx, func(store *timeline.Store) error {
			if best := c.String("best"); best != "" {
				if req.Run, err = bestOf(ctx, s, store, best, c.String("by")); err != nil {
					return err
				}
			}
			switch {
			case c.Bool("abort"):
				return runAbort(ctx, s, store, c.Bool("yes"))
			case c.Bool("pr"):
				return runPullRequest(ctx, s, store, req)
			}
			if !req.DryRun {
				req.Confirm = requests.ConfirmRemoval(s, c.Bool("yes"), requests.YesRemoves)
			}
			return runLand(ctx, s, store, req)
		})
	}
	return cmd
}

// parseLand reads the arguments and flags of land.
func parseLand(cmd *arg.Command, c *urfave.Context) (app.LandRequest, error) {
	req := app.LandRequest{
		Run: c.Args().First(), From: c.String("from"), Worktrees: arg.Texts(c, "worktree"), Mode: land.Apply,
		Branch: c.String("branch"), Message: c.String("message"), EachTurn: c.Bool("each-turn"),
		Shared: c.Bool("shared"), Own: c.Bool("own"), DryRun: c.Bool("dry-run"),
	}
	var modes []string
	for _, name := range []string{"apply", "commit", "branch", "abort", "pr"} {
		if c.IsSet(name) {
			modes = append(modes, "--"+name)
		}
	}
	for _, name := range []string{"branch", "from", "message", "best", "by"} {
		if c.IsSet(name) && c.String(name) == "" {
			return req, cmd.Misused("--%s is empty", name)
		}
	}
	switch {
	case len(modes) > 1:
		return req, cmd.Misused("%s do not go together", strings.Join(modes, " and "))
	case c.IsSet("by") && !c.IsSet("best"):
		return req, cmd.Misused("--by needs --best")
	case c.IsSet("best") && (req.Run != "" || c.Bool("abort")):
		return req, cmd.Misused("--best names the group in place of a run")
	case req.Run == "" && !c.Bool("abort") && !c.IsSet("best"):
		return req, cmd.NeedsRun()
	case req.Run != "" && c.Bool("abort"):
		return req, cmd.Misused("land needs a run, or --abort alone")
	case c.Bool("commit"):
		req.Mode = land.Commit
	case req.Branch != "":
		req.Mode = land.Branch
	}
	switch {
	case req.DryRun && (c.Bool("abort") || c.Bool("pr")):
		return req, cmd.Misused("--dry-run does not go together with --abort or --pr")
	case req.EachTurn && req.Mode == land.Apply:
		return req, cmd.Misused("--each-turn needs --commit or --branch")
	case req.Own && (req.EachTurn || req.Shared || len(req.Worktrees) > 0):
		return req, cmd.Misused("--own does not go together with --each-turn, --shared or --worktree")
	case req.EachTurn && (len(req.Worktrees) > 0 || req.Message != ""):
		return req, cmd.Misused("--each-turn does not go together with --worktree or --message")
	}
	return req, nil
}

// bestOf returns the run of the best variant of a group. by is an expression, or "" for that of the group. Codes: those of group.Open, tied and
// no_best; usage if neither by nor the group has an expression.
func bestOf(ctx context.Context, s *session.Session, store *timeline.Store, id, by string) (string, error) {
	id, err := store.ResolveRunToChange(ctx, id)
	if err != nil {
		return "", err
	}
	g, err := group.Open(ctx, store, id, by, s.Now())
	if err != nil {
		return "", err
	}
	if g.By == "" && g.Plan.By != "" {
		return "", fault.New(fault.Usage, "--best needs --by, because the expression of %s is somebody else's", id).
			Hint("`%s` uses it", fault.CommandLine(fault.Program, "land", "--best", id, "--by", g.Plan.By))
	}
	if g.By == "" {
		return "", fault.New(fault.Usage, "--best needs --by or scores, because the group %s has none", id).
			Hint("`%s` scores its variants by a command", fault.CommandLine(fault.Program, "compare", "--group", id, "--score", "COMMAND")).
			Hint("an expression over their states does, too: for example `%s`", fault.CommandLine(fault.Program, "land", "--best", id, "--by", "outputs.verdict.score"))
	}
	best, err := g.TheBest()
	if err != nil {
		return "", err
	}
	s.Note("the best of %s is %s: %s is %s", plain.Text(id), plain.Text(best.RunID), plain.Text(g.By), display.Score(*best.Value))
	if g.Row.Workflow == workflow.CoursesName {
		s.Note("after the landing, `%s` hands its conversation to the agent here", fault.CommandLine(fault.Program, "session", "continue", best.RunID))
	}
	return best.RunID, nil
}

// runLand lands a run, and prints the run of the landing or, for a branch, the branch.
func runLand(ctx context.Context, s *session.Session, store *timeline.Store, req app.LandRequest) error {
	done, err := requests.Open(s, store).Land(ctx, req)
	if done == nil {
		return err
	}
	noteLanded(ctx, s, done, req.Own)
	if req.DryRun && !s.JSON {
		return requests.PrintChanges(ctx, s, done.Changes)
	}
	if s.JSON {
		if printed := s.WriteJSON(describeLanded(done)); printed != nil {
			return printed
		}
		return err
	}
	out := done.Run
	if done.Mode == land.Branch && done.Run != "" {
		out = done.Branch
	}
	if out != "" && err == nil {
		err = s.Printf("%s\n", plain.Text(out))
	}
	return err
}

// describeLanded returns the JSON document of a landing.
func describeLanded(done *land.Result) any {
	saved := ""
	if done.Saved != nil {
		saved = done.Saved.String()
	}
	text := func(name, value string) json.Marshaler { return term.Member(name, display.OrNull(value)) }
	return term.Document("land", text("run", done.Run), term.Member("mode", done.Mode), term.Member("path", done.Root), term.Member("changes", done.Changes),
		term.Member("leftOut", append([]string{}, done.LeftOut...)), term.Member("worktrees", append([]string{}, done.Worktrees...)),
		term.Member("conflicts", append([]string{}, done.Conflicts...)), text("commit", done.Commit), text("changeId", done.Change),
		text("branch", done.Branch), text("saved", saved), term.Optional("dryRun", done.Messages != nil), term.Optional("messages", done.Messages))
}

// noteDryLanded notes what a landing would do besides the changes.
func noteDryLanded(s *session.Session, done *land.Result) {
	for _, path := range done.Conflicts {
		s.Note("would be in conflict: %s", plain.Text(path))
	}
	for _, message := range done.Messages {
		subject, _, _ := strings.Cut(message, "\n")
		s.Note("the message would be: %s", plain.Text(subject))
	}
	how := map[land.Mode]string{land.Apply: "in the files and staged", land.Commit: "committed", land.Branch: "on the new branch " + done.Branch}[done.Mode]
	s.Note("%s would be %s; nothing was changed", plain.Count(len(done.Changes), "change"), plain.Text(how))
}

// noteLanded notes what a landing changed. own is true if only the files that a session's calls name were to be landed.
func noteLanded(ctx context.Context, s *session.Session, done *land.Result, own bool) {
	why := "a capture left them out"
	if own {
		why = "no call of the session names them, or " + why
	}
	if len(done.LeftOut) > 0 {
		s.Note("not landed, because %s: %s", why, display.List(done.LeftOut))
	}
	if len(done.Worktrees) > 0 {
		s.Note("not landed: the tasks' own worktrees: %s; --worktree lands them", display.List(done.Worktrees))
	}
	if done.Messages != nil {
		noteDryLanded(s, done)
		return
	}
	if done.Run == "" {
		s.Note("nothing to land: the changes are here already")
		return
	}
	p := display.NewPainter(ctx, s)
	for _, change := range done.Changes[:min(len(done.Changes), mostChanges)] {
		s.Note("%s %s", p.Change(change.Op), plain.Text(change.Path))
	}
	if more := len(done.Changes) - mostChanges; more > 0 {
		s.Note("and %d more", more)
	}
	switch {
	case len(done.Conflicts) > 0:
	case done.Change != "":
		s.Note("%s landed as jj's change %s", plain.Count(len(done.Changes), "change"), plain.Text(done.Change))
	case done.Mode == land.Branch:
		s.Note("%s landed on the new branch %s", plain.Count(len(done.Changes), "change"), plain.Text(done.Branch))
	case done.Mode == land.Commit:
		s.Note("%s landed as commit %s", plain.Count(len(done.Changes), "change"), plain.Text(done.Commit[:min(len(done.Commit), 12)]))
	default:
		s.Note("%s landed and staged: `git commit` has a message prepared", plain.Count(len(done.Changes), "change"))
	}
	if len(done.Conflicts) == 0 {
		s.Note("`%s` takes this back", fault.CommandLine(arg.Program, "undo", done.Run))
	}
}

// mostChanges is how many changed files noteLanded names.
const mostChanges = 20

// runAbort takes back the landing that has conflicts, and prints the frame that records this.
func runAbort(ctx context.Context, s *session.Session, store *timeline.Store, yes bool) error {
	done, err := requests.Open(s, store).AbortLand(ctx, requests.ConfirmRemoval(s, yes, requests.YesRemoves))
	if err != nil {
		return err
	}
	s.Note("taken back: the landing %s", plain.Text(done.Run))
	requests.TellTraveled(ctx, s, store, done, "")
	return requests.PrintTraveled(s, done, undoDocument(done))
}

// runPullRequest prints a title and a body for a pull request.
func runPullRequest(ctx context.Context, s *session.Session, store *timeline.Store, req app.LandRequest) error {
	pr, err := requests.Open(s, store).PullRequest(ctx, req)
	if err != nil {
		return err
	}
	if s.JSON {
		return s.WriteJSON(term.Document("pull-request", term.Member("title", pr.Title), term.Member("body", pr.Body)))
	}
	return s.Printf("%s\n\n%s", pr.Title, pr.Body)
}
