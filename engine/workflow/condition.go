package workflow

import (
	"errors"
	"fmt"
	"slices"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	exprparser "github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/vm"

	"github.com/git-smithers/git-smithers/internal/plain"
)

// Limits of an expression.
const (
	maxConditionBytes  = 4096
	maxConditionNodes  = 1000
	maxConditionMemory = 100_000 // elements that it may allocate
	maxShownResult     = 100     // bytes of a result quoted in an error
)

// expression is a compiled expression over a run's data. Safe for concurrent use.
type expression struct {
	program *vm.Program
	Refs    []OutputRef
}

// Condition is an expression with a boolean result.
type Condition struct{ expression }

// OutputRef is an output that an expression reads. For outputs.T, node is "" until the
// workflow determines which task writes T.
type OutputRef struct {
	Table, Node string
}

// compileCondition compiles an expression over input, outputs, output() and, in a
// loop, iteration. A member of null is null, and null is false.
func compileCondition(text string, inLoop bool) (*Condition, error) {
	// An expression that is known not to be boolean is an error here; others fail when they run.
	e, err := compileExpression(text, conditionEnv(map[string]any{}, map[string]any{}, nil, inLoop, 0), expr.AsBool())
	if err != nil {
		return nil, err
	}
	return &Condition{*e}, nil
}

// compileExpression compiles an expression over the names in env. The expression must also compile
// with check, which does not change the result.
func compileExpression(text string, env map[string]any, check ...expr.Option) (*expression, error) {
	if len(text) > maxConditionBytes {
		return nil, fmt.Errorf("longer than %d bytes", maxConditionBytes)
	}
	tree, err := exprparser.Parse(text)
	if err != nil {
		return nil, errors.New(firstLine(err.Error()))
	}
	var found refFinder
	ast.Walk(&tree.Node, &found)
	if err := found.check(); err != nil {
		return nil, err
	}
	options := []expr.Option{
		expr.Env(env),
		expr.MaxNodes(maxConditionNodes),
		expr.DisableBuiltin("now"), // equal state must give an equal answer
		expr.Patch(nullSafe{}),
	}
	if _, err := expr.Compile(text, append(slices.Clip(options), check...)...); err != nil {
		return nil, errors.New(firstLine(err.Error()))
	}
	program, err := expr.Compile(text, options...)
	if err != nil {
		return nil, errors.New(firstLine(err.Error()))
	}
	return &expression{program: program, Refs: found.refs}, nil
}

// Eval evaluates the condition. outputs maps each ref's table and node to its value.
func (c *Condition) Eval(input map[string]any, outputs map[OutputRef]any, inLoop bool, iteration int) (bool, error) {
	tables, read := c.reading(outputs)
	value, err := c.run(conditionEnv(input, tables, read, inLoop, iteration))
	if err != nil {
		return false, err
	}
	switch v := value.(type) {
	case nil:
		return false, nil
	case bool:
		return v, nil
	}
	return false, fmt.Errorf("the result is %s, neither true nor false", plain.Cut(fmt.Sprintf("%q", fmt.Sprint(value)), maxShownResult))
}

// reading returns the outputs by the names that expressions use: outputs and output().
func (e *expression) reading(outputs map[OutputRef]any) (tables map[string]any, read func(table, node string) any) {
	tables = make(map[string]any)
	for _, ref := range e.Refs {
		if ref.Node == "" {
			tables[ref.Table] = outputs[ref]
		}
	}
	return tables, func(table, node string) any { return outputs[OutputRef{table, node}] }
}

func (e *expression) run(env map[string]any) (any, error) {
	machine := vm.VM{MemoryBudget: maxConditionMemory}
	value, err := machine.Run(e.program, env)
	if err != nil {
		return nil, errors.New(firstLine(err.Error()))
	}
	return value, nil
}

// conditionEnv returns the names that a condition can use, with their values.
func conditionEnv(input, outputs map[string]any, read func(table, node string) any, inLoop bool, iteration int) map[string]any {
	if read == nil {
		read = func(string, string) any { return nil }
	}
	env := map[string]any{"input": input, "outputs": outputs, "output": read}
	if inLoop {
		env["iteration"] = iteration
	}
	return env
}

// refFinder collects the outputs that an expression reads. Names must be constant, so that a
// condition's dependencies are known when the file is loaded.
type refFinder struct {
	refs           []OutputRef
	outputs, calls int // occurrences of the two names in an allowed form
	names, callees int // all occurrences
	badCall        bool
}

// Visit is called for every node of the expression.
func (f *refFinder) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.IdentifierNode:
		switch n.Value {
		case "outputs":
			f.names++
		case "output":
			f.callees++
		}
	case *ast.MemberNode:
		if name, ok := n.Node.(*ast.IdentifierNode); ok && name.Value == "outputs" {
			if table, ok := n.Property.(*ast.StringNode); ok {
				f.outputs++
				f.refs = append(f.refs, OutputRef{Table: table.Value})
			}
		}
	case *ast.CallNode:
		if name, ok := n.Callee.(*ast.IdentifierNode); ok && name.Value == "output" {
			f.calls++
			f.call(n.Arguments)
		}
	}
}

// call records a call of output(), whose arguments must be two constant texts.
func (f *refFinder) call(args []ast.Node) {
	if len(args) != 2 {
		f.badCall = true
		return
	}
	table, ok1 := args[0].(*ast.StringNode)
	node, ok2 := args[1].(*ast.StringNode)
	if !ok1 || !ok2 {
		f.badCall = true
		return
	}
	f.refs = append(f.refs, OutputRef{table.Value, node.Value})
}

// check returns an error if the expression uses outputs or output() in a form whose table or task is not constant.
func (f *refFinder) check() error {
	switch {
	case f.names != f.outputs:
		return errors.New("outputs must be followed by the name of a table, as in outputs.verdict")
	case f.badCall || f.callees != f.calls:
		return errors.New("output takes two texts, as in output('verdict', 'check')")
	}
	return nil
}

// nullSafe rewrites an expression so that a member of null is null, and null is false where a
// boolean is expected.
type nullSafe struct{}

// Visit is called for every node, inner nodes first.
func (nullSafe) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.MemberNode:
		if !n.Optional {
			n.Optional = true
			ast.Patch(node, &ast.ChainNode{Node: n})
		}
	case *ast.UnaryNode:
		if n.Operator == "!" || n.Operator == "not" {
			n.Node = orFalse(n.Node)
		}
	case *ast.BinaryNode:
		switch n.Operator {
		case "and", "&&", "or", "||":
			n.Left, n.Right = orFalse(n.Left), orFalse(n.Right)
		}
	}
}

// orFalse returns n, with a null result replaced by false.
func orFalse(n ast.Node) ast.Node {
	switch n.(type) {
	case *ast.ChainNode, *ast.CallNode:
		return &ast.BinaryNode{Operator: "??", Left: n, Right: &ast.BoolNode{Value: false}}
	}
	return n
}
