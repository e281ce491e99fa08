package sandbox

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/internal/lazyregexp"
)

var (
	// plainWord matches a word that a shell takes as it is, perhaps in quotes, and plainLine a line of such words.
	plainWord = lazyregexp.New("[^\\s'\"\\\\$`*?[\\](){};&|<>#!]+" + `|'[^'\n]*'|"[^"\\$` + "`" + `\n]*"`)
	plainLine = lazyregexp.New(`^(?:(?:` + plainWord.String() + `)(?:[ \t]+|$))+$`)
	// interpreter matches programs that run the file that is their first operand, or change the folder for what follows.
	interpreter = lazyregexp.New(`^(sh|bash|dash|zsh|ksh|ash|fish|t?csh|pwsh|python[\d.]*|pypy[\d.]*|node|nodejs|bun|deno|ruby|perl|php|lua|tclsh|java|\.|source|cd)$`)
	// runner matches programs that find what they run by rules of their own, mostly in the current folder, and wrapper those that run their operands.
	runner  = lazyregexp.New(`^(g?make|just|task|rake|ant|mvn|gradle|npx|npm|pnpm|yarn|bunx|uvx?|poetry|pipenv|bundle|go|cargo|dotnet|docker|direnv|busybox)$`)
	wrapper = lazyregexp.New(`^(env|xargs|nice|ionice|nohup|time|timeout|stdbuf|sudo|doas|setsid|command|exec|eval|if|then|else|elif|do|while|until|[{}!])$`)
	// textual matches programs whose operands without -f are text.
	textual = lazyregexp.New(`^(sed|grep|tr|cut|head|tail|cat|echo|printf|true|false)$`)
	// setting matches what can stand between a wrapper and a program.
	setting = lazyregexp.New(`^(-|\w+=|\d)`)
	// constant matches values by which git runs nothing, or something of its own.
	constant = lazyregexp.New(`^(?i:true|false|yes|no|on|off|\d*)$`)
)

// Programs returns the files and folders below root that a command line of git's configuration may run or use, relative to root. git runs the line in root. The
// error is an *Error if it is not certain which they are. Programs changes no file.
func Programs(root string, env []string, line string) (paths []string, err error) {
	home, _ := gitexec.LookupEnv(env, "HOME")
	f := &finder{env: env, home: home, roots: []string{root}, looks: true}
	f.command(root, line, true, "git's configuration")
	for _, one := range f.found {
		path, err := filepath.Rel(root, one.path)
		if err != nil {
			return nil, err
		}
		paths = append(paths, filepath.ToSlash(path))
	}
	return paths, f.err
}

// command closes the files that a command line of git's configuration or of a variable names. A line is understood if it is a program and
// plain words, and what these name exists. strict refuses any other line. Otherwise a line is refused if it runs something by a relative path,
// or something that finds its files in the current folder.
func (f *finder) command(top, line string, strict bool, why string) {
	line = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "!"))
	if constant.MatchString(line) {
		return
	}
	if plainLine.MatchString(line) {
		words := plainWord.FindAllString(line, -1)
		for i, word := range words {
			words[i] = strings.Trim(word, `'"`)
		}
		if f.understood(top, words, why) {
			return
		}
	}
	f.mentioned(top, line, true, why)
	if f.err == nil && (strict || runsRelative(line)) {
		f.err = cannot("%s is the command %q, which may run what a command in a sandbox can write: name a program and its files there, by paths and without signs of the shell, or unset it", why, line)
	}
}

// understood reports whether it is certain which files a plain command line runs, and closes them.
func (f *finder) understood(top string, words []string, why string) bool {
	program, name := words[0], filepath.Base(words[0])
	switch {
	case strings.Contains(program, "="), runner.MatchString(name), wrapper.MatchString(name):
		return false
	case !strings.Contains(program, "/"):
		f.onPath(program, why)
	case !f.named(top, program, why):
		return false
	}
	if textual.MatchString(name) && !slices.ContainsFunc(words, func(word string) bool { return strings.HasPrefix(word, "-") && strings.Contains(word, "f") }) {
		f.mentioned(top, strings.Join(words[1:], " "), true, why)
		return true
	}
	script := interpreter.MatchString(name)
	for _, word := range words[1:] {
		option := strings.HasPrefix(word, "-")
		_, value, assigned := strings.Cut(word, "=")
		switch {
		case assigned:
			word = value
		case option && !strings.HasPrefix(word, "--"):
			word = word[min(2, len(word)):]
		case option:
			word = ""
		}
		switch {
		case script && (option || !f.named(top, word, why)):
			return false
		case script:
			script = false
		case word == "", strings.HasPrefix(word, "%") && !strings.Contains(word, "/"):
		case (strings.Contains(word, "/") || exists(f.path(top, word))) && !f.named(top, word, why):
			return false
		}
	}
	return !script
}

