// Api lists what the promised packages export, and compares the lists with those in testdata/api.
//
// Usage: make api, or API=-update make api, which writes the lists anew.
//
// A line is one thing that a program can name: a function, a type, a method, a field, a constant with its value. A line of the kept list that
// is missing now is an incompatible change, so a program may no longer compile. A line that is new is a promise more. Both change the kept list
// in the same commit, so that a reader of the commit sees what happens to the promise.
package main

import (
	"flag"
	"fmt"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

const (
	module = "github.com/git-smithers/git-smithers/"
	kept   = "../testdata/api"
)

// promised are the packages of docs/library.md.
var promised = []string{"timeline", "timeline/fault", "snapshot", "diff"}

func main() {
	update := flag.Bool("update", false, "write the lists")
	flag.Parse()
	if err := run(*update); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run writes the lists or, if update is false, compares them.
func run(update bool) error {
	var paths []string
	for _, name := range promised {
		paths = append(paths, module+name)
	}
	loaded, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedTypes, Dir: "..",
		Env: append(os.Environ(), "CGO_ENABLED=0"), BuildFlags: []string{"-trimpath", "-tags=urfave_cli_no_docs"},
	}, paths...)
	if err != nil {
		return err
	}
	var faults []string
	for _, pkg := range loaded {
		if len(pkg.Errors) > 0 {
			return pkg.Errors[0]
		}
		name := strings.TrimPrefix(pkg.PkgPath, module)
		file := filepath.Join(kept, strings.ReplaceAll(name, "/", "-")+".txt")
		lines := list(pkg.Types)
		if update {
			if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o666); err != nil {
				return err
			}
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		before := strings.Split(strings.TrimSpace(string(text)), "\n")
		faults = append(faults, missing(name+": incompatible: no longer there: ", before, lines)...)
		faults = append(faults, missing(name+": new: ", lines, before)...)
	}
	if len(faults) == 0 {
		return nil
	}
	return fmt.Errorf("%s\nthe promised packages have changed: if there is a reason, API=-update make api, and say the reason in the commit", strings.Join(faults, "\n"))
}

// missing returns the lines that are not among others, with a prefix.
func missing(prefix string, lines, others []string) (found []string) {
	for _, line := range lines {
		if !slices.Contains(others, line) {
			found = append(found, prefix+line)
		}
	}
	return found
}

// list returns the lines of a package, sorted.
func list(pkg *types.Package) []string {
	l := lister{pkg: pkg}
	for _, name := range pkg.Scope().Names() {
		if of := pkg.Scope().Lookup(name); of.Exported() {
			l.object(of)
		}
	}
	slices.Sort(l.lines)
	return slices.Compact(l.lines)
}

// lister collects the lines of a package.
type lister struct {
	pkg   *types.Package
	lines []string
}

func (l *lister) add(format string, a ...any) { l.lines = append(l.lines, fmt.Sprintf(format, a...)) }

// text returns a type as Go writes it, with the names of other packages.
func (l *lister) text(t types.Type) string {
	return types.TypeString(t, func(of *types.Package) string {
		if of == l.pkg {
			return ""
		}
		return of.Name()
	})
}

// object adds the lines of what an exported name stands for.
func (l *lister) object(of types.Object) {
	switch of := of.(type) {
	case *types.Const:
		l.add("const %s %s = %s", of.Name(), l.text(of.Type()), of.Val().ExactString())
	case *types.Var:
		l.add("var %s %s", of.Name(), l.text(of.Type()))
	case *types.Func:
		l.add("func %s%s", of.Name(), l.signature(of.Signature()))
	case *types.TypeName:
		l.typeName(of)
	}
}

// typeName adds the lines of a type: its kind, its fields and its methods.
func (l *lister) typeName(of *types.TypeName) {
	named, ok := of.Type().(*types.Named)
	if !ok || of.IsAlias() {
		l.add("type %s = %s", of.Name(), l.text(types.Unalias(of.Type())))
		return
	}
	name := of.Name()
	if parameters := named.TypeParams(); parameters.Len() > 0 {
		name = l.text(named)
	}
	if fields, ok := named.Underlying().(*types.Struct); ok {
		l.add("type %s struct", name)
		l.fields(name, fields)
	} else {
		l.add("type %s %s", name, l.text(named.Underlying()))
	}
	if types.IsInterface(named) {
		return
	}
	byValue, all := types.NewMethodSet(named), types.NewMethodSet(types.NewPointer(named))
	for i := range all.Len() {
		method := all.At(i).Obj()
		if !method.Exported() {
			continue
		}
		receiver := "*" + name
		if byValue.Lookup(l.pkg, method.Name()) != nil {
			receiver = name
		}
		l.add("method (%s) %s%s", receiver, method.Name(), l.signature(all.At(i).Type().(*types.Signature)))
	}
}

// fields adds the exported fields of a struct, and those of structs in it that have no exported name.
func (l *lister) fields(name string, of *types.Struct) {
	for i := range of.NumFields() {
		f := of.Field(i)
		within, isStruct := f.Type().Underlying().(*types.Struct)
		switch {
		case f.Exported():
			l.add("field %s.%s %s", name, f.Name(), l.text(f.Type()))
		case f.Embedded() && isStruct:
			l.fields(name, within)
		}
	}
}

// signature returns the parameters and results of a function without their names, which callers do not use.
func (l *lister) signature(of *types.Signature) string {
	var typed []string
	for i := range of.TypeParams().Len() {
		p := of.TypeParams().At(i)
		typed = append(typed, p.Obj().Name()+" "+l.text(p.Constraint()))
	}
	text := ""
	if len(typed) > 0 {
		text = "[" + strings.Join(typed, ", ") + "]"
	}
	parameters := l.tuple(of.Params())
	if n := len(parameters) - 1; of.Variadic() {
		parameters[n] = "..." + strings.TrimPrefix(parameters[n], "[]")
	}
	text += "(" + strings.Join(parameters, ", ") + ")"
	switch results := l.tuple(of.Results()); len(results) {
	case 0:
		return text
	case 1:
		return text + " " + results[0]
	default:
		return text + " (" + strings.Join(results, ", ") + ")"
	}
}

// tuple returns the types of parameters or results.
func (l *lister) tuple(of *types.Tuple) (list []string) {
	for i := range of.Len() {
		list = append(list, l.text(of.At(i).Type()))
	}
	return list
}
