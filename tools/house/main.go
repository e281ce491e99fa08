// House checks the shape of the code against testdata/house.txt, and prints each growth.
//
// Usage: make house, or HOUSE=-update make house, which writes the table anew.
//
// The table has a row for each package, from the top of the house to its bottom: code lines (neither blank nor comment), files, methods of
// the type with the most methods, and the packages that it imports. A package imports packages of later rows only. Tests are not counted.
// A change that adds lines beyond the row, files, methods or an import also changes the table (-update), so that a reader of the commit
// sees it. An exported name must be used outside of tests, or by an Example.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const (
	module    = "github.com/git-smithers/git-smithers/"
	table     = "../testdata/house.txt"
	mostFiles = 45 // of a package
	mostOfOne = 45 // methods of a type
)

const head = `# The packages from the top of the house to its bottom: code lines, files, methods of the widest type, imports.
# HOUSE=-update make house writes it anew; docs/architecture.md says what the packages are for.
`

// row describes a package.
type row struct {
	name                  string
	lines, files, methods int
	widest                string
	imports               []string
}

// house is what the files of the module have.
type house struct {
	rows     map[string]*row
	methods  map[string][]string       // the receivers of a package's methods, one for each
	exported map[string]token.Position // by name, where one of the packages declares it
	used     map[string]bool           // names that occur outside of tests and other than where they are declared
}

func main() {
	update := flag.Bool("update", false, "write the table")
	flag.Parse()
	h := &house{map[string]*row{}, map[string][]string{}, map[string]token.Position{}, map[string]bool{}}
	err := filepath.WalkDir("..", h.visit)
	h.measureTypes()
	was, order := readTable()
	if err == nil && *update {
		err = os.WriteFile(table, []byte(head+h.text(order)), 0o666)
		was, order = readTable()
	}
	faults := h.faults(was, order)
	if err != nil {
		faults = []string{err.Error()}
	}
	total := 0
	for _, r := range h.rows {
		total += r.lines
	}
	fmt.Printf("%d lines of code in %d packages\n", total, len(h.rows))
	if len(faults) > 0 {
		fmt.Fprintln(os.Stderr, strings.Join(faults, "\n"))
		os.Exit(1)
	}
}

// visit counts one file.
func (h *house) visit(path string, d os.DirEntry, err error) error {
	if err != nil {
		return err
	}
	if d.IsDir() && path != ".." && (strings.HasPrefix(d.Name(), ".") || slices.Contains([]string{"tools", "testdata", "node_modules"}, d.Name())) {
		return filepath.SkipDir
	}
	example := d.Name() == "example_test.go"
	if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") && !example {
		return nil
	}
	files := token.NewFileSet()
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	file, err := parser.ParseFile(files, path, text, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	name, err := filepath.Rel("..", filepath.Dir(path))
	if err != nil {
		return err
	}
	if h.rows[name] == nil {
		h.rows[name] = &row{name: name}
	}
	r := h.rows[name]
	h.names(files, file, strings.HasSuffix(name, "test"))
	if example {
		return nil
	}
	h.methods[name] = append(h.methods[name], receivers(file)...)
	r.files++
	r.lines += codeLines(text)
	for _, i := range file.Imports {
		if path, _ := strconv.Unquote(i.Path.Value); strings.HasPrefix(path, module) && !slices.Contains(r.imports, path[len(module):]) {
			r.imports = append(r.imports, path[len(module):])
		}
	}
	slices.Sort(r.imports)
	return nil
}

// codeLines returns the number of lines that have a token, or a part of one, and not only comments.
func codeLines(text []byte) int {
	files, lines := token.NewFileSet(), map[int]bool{}
	var s scanner.Scanner
	file := files.AddFile("", -1, len(text))
	s.Init(file, text, nil, 0)
	for {
		at, tok, lit := s.Scan()
		switch {
		case tok == token.EOF:
			return len(lines)
		case tok == token.SEMICOLON && lit == "\n": // added by the scanner
			continue
		}
		for n := range 1 + strings.Count(lit, "\n") {
			lines[file.Line(at)+n] = true
		}
	}
}

// names notes the exported names that a file declares, and the names that it uses. A package of tests declares none.
func (h *house) names(files *token.FileSet, file *ast.File, tests bool) {
	declared := map[*ast.Ident]bool{}
	declare := func(id *ast.Ident) {
		declared[id] = true
		if id.IsExported() && !tests && file.Name.Name != "main" && !strings.HasSuffix(file.Name.Name, "_test") {
			h.exported[id.Name] = files.Position(id.Pos())
		}
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			declare(d.Name)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					declare(spec.Name)
				case *ast.ValueSpec:
					for _, id := range spec.Names {
						declare(id)
					}
				}
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && !declared[id] {
			h.used[id.Name] = true
		}
		return true
	})
}

