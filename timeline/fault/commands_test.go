package fault_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	verb = regexp.MustCompile(`%(?:\[(\d+)\])?[-+# 0-9.]*[a-zA-Z]`)
	// quoted is an operand that is quoted, needs no quotes, or is a command or the end of one whose
	// words are quoted where it is made.
	quoted = regexp.MustCompile(`^(fault\.Word\(.*|fault\.CommandLine\(.*|fault\.Program|bringBackCommand\(.*|(arg\.)?Program|c\.line\(\)|startLine\(c\)|m\.Install|near|f\.again\(\)|command|words.*|strings\.Join\((words|lines), .*|p\.engine\.line\(.*|(timeline\.)?DropOlder|.*\.Format|export|worktree|correlation|.*[fF]rame)$`)
)

// inMessages visits every node of the code that writes messages.
func inMessages(t *testing.T, visit func(files *token.FileSet, node ast.Node)) {
	t.Helper()
	for _, folder := range []string{"../../internal", ".."} {
		require.NoError(t, filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "/repotest/") {
				return err
			}
			files := token.NewFileSet()
			file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(node ast.Node) bool {
				visit(files, node)
				return true
			})
			return nil
		}))
	}
}

// A run's id, a path or a node's id may have spaces, or anything else that means something to
// a shell.
func TestCommandsInMessagesHaveTheirWordsQuoted(t *testing.T) {
	t.Parallel()
	found := 0
	inMessages(t, func(files *token.FileSet, node ast.Node) {
		for _, word := range commandWords(node) {
			found++
			assert.Regexp(t, quoted, types.ExprString(word), "%v", files.Position(word.Pos()))
		}
	})
	assert.Greater(t, found, 50)
}

// commandWords are the operands that stand between backquotes, in a call with a format and in texts that are added.
func commandWords(node ast.Node) []ast.Expr {
	switch node := node.(type) {
	case *ast.CallExpr:
		for i, arg := range node.Args {
			if format, operands := joined(arg); len(operands) == 0 && strings.Contains(format, "`") {
				return formatted(format, node.Args[i+1:])
			}
		}
	case *ast.BinaryExpr:
		format, operands := joined(node)
		return formatted(format, operands)
	}
	return nil
}

// formatted are the operands of a format that stand between backquotes.
func formatted(format string, operands []ast.Expr) []ast.Expr {
	var words []ast.Expr
	next := 0
	for _, at := range verb.FindAllStringSubmatchIndex(strings.ReplaceAll(format, "%%", "  "), -1) {
		if at[2] >= 0 {
			next, _ = strconv.Atoi(format[at[2]:at[3]])
			next--
		}
		if strings.Count(format[:at[0]], "`")%2 == 1 && next < len(operands) {
			words = append(words, operands[next])
		}
		next++
	}
	return words
}

// joined is a text that is put together as a format, and the operands of that.
func joined(expr ast.Expr) (format string, operands []ast.Expr) {
	switch e := expr.(type) {
	case *ast.BasicLit:
		if text, err := strconv.Unquote(e.Value); err == nil && e.Kind == token.STRING {
			return text, nil
		}
	case *ast.BinaryExpr:
		if e.Op == token.ADD {
			format, operands = joined(e.X)
			more, others := joined(e.Y)
			return format + more, append(operands, others...)
		}
	}
	return "%s", []ast.Expr{expr}
}

// placeholder is what usage lines have for a word that somebody is to fill in. A shell takes it for redirections.
var placeholder = regexp.MustCompile("`[^`]*<[a-z][a-z.]*>[^`]*`")

// A command in a message can be pasted: what is to be filled in is in capitals.
func TestCommandsInMessagesRedirectNothing(t *testing.T) {
	t.Parallel()
	found := 0
	inMessages(t, func(files *token.FileSet, node ast.Node) {
		literal, ok := node.(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING {
			return
		}
		text, err := strconv.Unquote(literal.Value)
		if err == nil && strings.Contains(text, "`") && !strings.Contains(text, " -h` ") && !strings.Contains(text, "help <page>") {
			found++
			assert.NotRegexp(t, placeholder, text, "%v", files.Position(literal.Pos()))
		}
	})
	assert.Greater(t, found, 50)
}
