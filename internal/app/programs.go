package app

import (
	"context"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/engine/sandbox"
	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// MissingProgram is a program that runs tasks of a workflow and is not installed here, or does not work.
type MissingProgram struct {
	Name    string   `json:"name"`
	NodeIDs []string `json:"nodeIds"`       // in file order
	Install string   `json:"install"`       // a command that installs it, or "" if none is known or it is installed
	Why     string   `json:"why,omitempty"` // why the installed program does not work here
}

// MissingPrograms returns the shells that tasks need and that are not on the PATH of env, and bubblewrap if it is not there or makes no sandbox: tasks
// of a workflow and of the workflows that it calls. Each program comes once, in file order.
func MissingPrograms(ctx context.Context, wf *workflow.Workflow, env []string) []MissingProgram {
	var out []MissingProgram
	note := func(t *workflow.Task, name string) {
		if name == "" || strings.Contains(name, "/") {
			return
		}
		at := slices.IndexFunc(out, func(m MissingProgram) bool { return m.Name == name })
		if at < 0 {
			missing, ok := missingProgram(ctx, name, env)
			if !ok {
				return
			}
			at, out = len(out), append(out, missing)
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
				note(t, bubblewrap)
			}
		}
	}
	return out
}

// missingProgram reports whether a program is missing, or is bubblewrap and makes no sandbox.
func missingProgram(ctx context.Context, name string, env []string) (MissingProgram, bool) {
	path, err := gitexec.Find(env, name)
	if err != nil {
		return MissingProgram{Name: name, Install: installing(name, env)}, true
	}
	if name == bubblewrap {
		err = sandbox.Works(ctx, path)
	}
	if err != nil {
		return MissingProgram{Name: name, Why: err.Error()}, true
	}
	return MissingProgram{}, false
}

// bubblewrap is the program that makes sandboxes.
const bubblewrap = "bwrap"

// installers are package managers, and how each installs a package.
var installers = [][2]string{
	{"apt-get", "apt-get install "}, {"dnf", "dnf install "}, {"apk", "apk add "}, {"pacman", "pacman -S "}, {"zypper", "zypper install "}, {"brew", "brew install "},
}

// packages are the packages of programs that do not have the name of the program.
var packages = map[string]string{bubblewrap: "bubblewrap", "node": "nodejs"}

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
func (d *Desk) needPrograms(ctx context.Context, wf *workflow.Workflow) error {
	missing := MissingPrograms(ctx, wf, d.Env)
	if len(missing) == 0 {
		return nil
	}
	first := missing[0]
	out := fault.New(fault.ProgramMissing, "there is no %s on PATH, which task %s needs", first.Name, first.NodeIDs[0])
	if first.Why != "" {
		out = fault.New(fault.ProgramMissing, "%s, and task %s needs it", first.Why, first.NodeIDs[0])
	}
	out = out.Detail("missing", missing)
	for _, m := range missing {
		if m.Install != "" {
			out = out.Hint("`%s` installs %s", m.Install, m.Name)
		}
	}
	return out.Hint("nothing was run")
}
