package code

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// What is read of modules at most. Beyond it, nothing is said.
const (
	mostModules   = 2000
	largestModule = 8 << 20
)

var (
	errUnclear  = errors.New("what a module imports cannot be told for certain")
	errNoModule = errors.New("a module is not there")
)

// GraphHash returns the hash by which Smithers knows a workflow file with all modules that the file imports by relative
// paths. The hash covers their absolute paths and contents. hash is "" if a module does not exist, because Smithers then
// has no hash. known is false if the imports cannot be read for certain.
func GraphHash(workflow string) (hash string, known bool) {
	g := moduleGraph{hashes: make(map[string]string)}
	switch err := g.add(filepath.Clean(workflow)); {
	case errors.Is(err, errNoModule):
		return "", true
	case err != nil:
		return "", false
	}
	return g.hash(), true
}

// moduleGraph has the hashes of modules' contents by their paths.
type moduleGraph struct{ hashes map[string]string }

// add reads a module and those that it imports.
func (g *moduleGraph) add(file string) error {
	if _, known := g.hashes[file]; known {
		return nil
	}
	if len(g.hashes) == mostModules {
		return errUnclear
	}
	source, err := readModule(file)
	if err != nil {
		return err
	}
	g.hashes[file] = Sum(source)
	specifiers, ok := importsOf(file, source)
	if !ok {
		return errUnclear
	}
	var missing error
	for _, specifier := range specifiers {
		module, err := findModule(filepath.Join(filepath.Dir(file), specifier))
		if err == nil {
			err = g.add(module)
		}
		switch {
		case errors.Is(err, errNoModule):
			missing = err // unless something else cannot be told
		case err != nil:
			return err
		}
	}
	return missing
}

// readModule reads a file as text. What is no UTF-8 is text to Smithers in its own way.
func readModule(file string) (string, error) {
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", errNoModule
	case err != nil || !info.Mode().IsRegular() || info.Size() > largestModule:
		return "", errUnclear
	}
	data, err := os.ReadFile(file)
	if err != nil || !utf8.Valid(data) || strings.HasPrefix(string(data), "\ufeff") {
		return "", errUnclear
	}
	return string(data), nil
}

// findModule finds the file that a relative path is for.
func findModule(path string) (string, error) {
	extensions := []string{".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs"}
	candidates := []string{path}
	for _, extension := range extensions {
		candidates = append(candidates, path+extension)
	}
	for _, extension := range extensions {
		candidates = append(candidates, filepath.Join(path, "index"+extension))
	}
	for _, candidate := range candidates {
		if info, err := os.Stat(candidate); err == nil && info.Mode().IsRegular() {
			return candidate, nil
		}
	}
	return "", errNoModule
}

// hash is the hash over all modules, in the order in which JavaScript sorts texts.
func (g *moduleGraph) hash() string {
	entries := make([]string, 0, len(g.hashes))
	for file, sum := range g.hashes {
		entries = append(entries, file+":"+sum)
	}
	slices.SortFunc(entries, func(a, b string) int {
		return cmp.Or(slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b))), cmp.Compare(a, b))
	})
	return Sum(strings.Join(entries, "|"))
}
