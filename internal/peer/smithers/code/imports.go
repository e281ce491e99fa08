package code

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// importsOf returns the relative paths of the modules that a source file imports, as Smithers finds them. file
// is the path of the source file, and source is its text. Smithers uses Bun's scanner, which leaves out an
// import of types only. ok is false if the result is uncertain.
//
// In a TypeScript or JavaScript file, importsOf parses the import and export statements at the beginning of the
// file. It does not parse the text after these statements, or the text of any other file. If such a text may
// import a module by a relative path, ok is false.
func importsOf(file, source string) (specifiers []string, ok bool) {
	s := importScanner{text: source}
	switch strings.ToLower(filepath.Ext(file)) {
	case ".ts", ".tsx", ".mts", ".cts":
		s.types = true
		s.statements()
	case ".js", ".jsx", ".mjs", ".cjs":
		s.statements()
	}
	return s.found, !s.unclear && !mayImport(s.passed+s.text[s.at:])
}

// importScanner reads the statements at the beginning of a file.
type importScanner struct {
	text  string
	at    int  // the position in text
	types bool // the file is in TypeScript

	found   []string // the relative paths found so far
	unclear bool     // found is uncertain
	passed  string   // comments of a JavaScript file; Smithers sees imports in them if Bun cannot parse the file
}

var (
	space       = pattern(`^[\s\x{feff}]+`)
	comment     = pattern(`(?s)^(//[^\r\n\x{2028}\x{2029}]*|/\*.*?\*/)`)
	directive   = pattern(`^("use [a-z ]+"|'use [a-z ]+')\s*;`)
	importToken = pattern(`^([A-Za-z_$][\w$]*|[{},*])`)
	plainString = pattern(`^("[^"\\\r\n]*"|'[^'\\\r\n]*')`)
	attributes  = pattern(`^\s*\b(with|assert)\s*\{[^{}/\x60]*\}`)
	semicolon   = pattern(`^\s*;`)
)

