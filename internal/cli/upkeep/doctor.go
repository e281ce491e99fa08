package upkeep

import (
	"context"
	"fmt"
	"slices"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/internal/upkeep/doctor"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// mendRounds is the largest number of rounds of repair in one call of doctor. Each round repairs and examines the
// history again, because damage may hide other damage.
const mendRounds = 6

// doctorDocument is the document of doctor --json.
type doctorDocument struct {
	Kind     string           `json:"kind"`
	Findings []doctor.Finding `json:"findings"`
}

func doctorCommand() *arg.Command {
	cmd := &arg.Command{
		Name:    "doctor",
		Summary: "find and repair damage",
		Usage:   []string{"[--repair]", "--rebuild-index"},
		About: `Looks for damage and risks: empty or unreadable refs, locks left by dead processes, refs in
the wrong folder or with invalid names, tips and frames that disagree, damaged packs,
objects and indexes, missing objects, and configuration with which git fetch would delete
runs.

doctor then lists the repair for each problem and asks, at a terminal, whether to make the
repairs. --repair makes them without asking. Only empty ref files are deleted: other damaged
files are moved to smithers/damaged in the git directory. Missing objects are fetched from a
remote that has the run. The exit status is 12 if a serious problem remains.

--rebuild-index rebuilds the index from the refs. The index is a cache, an SQLite database
in the git directory, which may be deleted at any time. It updates itself and is rebuilt
when it is damaged, so this flag is seldom needed.`,
		Flags: []urfave.Flag{
			&urfave.BoolFlag{Name: "repair", Usage: "make all possible repairs without asking"},
			&urfave.BoolFlag{Name: "rebuild-index", Usage: "only rebuild the index of runs and frames"},
		},
		Exits: arg.Writes(),
		Examples: []arg.Example{
			{"list the problems", "git smithers doctor"},
			{"repair the problems", "git smithers doctor --repair"},
			{"rebuild the index", "git smithers doctor --rebuild-index"},
		},
	}
	cmd.Run = func(ctx context.Context, s *session.Session, c *urfave.Context) error {
		if c.Bool("rebuild-index") && c.IsSet("repair") {
			return cmd.Misused("--repair and --rebuild-index do not go together")
		}
		return s.WithStore(ctx, func(store *timeline.Store) error {
			if c.Bool("rebuild-index") {
				return runIndexRebuild(ctx, s, store)
			}
			return runDoctor(ctx, s, store, c.Bool("repair"))
		})
	}
	return cmd
}

// runDoctor examines the history and prints the problems. If repair is true, it makes all possible repairs. If repair
// is false, it asks the person at the terminal first, and repairs only if the person agrees. It does not ask, and
// repairs nothing, if no problem can be repaired, if there is no terminal, or with --json. The error is verify_failed
// if a serious problem remains.
func runDoctor(ctx context.Context, s *session.Session, store *timeline.Store, repair bool) error {
	bar := s.Progress("looking")
	d := doctor.New(store, func(_ string, done, total int) { bar.Update(done, total) })
	findings, err := d.Examine(ctx)
	bar.Finish()
	if err != nil {
		return err
	}
	if !repair && slices.ContainsFunc(findings, canBeMended) && !s.JSON && s.InTTY && s.AtTerminal(s.Err) {
		s.Talk("%s", describeFindings(findings))
		if repair, err = s.Ask("Make these repairs?"); err != nil {
			return err
		}
		if !repair { // the findings were printed above the question
			return leftOver(findings)
		}
	}
	if repair {
		if findings, err = mend(ctx, s, d, findings); err != nil {
			return err
		}
	}
	if err := printFindings(s, findings); err != nil {
		return err
	}
	return leftOver(findings)
}

func canBeMended(f doctor.Finding) bool { return f.Repair != "" && !f.Fixed }

// mend makes all possible repairs, and then looks for damage again, because a repair may reveal more. It ends when a
// round repairs nothing, or after mendRounds rounds. It returns the repaired findings, and then the findings that
// remain. If a repair fails, mend warns and continues, unless ctx has ended.
func mend(ctx context.Context, s *session.Session, d *doctor.Doctor, findings []doctor.Finding) ([]doctor.Finding, error) {
	mended := []doctor.Finding{}
	for range mendRounds {
		mendedOne := false
		for i := range findings {
			if !canBeMended(findings[i]) {
				continue
			}
			if err := d.Repair(ctx, &findings[i]); err != nil {
				if ctx.Err() != nil {
					return nil, err
				}
				s.Warn(fmt.Errorf("%s: %w", findings[i].Where, err))
				continue
			}
			mendedOne = true
			mended = append(mended, findings[i])
		}
		if !mendedOne {
			break
		}
		var err error
		if findings, err = d.Examine(ctx); err != nil {
			return nil, err
		}
	}
	return append(mended, findings...), nil
}

// leftOver returns nil if every finding is repaired or harmless. Otherwise it returns verify_failed, with the number of
// the other findings, and a hint with the next step.
func leftOver(findings []doctor.Finding) error {
	left, mendable := 0, false
	for _, f := range findings {
		if !f.Fixed && !f.Harmless() {
			left++
			mendable = mendable || f.Repair != ""
		}
	}
	if left == 0 {
		return nil
	}
	err := fault.New(fault.VerifyFailed, "doctor left %s unrepaired", plain.Count(left, "problem"))
	if mendable {
		return err.Hint("`git smithers doctor --repair` makes all possible repairs")
	}
	return err.Hint("`git smithers help keeping` explains each kind of problem")
}

// printFindings prints the problems with their repairs, or the document with --json.
func printFindings(s *session.Session, findings []doctor.Finding) error {
	if s.JSON {
		return s.WriteJSON(doctorDocument{"doctor", findings})
	}
	if len(findings) == 0 {
		return s.Printf("no problems found\n")
	}
	return s.Printf("%s", describeFindings(findings))
}

// describeFindings returns two lines for each finding. The first line has the problem. The second line has the repair,
// or says that doctor cannot repair the problem.
func describeFindings(findings []doctor.Finding) string {
	var b strings.Builder
	for _, f := range findings {
		fmt.Fprintf(&b, "%s: %s: %s\n", plain.Text(f.Where), f.Kind, plain.Text(f.What))
		switch {
		case f.Fixed:
			fmt.Fprintf(&b, "  repaired: %s\n", plain.Text(f.Repair))
		case f.Repair != "":
			fmt.Fprintf(&b, "  doctor --repair %s\n", plain.Text(f.Repair))
		default:
			b.WriteString("  doctor cannot repair this\n")
		}
	}
	return b.String()
}
