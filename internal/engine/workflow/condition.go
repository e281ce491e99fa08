package workflow

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	exprparser "github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/vm"

	"github.com/git-smithers/git-smithers/internal/plain"
)

// Limits of an expression.
const (
	maxConditionBytes  = 4096    // of the text
	maxConditionNodes  = 1000    // of the syntax tree
	maxConditionMemory = 100_000 // elements that an evaluation may allocate
	maxShownResult     = 100     // bytes of a result that an error quotes
)

// expression is a compiled expression over a run's data. Safe for concurrent use.
type expression struct {
	program *vm.Program
	Refs    []OutputRef // the outputs that the expression reads
	Members []MemberRef // the members of outputs that it names
}

// Condition is an expression with a boolean result.
type Condition struct {
	expression

	afterFailure bool // it calls failed or always
}

// OutputRef is an output that an expression reads. For output('T', 'N'), Node is N. For outputs.T, Node is "",
// which means the only task that writes T.
type OutputRef struct {
	Table, Node string
}

// MemberRef is a member of an output that an expression names, such as outputs.T.M.
type MemberRef struct {
	Table, Member string
}

// compileCondition compiles an expression over input, outputs, output() and, if inLoop is true, iteration. It refuses
// an expression whose result cannot be boolean. In the expression, reading a member of null yields null. A condition
// with the result null is false.
func compileCondition(text string, inLoop bool) (*Condition, error) {
	// AsBool refuses an expression whose result cannot be boolean. Any other wrong result is an error of Eval.
	env := conditionEnv(map[string]any{}, map[string]any{}, nil, inLoop, 0)
	after := !inLoop && asksForFailure(text)
	if after {
		setFailed(env, false)
	}
	e, err := compileExpression(text, env, expr.AsBool())
	if err != nil {
		return nil, err
	}
	return &Condition{*e, after}, nil
}

// setFailed adds the functions that say whether something has failed.
func setFailed(env map[string]any, failed bool) {
	env["failed"] = func() bool { return failed }
	env["always"] = func() bool { return true }
}

// asksForFailure reports whether an expression calls failed or always.
func asksForFailure(text string) bool {
	if len(text) > maxConditionBytes {
		return false
	}
	tree, err := exprparser.Parse(text)
	if err != nil {
		return false
	}
	var found failureFinder
	ast.Walk(&tree.Node, &found)
	return bool(found)
}

// failureFinder is true once it has visited a call of failed or always.
type failureFinder bool

// Visit looks at one node.
func (f *failureFinder) Visit(node *ast.Node) {
	if call, ok := (*node).(*ast.CallNode); ok {
		name, ok := call.Callee.(*ast.IdentifierNode)
		*f = *f || failureFinder(ok && (name.Value == "failed" || name.Value == "always"))
	}
}

// compileExpression compiles an expression over the names in env. The expression must also compile with the options
// in check, which do not apply to the returned expression.
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
		expr.DisableBuiltin("now"), // the result must depend on the run's state only
		expr.Patch(nullSafe{}),
	}
	if _, err := expr.Compile(text, append(slices.Clip(options), check...)...); err != nil {
		return nil, errors.New(firstLine(err.Error()))
	}
	program, err := expr.Compile(text, options...)
	if err != nil {
		return nil, errors.New(firstLine(err.Error()))
	}
	return &expression{program, found.refs, found.members}, nil
}

// Eval reports whether the condition holds. A condition with the result null does not hold. outputs maps the elements
// of Refs to values, and a missing value is null. If inLoop is true, the condition can read iteration. Eval returns
// an error if the evaluation fails, or if the result is neither boolean nor null. failed is what the function failed returns.
func (c *Condition) Eval(input map[string]any, outputs map[OutputRef]any, inLoop bool, iteration int, failed bool) (bool, error) {
	tables, read := c.reading(outputs)
	env := conditionEnv(input, tables, read, inLoop, iteration)
	if c.afterFailure {
		setFailed(env, failed)
	}
	value, err := c.run(env)
	if err != nil {
		return false, err
	}
	return truth(value)
}

