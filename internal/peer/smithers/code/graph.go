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

// The limits of GraphHash. If the modules of a file exceed a limit, known is false.
const (
	mostModules   = 2000
	largestModule = 8 << 20 // bytes
)

var (
	errUnclear  = errors.New("the imports of a module are uncertain")
	errNoModule = errors.New("a module is missing")
)

// GraphHash returns the hash by which Smithers identifies a workflow file together with all modules that the file
// imports by relative paths. The hash covers the modules' absolute paths and contents. If a module does not
// exist, hash is "" and known is true, because Smithers then has no hash. If the imports of a module are
// uncertain, a module cannot be read, or a limit is exceeded, hash is "" and known is false.
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

// moduleGraph collects the hashes of modules' contents by the modules' paths.
type moduleGraph struct{ hashes map[string]string }

// add adds the module whose path is file and, recursively, the modules that it imports. The error is errNoModule
// if a module is missing. The error is errUnclear if the imports of any module are uncertain, a module cannot be
// read, or a limit is exceeded.
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
			missing = err // look at the other modules, because errUnclear takes precedence
		case err != nil:
			return err
		}
	}
	return missing
}

// readModule returns the text of the module whose path is file. The error is errNoModule if file is missing. The
// error is errUnclear if file is too large, is not a regular file or cannot be read. It is also errUnclear if the
// text is not UTF-8 or begins with a byte order mark, because Smithers may decode such a text in another way.
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

// findModule returns the path of the file that an import of path finds. Like Smithers, it tries path itself,
// then path with each known extension, then "index" with each known extension in the folder path. If there is
// no such file, the error is errNoModule.
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

// hash returns the SHA-256, in hex, over the paths and content hashes of all modules. The modules are in the order
// in which JavaScript sorts texts: by the UTF-16 units of their paths.
func (g *moduleGraph) hash() string {
	entries := make([]string, 0, len(g.hashes))
	for file, sum := range g.hashes {
		entries = append(entries, file+":"+sum)
	}
	slices.SortFunc(entries, func(a, b string) int {
		// Paths that differ only in bytes that are not UTF-8 have equal units, so compare their bytes, too.
		return cmp.Or(slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b))), cmp.Compare(a, b))
	})
	return Sum(strings.Join(entries, "|"))
}