// named closes the file or folder that a word names. It reports whether this exists, or is a path to where the command cannot make it.
func (f *finder) named(top, word, why string) bool {
	path := f.path(top, word)
	as := program
	if strings.HasSuffix(word, ".py") && slices.Contains(f.roots, filepath.Dir(filepath.Clean(path))) {
		return false // it imports what stands beside it
	}
	if isFolder(path) {
		as = hooks
	}
	if !exists(path) && (f.holds(path) || !strings.Contains(word, "/")) {
		return false
	}
	f.close(path, as, why)
	return true
}

// onPath closes the files with a name in the folders of PATH. A link there can lead to where the command may write.
func (f *finder) onPath(name, why string) {
	list, _ := gitexec.LookupEnv(f.env, "PATH")
	for _, folder := range filepath.SplitList(list) {
		if path := filepath.Join(folder, name); filepath.IsAbs(folder) && exists(path) {
			f.close(path, program, why)
		}
	}
}

// mentioned closes the files whose paths are words of a text, or ends of these behind a variable or a substitution; also folders, if they are
// wanted, and what does not exist in them.
func (f *finder) mentioned(top, text string, folders bool, why string) {
	apart := func(signs string) []string {
		return strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(signs, r) })
	}
	for _, word := range append(apart(" \t\n'\"`;|&()<>={},:"), apart("\"'\n")...) {
		for end := word; ; {
			first, rest, deeper := strings.Cut(end, "/")
			path := f.path(top, end)
			holdsRoot := slices.ContainsFunc(f.roots, func(root string) bool { return within(filepath.Clean(path), root) })
			switch {
			case end == "" || holdsRoot:
			case exists(path) && !isFolder(path):
				f.close(path, program, why)
			case folders && exists(path):
				f.close(path, hooks, why)
			case folders && first != "" && deeper && isFolder(f.path(top, first)) && !strings.HasPrefix(first, "."):
				f.close(path, program, why)
			}
			if end = rest; !deeper || !strings.ContainsAny(text, "$`") {
				break
			}
		}
	}
}

// runsRelative reports whether a line of sh seems to run a program by a relative path, or something that looks for files in the current folder.
func runsRelative(line string) bool {
	line = strings.NewReplacer(`"`, "", `'`, "", `\`, "", "$HOME/", "~/", "${HOME}/", "~/").Replace(line)
	if strings.Contains(line, ")/") || strings.Contains(line, "`/") {
		return true
	}
	parts := strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(";|&()\n`", r) })
	return slices.ContainsFunc(parts, func(part string) bool { return isRelative(strings.Fields(part)) })
}

// isRelative is runsRelative for the words of a single command.
func isRelative(words []string) bool {
	for len(words) > 0 && (wrapper.MatchString(words[0]) || setting.MatchString(words[0])) {
		words = words[1:]
	}
	if len(words) == 0 {
		return false
	}
	relative := func(word string) bool { return !strings.HasPrefix(word, "/") && !strings.HasPrefix(word, "~/") }
	name, rest := filepath.Base(words[0]), words[1:]
	switch {
	case runner.MatchString(name), relative(words[0]) && strings.Contains(words[0], "/"):
		return true
	case !interpreter.MatchString(name):
		return false
	}
	for len(rest) > 0 && strings.HasPrefix(rest[0], "-") {
		option := rest[0]
		rest = rest[1:]
		switch {
		case strings.HasSuffix(name, "sh") && strings.HasSuffix(option, "c"):
			return isRelative(rest)
		case name == "perl" && strings.HasSuffix(option, "e"): // unlike others, perl does not look for modules in the current folder
			return false
		}
	}
	return len(rest) == 0 || relative(rest[0])
}
