package comparison

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/git-smithers/git-smithers/internal/app/stateexpr"
	"github.com/git-smithers/git-smithers/internal/lazyregexp"
	"github.com/git-smithers/git-smithers/timeline"
)

// plainNames matches the names of outputs that need no expression.
var plainNames = lazyregexp.New(`^[A-Za-z0-9_.-]+$`)

// chooseBy sets By, and the value of each run if it is that of an expression. A text that names an output of a run is this output, and otherwise an
// expression. A run for which the expression is no number has no value, and warn gets the first such error. Code: invalid_expression if the text is neither the name of an output nor an expression.
func (c *Comparison) chooseBy(warn func(error), o Options, rows []map[string]newestRow) error {
	text := o.By
	if text == "" {
		return nil
	}
	by := columnOf(text, rows)
	c.By, c.Outputs = &by, append(c.Outputs, by)
	has := func(run map[string]newestRow) bool { return by.in(run[by.Table].value) != nil }
	if slices.ContainsFunc(rows, has) {
		return nil
	}
	expression, err := stateexpr.Compile("by", text)
	if err != nil && plainNames.MatchString(text) {
		return nil // a warning says that no run has the output
	}
	if err != nil {
		return err
	}
	lenient := stateexpr.Lenient(warn)
	for _, run := range c.Runs {
		values, err := stateexpr.Of(timeline.Address{Run: run.Row.ID, Frame: run.Row.Frame}, run.Entry)
		if err != nil {
			return err
		}
		maps.Copy(values.Scores, o.Scores[run.Row.ID])
		n, ok, err := expression.Number(values)
		if err = lenient(err); err != nil {
			return err
		}
		if !ok {
			continue
		}
		if run.Outputs[text], err = json.Marshal(n); err != nil {
			return err
		}
		c.computed = true
	}
	if c.computed {
		c.By = &Column{Table: text}
		c.Outputs[len(c.Outputs)-1] = *c.By
	}
	return nil
}
