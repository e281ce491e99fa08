package sandbox

import (
	"context"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/gitexec"
)

var (
	// namedFile matches the keys of git's configuration whose value is a file that git reads as configuration.
	namedFile = regexp.MustCompile(`^(include|includeif\..*)\.path$`)
	// namedFolder matches the keys whose value is a folder of hooks.
	namedFolder = regexp.MustCompile(`^core\.hookspath$|^init\.templatedir$`)
	// namedNothing matches the keys whose value is no program and names none.
	namedNothing = regexp.MustCompile(`^(user|author|committer|branch|color|advice|mailmap)\.|^remote\..*\.(fetch|push)$|^(commit\.template|blame\.ignorerevsfile|core\.(excludes|attributes)file)$`)
	// namedProgram matches the keys whose value begins with a program.
	namedProgram = regexp.MustCompile(`\.(clean|smudge|process|textconv|external|driver|helper|program|editor|fsmonitor|askpass|gitproxy|difffilter|path|\w*(command|cmd|hook|pager))$|^(alias|pager)\.`)
)

// configured closes what the configuration of a repository names, and the files that have it. git runs commands in top.
func (f *finder) configured(ctx context.Context, top, gitDir string) {
	git := gitexec.Process{Dir: top, Env: f.env, Options: []string{"--git-dir=" + gitDir}, Args: []string{"config", "--list", "-z", "--show-origin"}}
	out, _, err := git.Run(ctx)
	if err != nil { // git obeys nothing of a repository whose configuration it cannot read
		return
	}
	words := strings.Split(string(out), "\x00")
	for i := 0; i+1 < len(words); i += 2 {
		key, value, _ := strings.Cut(words[i+1], "\n")
		why := "git's " + key
		file, isFile := strings.CutPrefix(words[i], "file:")
		if file = joined(top, file); isFile {
			f.close(file, config, "git's configuration")
		}
		switch {
		case namedNothing.MatchString(key):
		case namedFile.MatchString(key):
			folder := top
			if isFile && strings.HasSuffix(key, ".path") {
				folder = filepath.Dir(file)
			}
			f.close(f.path(folder, value), config, why)
		case namedFolder.MatchString(key):
			f.close(f.path(top, value), hooks, why)
		case strings.HasPrefix(key, "alias.") && !strings.HasPrefix(value, "!"):
		default:
			f.command(top, value, namedProgram.MatchString(key), why)
		}
	}
}

// path returns a path as git reads it in a folder: ~ is the home folder.
func (f *finder) path(folder, value string) string {
	if rest, ok := strings.CutPrefix(value, "~/"); ok {
		return filepath.Join(f.home, rest)
	}
	return joined(folder, value)
}

// command closes the files that a command line names: each word that is the path of a file, and the first word of a program also if there is
// no such file yet. A path can stand behind a variable or a substitution, so the ends of words count, too.
func (f *finder) command(top, line string, isProgram bool, why string) {
	line = strings.TrimPrefix(strings.TrimSpace(line), "!")
	quoted := strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(`"'`+"\n", r) })
	words := strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" \t\n'\"`;|&()<>={},:", r) })
	if len(words) == 0 {
		return
	}
	if word := words[0]; isProgram && !strings.Contains(word, "$") {
		path := f.path(top, word)
		if !strings.Contains(word, "/") {
			path, _ = gitexec.Find(f.env, word)
		}
		if path != "" && !isFolder(path) {
			f.close(path, program, why)
		}
	}
	for _, word := range append(words, quoted...) {
		for end := word; ; {
			if path := f.path(top, end); exists(path) && !isFolder(path) {
				f.close(path, program, why)
			}
			var more bool
			if _, end, more = strings.Cut(end, "/"); !more || !strings.ContainsAny(line, "$`") {
				break
			}
		}
	}
}

// environment closes what variables of the environment name. dir is where relative paths count.
func (f *finder) environment(dir string) {
	home := func(path string) string { return filepath.Join(f.home, path) }
	if f.home != "" { // git and jj read these also if they do not exist yet
		f.close(home(".gitconfig"), config, "git's configuration")
		for _, folder := range []string{".config/git", ".config/jj", ".jjconfig.toml"} {
			f.close(home(folder), itself, "configuration")
		}
	}
	for _, entry := range f.env {
		name, value, _ := strings.Cut(entry, "=")
		why := "the variable " + name
		switch {
		case name == "GIT_CONFIG_GLOBAL", name == "GIT_CONFIG_SYSTEM":
			f.close(joined(dir, value), config, why)
		case name == "XDG_CONFIG_HOME" && filepath.IsAbs(value):
			f.close(filepath.Join(value, "git"), itself, why)
			f.close(filepath.Join(value, "jj"), itself, why)
		case slices.Contains([]string{"PATH", "LD_LIBRARY_PATH", "GIT_EXEC_PATH", "GIT_TEMPLATE_DIR"}, name):
			for _, folder := range filepath.SplitList(value) {
				if filepath.IsAbs(folder) {
					f.close(filepath.Clean(folder), itself, why)
				}
			}
		case strings.HasPrefix(name, "GIT_"), strings.HasSuffix(name, "EDITOR"), strings.HasSuffix(name, "PAGER"),
			slices.Contains([]string{"VISUAL", "SSH_ASKPASS", "LD_PRELOAD", "BASH_ENV", "ENV", "SMITHERS_JJ_PATH", "JJ_CONFIG"}, name):
			f.command(dir, value, false, why)
		}
	}
}

// jj closes what jj's configuration names in the workspace at top. Without jj, nobody obeys it.
func (f *finder) jj(ctx context.Context, top string) {
	program, err := gitexec.Find(f.env, "jj")
	if named, ok := gitexec.LookupEnv(f.env, "SMITHERS_JJ_PATH"); ok && named != "" {
		program, err = named, nil
	}
	if err != nil {
		return
	}
	out, _, err := gitexec.Process{Program: program, Dir: top, Env: f.env, Args: []string{"--no-pager", "--color=never", "config", "list"}}.Run(ctx)
	if err != nil {
		return
	}
	for line := range strings.Lines(string(out)) {
		if key, value, ok := strings.Cut(line, " = "); ok {
			f.command(top, value, false, "jj's "+key)
		}
	}
}