// describe returns the result of an expression in words for a message: "a mapping", "a list", or the quoted value, cut
// at maxShownResult.
func describe(value any) string {
	switch reflect.ValueOf(value).Kind() {
	case reflect.Map:
		return "a mapping"
	case reflect.Slice, reflect.Array:
		return "a list"
	default:
		return plain.Cut(fmt.Sprintf("%q", fmt.Sprint(value)), maxShownResult)
	}
}

// reading returns the values of the two names by which the expression reads outputs. The parameter outputs maps
// references to their outputs.
//   - tables is the value of the name outputs. It has, by table, the output of each reference that names no node.
//   - read is the function output(). It returns the output of a reference that names a node, or nil if the parameter
//     outputs lacks the reference.
func (e *expression) reading(outputs map[OutputRef]any) (tables map[string]any, read func(table, node string) any) {
	tables = make(map[string]any)
	for _, ref := range e.Refs {
		if ref.Node == "" {
			tables[ref.Table] = outputs[ref]
		}
	}
	return tables, func(table, node string) any { return outputs[OutputRef{table, node}] }
}

// run evaluates the expression over env, within maxConditionMemory. An error has the first line of the library's
// message.
func (e *expression) run(env map[string]any) (any, error) {
	machine := vm.VM{MemoryBudget: maxConditionMemory}
	value, err := machine.Run(e.program, env)
	if err != nil {
		return nil, errors.New(firstLine(err.Error()))
	}
	return value, nil
}

// conditionEnv returns the names that a condition can use, with their values. read is the function output(). If read is
// nil, output() returns null for every output. If inLoop is false, the name iteration is missing.
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
	members        []MemberRef
	outputs, calls int  // occurrences of outputs and of output() in an allowed form
	names, callees int  // all occurrences of outputs and of output
	badCall        bool // a call of output() does not have two constant texts
}

// Visit records in f.refs the outputs that the expression reads. It also counts the uses of the names outputs and
// output, and the uses in a valid form, so that check can compare the counts. The library calls Visit for every node.
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
		if table := tableOf(n); table != "" {
			f.outputs++
			f.refs = append(f.refs, OutputRef{Table: table})
		} else if member, ok := n.Property.(*ast.StringNode); ok && tableOf(n.Node) != "" {
			f.members = append(f.members, MemberRef{tableOf(n.Node), member.Value})
		}
	case *ast.CallNode:
		if name, ok := n.Callee.(*ast.IdentifierNode); ok && name.Value == "output" {
			f.calls++
			f.call(n.Arguments)
		}
	}
}

// tableOf returns the table of an output that a node reads, or "" if it is no output.
func tableOf(node ast.Node) string {
	switch n := node.(type) {
	case *ast.ChainNode: // of ?.
		return tableOf(n.Node)
	case *ast.MemberNode:
		name, ok := n.Node.(*ast.IdentifierNode)
		table, constant := n.Property.(*ast.StringNode)
		if ok && constant && name.Value == "outputs" {
			return table.Value
		}
	case *ast.CallNode:
		if name, ok := n.Callee.(*ast.IdentifierNode); ok && name.Value == "output" && len(n.Arguments) == 2 {
			if table, ok := n.Arguments[0].(*ast.StringNode); ok {
				return table.Value
			}
		}
	}
	return ""
}

// call records the output that a call of output() reads. args are the arguments of the call. If args are not two
// constant texts, call sets f.badCall, which check reports.
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

// Visit rewrites one node for expressions with null. A member access on null yields null. If an operand of the
// operators "not", "and" or "or" is null, the operand counts as false. Visit leaves every other node unchanged. The
// library calls Visit for every node, inner nodes first.
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

// orFalse returns a member access or a call as an expression that is false if n is null, and otherwise n. It returns
// every other node unchanged.
func orFalse(n ast.Node) ast.Node {
	switch n.(type) {
	case *ast.ChainNode, *ast.CallNode:
		return &ast.BinaryNode{Operator: "??", Left: n, Right: &ast.BoolNode{Value: false}}
	}
	return n
}
