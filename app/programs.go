package app

import (
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/engine/workflow"
	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// MissingProgram is a program that runs tasks of a workflow and is not installed here.
type MissingProgram struct {
	Name    string   `json:"name"`
	NodeIDs []string `json:"nodeIds"` // in file order
	Install string   `json:"install"` // a command that installs it, or "" if none is known
}

// MissingPrograms returns the shells, and bubblewrap, that tasks need and that are not on the PATH of env: tasks of a workflow and of the workflows that
// it calls. Each program comes once, in file order.
func MissingPrograms(wf *workflow.Workflow, env []string) []MissingProgram {
	var out []MissingProgram
	note := func(t *workflow.Task, name string) {
		if name == "" || strings.Contains(name, "/") {
			return
		}
		if _, err := gitexec.Find(env, name); err == nil {
			return
		}
		at := slices.IndexFunc(out, func(m MissingProgram) bool { return m.Name == name })
		if at < 0 {
			at, out = len(out), append(out, MissingProgram{Name: name, Install: installing(name, env)})
		}
		out[at].NodeIDs = append(out[at].NodeIDs, t.ID)
	}
	all := []*workflow.Workflow{wf}
	for _, called := range wf.Called() {
		all = append(all, called)
	}
	for _, wf := range all {
		for _, t := range wf.Tasks {
			if t.Run == "" {
				continue
			}
			if program, _, _ := strings.Cut(t.Shell.Name, " "); program != "sh" {
				note(t, program)
			}
			if t.Sandbox != nil {
				note(t, "bwrap")
			}
		}
	}
	return out
}

// installers are package managers, and how each installs a package.
var installers = [][2]string{
	{"apt-get", "apt-get install "}, {"dnf", "dnf install "}, {"apk", "apk add "}, {"pacman", "pacman -S "}, {"zypper", "zypper install "}, {"brew", "brew install "},
}

// packages are the packages of programs that do not have the name of the program.
var packages = map[string]string{"bwrap": "bubblewrap", "node": "nodejs"}

// installing returns the command that installs a program, or "" if no package manager is found.
func installing(name string, env []string) string {
	for _, by := range installers {
		if _, err := gitexec.Find(env, by[0]); err == nil {
			if renamed := packages[name]; renamed != "" {
				name = renamed
			}
			return by[1] + fault.Word(name)
		}
	}
	return ""
}

// needPrograms returns program_missing if a program that runs tasks of wf is not installed.
func (d *Desk) needPrograms(wf *workflow.Workflow) error {
	missing := MissingPrograms(wf, d.Env)
	if len(missing) == 0 {
		return nil
	}
	first := missing[0]
	out := fault.New(fault.ProgramMissing, "there is no %s on PATH, which task %s needs", first.Name, first.NodeIDs[0]).Detail("missing", missing)
	for _, m := range missing {
		if m.Install != "" {
			out = out.Hint("`%s` installs %s", m.Install, m.Name)
		}
	}
	return out.Hint("nothing was run")
}