// ofLanguage are methods that Go's own packages and libraries call.
var ofLanguage = strings.Fields("Visit String Error Unwrap Is As MarshalJSON UnmarshalJSON MarshalText UnmarshalText MarshalJSONTo UnmarshalJSONFrom Len Less Swap Read Write Close GoString Format Init SetStdin SetStdout SetStderr")

// receivers returns the type of each method that a file declares.
func receivers(file *ast.File) (types []string) {
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Recv == nil {
			continue
		}
		of := f.Recv.List[0].Type
		if star, ok := of.(*ast.StarExpr); ok {
			of = star.X
		}
		if generic, ok := of.(*ast.IndexExpr); ok {
			of = generic.X
		}
		if id, ok := of.(*ast.Ident); ok {
			types = append(types, id.Name)
		}
	}
	return types
}

// measureTypes finds the widest type of each package.
func (h *house) measureTypes() {
	for name, types := range h.methods {
		count := map[string]int{}
		for _, one := range types {
			count[one]++
		}
		for one, n := range count {
			if r := h.rows[name]; n > r.methods || n == r.methods && one < r.widest {
				r.methods, r.widest = n, one
			}
		}
	}
}

// text returns the rows. Known packages keep their order, and a new one stands above the first package that it imports.
func (h *house) text(order []string) string {
	order = slices.DeleteFunc(order, func(name string) bool { return h.rows[name] == nil })
	for _, name := range slices.Sorted(maps.Keys(h.rows)) {
		order = h.place(order, name)
	}
	var out strings.Builder
	for _, name := range order {
		r := h.rows[name]
		fmt.Fprintln(&out, strings.TrimSpace(fmt.Sprintf("%s %d %d %d %s", name, r.lines, r.files, r.methods, strings.Join(r.imports, " "))))
	}
	return out.String()
}

// place adds a package that is not in the order, after those that it imports have their places.
func (h *house) place(order []string, name string) []string {
	if slices.Contains(order, name) || h.rows[name] == nil {
		return order
	}
	for _, below := range h.rows[name].imports {
		order = h.place(order, below)
	}
	at := slices.IndexFunc(order, func(other string) bool { return slices.Contains(h.rows[name].imports, other) })
	if at < 0 {
		at = len(order)
	}
	return slices.Insert(order, at, name)
}

// readTable reads the rows, and the order of their packages.
func readTable() (rows map[string]*row, order []string) {
	rows = map[string]*row{}
	file, err := os.Open(table)
	if err != nil {
		return rows, nil
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		a := strings.Fields(lines.Text())
		if len(a) < 4 || a[0] == "#" {
			continue
		}
		r := &row{name: a[0], imports: a[4:]}
		r.lines, _ = strconv.Atoi(a[1])
		r.files, _ = strconv.Atoi(a[2])
		r.methods, _ = strconv.Atoi(a[3])
		if rows[r.name] == nil { // a merge may leave a row twice
			order = append(order, r.name)
		}
		rows[r.name] = r
	}
	return rows, order
}

// faults says what grew, which imports point up, and which exported names only tests use.
func (h *house) faults(was map[string]*row, order []string) (faults []string) {
	fault := func(format string, a ...any) { faults = append(faults, fmt.Sprintf(format, a...)) }
	for _, name := range slices.Sorted(maps.Keys(h.rows)) {
		r, before := h.rows[name], was[name]
		if before == nil {
			fault("%s: a new package: HOUSE=-update make house", name)
			continue
		}
		grew := func(what string, is, was, most int) {
			if is > was && is > most {
				fault("%s: %d %s instead of %d: if there is a reason, HOUSE=-update make house, and say the reason in the commit", name, is, what, was)
			}
		}
		grew("lines", r.lines, before.lines, 0)
		grew("files", r.files, before.files, mostFiles)
		grew("methods of "+r.widest, r.methods, before.methods, mostOfOne)
		for _, path := range r.imports {
			if !slices.Contains(before.imports, path) {
				fault("%s imports %s: if there is a reason, HOUSE=-update make house, and say the reason in the commit", name, path)
			}
			if slices.Index(order, path) < slices.Index(order, name) {
				fault("%s imports %s, which is above it in the table", name, path)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(h.exported)) {
		if !h.used[name] && !slices.Contains(ofLanguage, name) {
			fault("%s: nothing but tests uses %s", strings.TrimPrefix(h.exported[name].String(), "../"), name)
		}
	}
	return faults
}
