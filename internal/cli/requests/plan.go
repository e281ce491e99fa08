package requests

import (
	"fmt"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/app"
	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/engine"
	"github.com/git-smithers/git-smithers/internal/plain"
)

// DryRunFlag returns the flag --dry-run of a command that runs tasks.
func DryRunFlag() urfave.Flag {
	return &urfave.BoolFlag{Name: "dry-run", Usage: "say task by task what would run, and why; run and write nothing"}
}

// DryRunSettings returns set for a dry run: nobody is asked, and only --yes confirms commands that are new to this clone.
func DryRunSettings(set app.Settings, yes bool) app.Settings {
	if set.Consent, set.AskFiles = nil, nil; yes {
		set.Consent = app.Agreed
	}
	return set
}

// TellPlan prints a plan, or its document with --json. If err is not nil, it returns err.
func TellPlan(s *session.Session, plan *app.Plan, err error) error {
	if err != nil {
		return err
	}
	if s.JSON {
		return s.WriteJSON(plan)
	}
	t := PlanTable()
	for _, task := range plan.Tasks {
		AddPlanned(&t, "", task)
	}
	if err := t.Write(s.Terminal); err != nil {
		return err
	}
	for _, l := range plan.Loops {
		in := ""
		if l.CalledRunID != "" {
			in = " of run " + plain.Text(l.CalledRunID)
		}
		s.Note("loop %s%s goes on until %s, at most %s: depends on %s", plain.Text(l.ID), in, plain.Text(l.Until), plain.Count(l.Max, "iteration"), plain.Text(l.DependsOn))
	}
	if plan.FilesChanged > 0 {
		s.Note("%s would change", plain.Count(plan.FilesChanged, "file"))
	}
	s.Note("%s; nothing was run or written", CountPlanned(plan))
	return nil
}

// PlanTable returns an empty table for the tasks of a plan.
func PlanTable() term.Table {
	return term.Table{Header: []string{"TASK", "DOES", "LAST TIME", "WHY"}, Spare: []string{"LAST TIME"}}
}

// AddPlanned adds rows for a task of a plan. in begins its name.
func AddPlanned(t *term.Table, in string, task app.PlannedTask) {
	addPlanned(t, in, task.PlannedTask, tellCost(task.Last))
}

// addPlanned adds a row for a task, and for the tasks of the run that it calls. in begins their names.
func addPlanned(t *term.Table, in string, task engine.PlannedTask, last string) {
	t.Add(term.Cell{Text: in + task.Name}, term.Cell{Text: task.Action.Words()}, term.Cell{Text: last}, term.Cell{Text: task.Reason})
	for _, called := range task.CalledTasks {
		addPlanned(t, in+task.Name+" > ", called, "")
	}
}

// CountPlanned returns how many tasks a plan has for each action, and what those that run took last time.
func CountPlanned(plan *app.Plan) string {
	var parts []string
	tasks := 0
	for _, do := range engine.Actions() {
		if n := plan.Counts[do]; n > 0 {
			tasks += n
			parts = append(parts, fmt.Sprintf("%d %s", n, do.Words()))
		}
	}
	if last := tellCost(plan.Last); last != "" {
		parts = append(parts, "last time "+last)
	}
	return plain.Count(tasks, "task") + ": " + strings.Join(parts, ", ")
}

// tellCost returns what attempts took, for people; "" for nil.
func tellCost(c *app.Cost) string {
	if c == nil {
		return ""
	}
	text := display.Took(c.TookMs)
	if c.Usage != nil {
		text += ", " + display.Tokens(c.Usage.Tokens())
		if c.Usage.CostUSD > 0 {
			text += ", " + plain.Cost(c.Usage.CostUSD)
		}
	}
	return text
}
