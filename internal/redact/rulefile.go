package redact

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// ruleFile is the form of a file of rules.
type ruleFile struct {
	Rules []struct {
		Name     string   `yaml:"name"`
		Keywords []string `yaml:"keywords"`
		Pattern  string   `yaml:"pattern"`
	} `yaml:"rules"`
	Words []string `yaml:"words"`
	Names []string `yaml:"names"`
	Allow []struct {
		Digest string `yaml:"digest"`
		Path   string `yaml:"path"`
		Rule   string `yaml:"rule"`
		Reason string `yaml:"reason"`
	} `yaml:"allow"`
}

// ParseRules reads a file of rules. trusted says that the user alone can have written it: only then its exceptions free known
// values, and its names free variables. The error says what is wrong in which line or element. ParseRules is safe with hostile data: its time and the rules are
// bounded.
func ParseRules(data []byte, trusted bool) (*Rules, error) {
	if len(data) > MaxRuleFile {
		return nil, fmt.Errorf("the file has more than %d bytes", MaxRuleFile)
	}
	file, err := readRuleFile(data)
	if err != nil {
		return nil, err
	}
	out := &Rules{source: [][]byte{fmt.Appendf(nil, "%v\n%s", trusted, data)}}
	for _, step := range []func() error{
		func() error { return out.addRules(file) },
		func() error { return out.addWords(file) },
		func() error { return out.addNames(file, trusted) },
		func() error { return out.addExceptions(file, trusted) },
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// errAlias is the error about a file that repeats a part of itself.
var errAlias = errors.New("aliases are not supported")

// readRuleFile decodes a file of rules.
func readRuleFile(data []byte) (file ruleFile, err error) {
	var doc yaml.Node
	loader, err := yaml.NewLoader(bytes.NewReader(data), yaml.WithKnownFields())
	if err != nil {
		return file, err
	}
	switch err = loader.Load(&doc); {
	case errors.Is(err, io.EOF):
		return file, nil // an empty file adds nothing
	case err != nil:
		return file, err
	case hasAlias(&doc):
		return file, errAlias
	}
	if err := yaml.Load(data, &file, yaml.WithKnownFields()); err != nil {
		return file, err
	}
	for name, n := range map[string]int{"rules": len(file.Rules), "words": len(file.Words), "names": len(file.Names), "allow": len(file.Allow)} {
		if n > maxListed {
			return file, fmt.Errorf("%s has %d elements, at most %d are allowed", name, n, maxListed)
		}
	}
	return file, nil
}

// hasAlias reports whether a node has an alias.
func hasAlias(n *yaml.Node) bool {
	return n.Kind == yaml.AliasNode || slices.ContainsFunc(n.Content, hasAlias)
}

// addRules adds the rules of a file.
func (r *Rules) addRules(file ruleFile) error {
	total := 0
	for i, rule := range file.Rules {
		where := fmt.Sprintf("rules[%d]", i)
		if rule.Name == "" || RuleName(rule.Name) != rule.Name {
			return fmt.Errorf("%s: the name must have 1 to %d letters, digits, '_', '.' and '-'", where, maxRule)
		}
		where += " (" + rule.Name + ")"
		own := ownRule{name: rule.Name}
		for _, keyword := range rule.Keywords {
			if len(keyword) < minKeyword || len(keyword) > maxPattern {
				return fmt.Errorf("%s: a keyword must have %d to %d bytes", where, minKeyword, maxPattern)
			}
			own.keywords = append(own.keywords, strings.ToLower(keyword))
		}
		if len(own.keywords) == 0 || len(own.keywords) > maxListed {
			return fmt.Errorf("%s: a rule needs keywords, texts that stand near the secret", where)
		}
		var err error
		if own.pattern, own.size, err = compilePattern(rule.Pattern); err != nil {
			return fmt.Errorf("%s: the pattern %w", where, err)
		}
		if total += own.size; total > maxPrograms {
			return fmt.Errorf("%s: the patterns of all rules are too large together", where)
		}
		r.rules = append(r.rules, own)
	}
	return nil
}

// compilePattern compiles the pattern of a rule, and returns its size in instructions.
func compilePattern(pattern string) (*regexp.Regexp, int, error) {
	if pattern == "" || len(pattern) > maxPattern {
		return nil, 0, fmt.Errorf("must have 1 to %d bytes", maxPattern)
	}
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, 0, fmt.Errorf("is no regular expression: %w", err)
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, 0, fmt.Errorf("cannot be compiled: %w", err)
	}
	if len(program.Inst) > maxProgram {
		return nil, 0, fmt.Errorf("compiles to %d instructions, at most %d are allowed", len(program.Inst), maxProgram)
	}
	compiled, err := regexp.Compile(pattern)
	return compiled, len(program.Inst), err
}

// addWords adds the words of a file.
func (r *Rules) addWords(file ruleFile) error {
	for i, word := range file.Words {
		if word = strings.TrimSpace(word); len(word) < minWord || len(word) > maxPattern {
			return fmt.Errorf("words[%d]: a word must have %d to %d bytes", i, minWord, maxPattern)
		}
		r.words = append(r.words, word)
	}
	return nil
}

// addNames adds the names of variables of a file. A file that is not trusted frees no variable.
func (r *Rules) addNames(file ruleFile, trusted bool) error {
	for i, glob := range file.Names {
		if _, err := path.Match(strings.TrimPrefix(glob, "!"), ""); err != nil || strings.Trim(glob, "!* ") == "" || len(glob) > maxPattern {
			return fmt.Errorf("names[%d]: not a pattern of names such as *_PAT or !SSH_KEY_NAME", i)
		}
		if trusted || !strings.HasPrefix(glob, "!") {
			r.names = append(r.names, strings.ToUpper(glob))
		}
	}
	return nil
}

// addExceptions adds the exceptions of a file.
func (r *Rules) addExceptions(file ruleFile, trusted bool) error {
	for i, a := range file.Allow {
		set := 0
		for _, text := range []string{a.Digest, a.Path, a.Rule} {
			if text != "" {
				set++
			}
		}
		switch {
		case set != 1:
			return fmt.Errorf("allow[%d]: needs one of digest, path and rule", i)
		case strings.TrimSpace(a.Reason) == "":
			return fmt.Errorf("allow[%d]: needs a reason", i)
		case a.Digest != "" && (len(a.Digest) != digestSize || strings.Trim(a.Digest, "0123456789abcdef") != ""):
			return fmt.Errorf("allow[%d]: a digest has %d hex digits", i, digestSize)
		case a.Path != "":
			if _, err := path.Match(strings.TrimSuffix(a.Path, "/**"), ""); err != nil || len(a.Path) > maxPattern {
				return fmt.Errorf("allow[%d]: not a pattern of paths such as testdata/** or *.pem", i)
			}
		}
		r.allow = append(r.allow, exception{a.Digest, a.Path, a.Rule, trusted})
	}
	return nil
}
