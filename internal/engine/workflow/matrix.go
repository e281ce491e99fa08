package workflow

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Bounds of a matrix.
const (
	maxCells = 1000
	maxAxes  = 20
)

// Cell is a place in a task's matrix: the name and the value of each axis, in the order of the file.
type Cell []AxisValue

// AxisValue is the value of an axis of a matrix.
type AxisValue struct{ Axis, Value string }

// String returns the cell for people, such as "os=linux go=1.26".
func (c Cell) String() string {
	parts := make([]string, len(c))
	for i, v := range c {
		parts[i] = v.Axis + "=" + v.Value
	}
	return strings.Join(parts, " ")
}

// matrixVariable begins the names of the variables that tell a command its cell.
const matrixVariable = "MATRIX_"

// env returns the variables that tell a command its cell.
func (c Cell) env() []string {
	env := make([]string, len(c))
	for i, v := range c {
		env[i] = matrixVariable + strings.ToUpper(v.Axis) + "=" + v.Value
	}
	return env
}

// id returns the id of the task of the cell. What cannot be in an id becomes a hyphen.
func (c Cell) id(task string) string {
	var id strings.Builder
	id.WriteString(task)
	for _, v := range c {
		id.WriteByte('.')
		strange := false // of several, one hyphen stays
		for _, r := range v.Value {
			known := r == '_' || r == '.' || r == '-' || r < 0x80 && (r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z')
			if known {
				id.WriteRune(r)
			} else if !strange {
				id.WriteByte('-')
			}
			strange = !known
		}
	}
	return id.String()
}

// matrix reads the key matrix of a task: a mapping of axes to lists of values. The result has the cells in the order of the file, the last axis
// changing fastest.
func (p *values) matrix(n *yaml.Node) []Cell {
	keys, axes := p.mapping(n, "matrix", nil)
	if p.err != nil {
		return nil
	}
	if len(keys) == 0 || len(keys) > maxAxes {
		p.fail(n, `for example matrix: {go: ["1.25", "1.26"], os: [linux, darwin]}`, "matrix must have from 1 to %d axes", maxAxes)
		return nil
	}
	cells := []Cell{nil}
	for _, key := range keys {
		if !envName.MatchString(key.Value) {
			p.fail(key, "use letters, digits and _", "%q cannot be the name of an axis", key.Value)
			return nil
		}
		values := p.list(axes[key.Value], "axis "+key.Value)
		if p.err == nil && len(values) == 0 {
			p.fail(key, "", "axis %s has no values", key.Value)
		}
		if p.err == nil && len(cells)*len(values) > maxCells {
			p.fail(n, "", "matrix has more than %d cells", maxCells)
		}
		var next []Cell
		for _, cell := range cells {
			for _, item := range values {
				if p.err != nil {
					return nil
				}
				next = append(next, append(slices.Clip(cell), AxisValue{key.Value, p.text(item, "a value of axis "+key.Value)}))
			}
		}
		cells = next
	}
	return cells
}

// addCells adds a task for each cell of the task t, in its place. n is the mapping of t. If a cell has no id of its own, or cells would share
// a worktree, addCells reports a flaw.
func (p *parser) addCells(n *yaml.Node, t *Task, cells []Cell, loop *Loop) {
	if w := t.Worktree; w != nil && len(cells) > 1 && (w.Path != "" && !strings.Contains(w.Path, taskPlaceholder) || w.Branch != "" && !strings.Contains(w.Branch, taskPlaceholder)) {
		p.part(func() {
			p.fail(n, "add {task} to its path and branch, which is replaced by the task's id", "the cells of task %s would share a worktree", t.ID)
		})
		return
	}
	var ids []string
	for _, cell := range cells {
		of := *t
		of.ID, of.Matrix, of.CellOf = cell.id(t.ID), cell, t.ID
		of.Env = joinEnv(t.Env, cell.env())
		of.Needs, of.Scorers = slices.Clone(t.Needs), slices.Clone(t.Scorers)
		if t.Cache != nil {
			kept := *t.Cache
			kept.By = slices.Clone(kept.By)
			of.Cache = &kept
		}
		p.part(func() {
			p.checkName(n, of.ID)
			if p.err == nil {
				ids = append(ids, of.ID)
				p.sandboxed[&of] = p.sandboxed[t]
				p.add(&of, loop)
			}
		})
	}
	p.cells[t.ID] = ids
}

// withCells returns needs with the tasks of all cells in the place of a task with a matrix.
func (c *checker) withCells(needs []string) []string {
	var out []string
	for _, need := range needs {
		if ids, ok := c.cells[need]; ok {
			out = append(out, ids...)
		} else {
			out = append(out, need)
		}
	}
	return out
}
