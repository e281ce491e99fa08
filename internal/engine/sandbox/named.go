package sandbox

import (
	"context"
	"os/user"
	"path/filepath"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/internal/lazyregexp"
)

var (
	// namedFile matches the keys of git's configuration whose value is a file that git reads as configuration.
	namedFile = lazyregexp.New(`^(include|includeif\..*)\.path$`)
	// namedFolder matches the keys whose value is a folder of hooks.
	namedFolder = lazyregexp.New(`^core\.hookspath$|^init\.templatedir$`)
	// namedNothing matches the keys whose value is no program and names none.
	namedNothing = lazyregexp.New(`^(user|author|committer|branch|color|advice|mailmap)\.|^submodule\..*\.(path|active)$|^remote\..*\.(fetch|push)$|^(commit\.template|blame\.ignorerevsfile|core\.(excludes|attributes)file)$`)
	// namedProgram matches the keys whose value is a command line, and ownProgram those whose command our own git or the engine runs.
	namedProgram = lazyregexp.New(`\.(external|helper|program|editor|askpass|gitproxy|difffilter|path|uploadpack|receivepack|\w*(command|cmd|hook|pager))$|^(alias|pager)\.`)
	// programVariable matches the variables whose value is a command line.
	programVariable = lazyregexp.New(`^(GIT_\w*(COMMAND|ASKPASS|SSH|DIFF)|SSH_ASKPASS|VISUAL|\w*(EDITOR|PAGER)|SMITHERS_JJ_PATH)$`)
	jjProgram       = lazyregexp.New(`command$|editor$|pager|program$|tool$`)
	ownProgram      = lazyregexp.New(`^filter\..*\.(clean|smudge|process)$|^core\.fsmonitor$|^hook\..*\.command$|^diff\..*\.textconv$|^merge\..*\.driver$`)
)

// configured closes what the configuration of a repository names, and the files that have it. git runs commands in top.
func (f *finder) configured(ctx context.Context, top, gitDir string) {
	f.settings(ctx, top, "--git-dir="+gitDir, "config", "--list", "-z", "--show-origin")
}

// settings closes what a configuration names that git lists. What a file names that is included on a condition counts in any case.
func (f *finder) settings(ctx context.Context, top string, list ...string) {
	out, _, err := gitexec.Process{Dir: top, Env: f.env, Args: list}.Run(ctx)
	if err != nil { // git obeys no configuration that it cannot read
		return
	}
	words := strings.Split(string(out), "\x00")
	for i := 0; i+1 < len(words) && f.err == nil; i += 2 {
		key, value, _ := strings.Cut(words[i+1], "\n")
		value = strings.TrimPrefix(value, ":(optional)")
		folder := top
		if file, isFile := strings.CutPrefix(words[i], "file:"); isFile {
			file = joined(top, file)
			folder = filepath.Dir(file)
			f.close(file, config, "git's configuration")
		}
		if !namedFile.MatchString(key) {
			f.setting(top, key, value)
			continue
		}
		file := f.path(folder, value)
		f.close(file, config, "git's "+key)
		if !slices.Contains(f.included, file) {
			f.included = append(f.included, file)
			f.settings(ctx, top, "config", "--file", file, "--no-includes", "--list", "-z", "--show-origin")
		}
	}
}

// setting closes what the value of a key of git's configuration names.
func (f *finder) setting(top, key, value string) {
	why := "git's " + key
	_, ext, isExt := strings.Cut(key+"\n"+value, "ext::")
	switch {
	case namedNothing.MatchString(key):
	case namedFolder.MatchString(key):
		f.close(f.path(top, value), hooks, why)
	case ownProgram.MatchString(key):
		f.command(top, value, true, why)
	case isExt:
		f.command(top, strings.TrimSuffix(strings.SplitN(ext, "\n", 2)[0], ".insteadof"), false, why)
	case strings.HasPrefix(key, "alias.") && !strings.HasPrefix(value, "!"):
	case strings.HasPrefix(value, "!"), namedProgram.MatchString(key):
		f.command(top, value, false, why)
	default:
		f.mentioned(top, value, false, why)
	}
}

// path returns a path as git reads it in a folder: ~ is the home folder, and ~user that of a user.
func (f *finder) path(folder, value string) string {
	if rest, ok := strings.CutPrefix(value, "~"); ok {
		name, rest, _ := strings.Cut(rest, "/")
		if name == "" {
			return f.home + "/" + rest
		}
		if of, err := user.Lookup(name); err == nil {
			return of.HomeDir + "/" + rest
		}
	}
	return joined(folder, value)
}

// environment closes what variables of the environment name. dir is where relative paths count.
func (f *finder) environment(dir string) {
	home := func(path string) string { return filepath.Join(f.home, path) }
	for _, name := range []string{"git", "sh", "jj", "bwrap", "systemd-run"} {
		f.onPath(name, "PATH")
	}
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
				if filepath.IsAbs(folder) || strings.HasPrefix(name, "GIT_") { // git of ours gets no relative ones of the others
					f.close(joined(dir, folder), itself, why)
				}
			}
		case slices.Contains([]string{"BASH_ENV", "ENV", "JJ_CONFIG", "LD_PRELOAD"}, name) && value != "":
			for _, file := range strings.FieldsFunc(value, func(r rune) bool { return r == ' ' || r == ':' }) {
				f.close(joined(dir, file), config, why)
			}
		case programVariable.MatchString(name):
			f.command(dir, value, false, why)
		case strings.HasPrefix(name, "GIT_"):
			f.mentioned(dir, value, false, why)
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
			if value = strings.TrimSpace(value); jjProgram.MatchString(key) { // an array is a command line
				f.command(top, strings.NewReplacer("[", "", "]", "", `"`, "", ",", "").Replace(value), false, "jj's "+key)
			} else {
				f.mentioned(top, value, false, "jj's "+key)
			}
		}
	}
}