// pattern returns a function that returns the compiled form of the regular expression text. Only the first call
// compiles it, because most commands never read a workflow of Smithers.
func pattern(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

// take skips the text at the present position that matches a regular expression, and returns the text. compiled is
// a function that pattern returned. If nothing matches at the position, take returns "".
func (s *importScanner) take(compiled func() *regexp.Regexp) string {
	found := compiled().FindString(s.text[s.at:])
	s.at += len(found)
	return found
}

// statements reads the statements at the beginning of the file that import or export from other modules, with the
// space, directives and comments between them. It stops at the first other statement. In a JavaScript file, it
// adds the comments to s.passed.
func (s *importScanner) statements() {
	for {
		switch {
		case s.take(space) != "", s.take(directive) != "":
			continue
		}
		if passed := s.take(comment); passed != "" {
			if !s.types {
				s.passed += passed + "\n"
			}
			continue
		}
		if !s.statement() {
			return
		}
	}
}

// statement reads one statement that imports or exports from another module. If there is no such statement at the
// present position, it returns false and keeps the position.
//
// If the module's path is relative and the statement imports more than types, statement adds the path to s.found.
// If a JavaScript file has a statement that imports only types, statement sets s.unclear.
func (s *importScanner) statement() bool {
	start := s.at
	var tokens []string
	for {
		s.take(space)
		token := s.take(importToken)
		if token == "" {
			break
		}
		tokens = append(tokens, token)
	}
	name := s.take(plainString)
	values, ok := importsValues(tokens)
	if name == "" || !ok {
		s.at = start
		return false
	}
	s.take(attributes)
	s.take(semicolon)
	if !s.types && !values {
		s.unclear = true // Bun does not parse types in JavaScript
	}
	if specifier := strings.TrimFunc(name[1:len(name)-1], isJSSpace); values && strings.HasPrefix(specifier, ".") {
		s.found = append(s.found, specifier)
	}
	return true
}

// isJSSpace reports whether JavaScript's trim removes c.
func isJSSpace(c rune) bool { return unicode.IsSpace(c) || c == '\ufeff' }

// importsValues reports whether a statement imports or exports more than types. tokens are the statement's
// words before the module's name. Three forms are known: import without names, import with names and "from",
// and export with names and "from". ok is false for any other form, and values must then be ignored.
func importsValues(tokens []string) (values, ok bool) {
	if len(tokens) == 1 { // import "module"
		return true, tokens[0] == "import"
	}
	last := len(tokens) - 1
	if last < 2 || tokens[last] != "from" || tokens[0] != "import" && tokens[0] != "export" {
		return false, false
	}
	keyword, clause := tokens[0], tokens[1:last]
	// import type … from "module"; but a comma after type makes type a default import
	typesOnly := len(clause) > 1 && clause[0] == "type" && clause[1] != ","
	if typesOnly {
		clause = clause[1:]
	}
	if keyword == "import" && isName(clause[0]) { // a default import, alone or before other names
		if len(clause) == 1 {
			return !typesOnly, true
		}
		if clause[1] != "," || typesOnly || len(clause) == 2 {
			return false, false
		}
		_, ok := bindsValues(keyword, clause[2:])
		return true, ok
	}
	values, ok = bindsValues(keyword, clause)
	return values && !typesOnly, ok
}

// bindsValues returns the results of importsValues for a statement whose clause begins with a brace or a star.
// keyword is the first word of the statement, "import" or "export". clause has the words between keyword and
// "from". It lacks the word "type" of a statement that imports or exports only types.
func bindsValues(keyword string, clause []string) (values, ok bool) {
	if clause[0] == "*" {
		named := len(clause) == 3 && clause[1] == "as" && isName(clause[2])
		return true, named || len(clause) == 1 && keyword == "export"
	}
	last := len(clause) - 1
	if clause[0] != "{" || clause[last] != "}" || last == 0 {
		return false, false
	}
	names := clause[1:last]
	if len(names) == 0 { // import {} from "module"
		return true, true
	}
	for item := range splitAt(names, ",") {
		value, ok := bindsValue(item)
		if !ok {
			return false, false
		}
		values = values || value
	}
	return values, true
}

// splitAt yields the parts of list between the separators. It yields no part after a separator at the end of
// list, as in "{a, b,}".
func splitAt(list []string, separator string) func(func([]string) bool) {
	return func(yield func([]string) bool) {
		for len(list) > 0 {
			i := slices.Index(list, separator)
			if i < 0 {
				i = len(list)
			}
			if !yield(list[:i]) {
				return
			}
			list = list[min(i+1, len(list)):]
		}
	}
}

// bindsValue reports whether one name in the braces of an import or export stands for more than a type. item
// has the tokens of the name, for example "type", "a", "as", "b". value is false if the first token is the word
// "type" before a name. ok is false if item has an unknown form, or a name that is also a word of the syntax,
// such as "as".
func bindsValue(item []string) (value, ok bool) {
	value = true
	if len(item) == 2 || len(item) == 4 {
		if item[0] != "type" {
			return false, false
		}
		value, item = false, item[1:]
	}
	switch len(item) {
	case 3:
		return value, item[1] == "as" && isBound(item[0]) && isBound(item[2])
	case 1:
		return value, isBound(item[0])
	}
	return false, false
}

// isName reports whether token is a name or a keyword. It returns false for the signs {, }, comma and star.
func isName(token string) bool { return !strings.Contains("{},*", token) }

// isBound reports whether token is a name, and not "as" or "type", which are also words of the syntax.
func isBound(token string) bool { return isName(token) && token != "as" && token != "type" }

var (
	// relativeText matches a quote and the beginning of a text that may be a relative path.
	relativeText = pattern("(?s)[\"'`]" + `([\s\p{Z}\x{feff}]|\\[^xu0-7])*(\.|\\[xu0-7])`)
	// method matches the text after relativeText if the quote ends a text and a method is called on the text,
	// as in "a".trim().
	method = pattern(`^\w+\(`)
	// importWord matches a word or an escape that may belong to an import.
	importWord = pattern(`\bimport\b\s*([^.\s]|$)|\brequire\b|\bfrom\s*["'/]|\bexport\s*["'/]|\\u`)
)

// mayImport reports whether part, a part of a file, may import a module by a relative path. It returns true if
// part has a word that may belong to an import, and also a quote after which a relative path may begin. So it
// returns true for some parts without imports.
func mayImport(part string) bool {
	if !importWord().MatchString(part) {
		return false
	}
	for _, at := range relativeText().FindAllStringIndex(part, -1) {
		if !method().MatchString(part[at[1]:]) {
			return true
		}
	}
	return false
}
