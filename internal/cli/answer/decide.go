package answer

import (
	"context"
	"errors"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/mail"
	"github.com/git-smithers/git-smithers/internal/cli/requests"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/engine/mailbox"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// decideOptions has the options of approve and deny.
type decideOptions struct {
	run      string
	place    mailbox.Place
	approved bool
	note     string
	by       *string // nil: git's user.name
	resume   bool
}

// approvalDocument is the document of approve --json and deny --json.
type approvalDocument struct {
	Kind  string `json:"kind"`
	RunID string `json:"runId"`
	snapshot.Approval
	Running  bool    `json:"running"`  // a live process executes the run, and continues the run without a command
	Worktree *string `json:"worktree"` // see app.OwnWorktree
}

// decideFlags returns the flags of approve and deny.
func decideFlags() []urfave.Flag {
	return append(arg.PlaceFlags(),
		&urfave.StringFlag{Name: "note", Usage: "store `TEXT` with the decision, for later tasks to read"}, arg.WhoFlag(), requests.ResumeFlag())
}

// parseDecide reads the options from the command line. approved is true for approve, and false for deny.
func parseDecide(c *urfave.Context, approved bool) (decideOptions, error) {
	place, err := arg.ParsePlace(c)
	return decideOptions{c.Args().First(), place, approved, c.String("note"), arg.ParseWho(c), c.Bool("resume")}, err
}

// runDecide approves or denies an approval, as opts says. With --json, it prints the approval as a document. Otherwise
// it prints the run's id, and notes the new status of the approval.
//
// If another engine runs the run, runDecide warns that this engine was not told. If no other engine runs the run, and
// without --json, it also notes which process or command continues the run. With opts.resume, it continues the run, as resume does.
func runDecide(ctx context.Context, s *session.Session, store *timeline.Store, opts decideOptions) error {
	head, decided, err := requests.Open(s, store).Decide(ctx, opts.run, mailbox.Decision{
		Place: opts.place, Approved: opts.approved, Note: opts.note, By: arg.Who(opts.by, store),
	})
	if err != nil {
		return err
	}
	row := head.Row()
	running := store.Owner(row).Live
	foreign := warnForeign(s, head, mail.ForeignDecision(row.ID, decided))
	if s.JSON {
		err = s.WriteJSON(approvalDocument{"approval", row.ID, decided, running, ownWorktree(s, store, head)})
	}
	s.Note("%s: %s (%s)", decided.Status, plain.Text(decided.Title), plain.Text(display.AttemptName(decided.NodeID, decided.Iteration)))
	resumed, failed := goOn(ctx, s, store, head, foreign, opts.resume)
	if err = errors.Join(err, failed); resumed || s.JSON || err != nil {
		return err
	}
	return s.Printf("%s\n", plain.Text(row.ID))
}
