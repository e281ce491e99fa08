package export

import (
	"cmp"
	"os"
	"path/filepath"
	"strconv"

	"github.com/git-smithers/git-smithers/peer/smithers/code"
	"github.com/git-smithers/git-smithers/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/peer/smithers/jsonobject"
	"github.com/git-smithers/git-smithers/peer/smithers/source"
	"github.com/git-smithers/git-smithers/snapshot"
)

// What Smithers compares when it resumes a run.
const (
	RefusedNoWorkflow = "no_workflow"     // there is no workflow file where the run says
	RefusedWorkflow   = "workflow_hash"   // the workflow file is another
	RefusedModules    = "modules_hash"    // so is a module that it imports, or the folder that they are in
	RefusedRepository = "repository_root" // the run's folder is in another repository, or in one
)

// Refusal is a reason why Smithers does not resume an exported run.
type Refusal struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// place finds out where the run's paths are from now on, and where it is resumed unless it says another folder. Smithers
// has the top of the working copy for the first, and for the second the folder that a run was begun in, with its database.
func (x *runExport) place() error {
	x.dir = cmp.Or(x.req.Dir, x.req.Root, filepath.Dir(x.req.To))
	if x.req.Root != "" {
		return nil
	}
	x.req.Root = x.dir
	in, err := x.InWorkingCopy(x.store)
	if top, _ := code.Repository(x.dir); in && top != "" {
		x.req.Root = top
	}
	return err
}

// resumedIn is the folder that Smithers resumes a run in: it takes that of the run's row, wherever it is started.
func (x *runExport) resumedIn(row source.Row) string {
	config, err := jsonobject.Read(dbrow.ColumnJSON(row, "config_json"))
	if x.req.Dir != "" || err != nil {
		return x.dir
	}
	own := jsonobject.TextOf(config, "rootDir")
	if len(dbrow.Root(x.req.Root).Split(own, false)) < 2 {
		return x.dir
	}
	if info, err := os.Stat(own); err != nil || !info.IsDir() {
		return x.dir
	}
	return own
}

// exportedRun says what became of a run that was written.
func (x *runExport) result(frames int64) Run {
	out := Run{
		RunID: x.Row.ID, Frames: frames, Exact: x.Exact, Refusals: append([]Refusal{}, x.refusals...),
		Finished: x.facts.Run.Status == snapshot.RunFinished,
	}
	if x.certain || len(x.refusals) > 0 {
		out.Resumes = new(len(x.refusals) == 0)
	}
	return out
}

// refusalsOf compares a row of _smithers_runs with what there is in the folders that it names, as Smithers
// does when it resumes the run with its workflow file. certain is false where there may be more.
func refusalsOf(workflows code.Files, row source.Row) (found []Refusal, certain bool) {
	config, err := jsonobject.Read(dbrow.ColumnJSON(row, "config_json"))
	if err != nil && row["config_json"].Kind != source.Null {
		return nil, false
	}
	found, certain = workflowRefusals(workflows, row, config)
	folder := jsonobject.TextOf(config, "rootDir")
	if !filepath.IsAbs(folder) {
		return found, false
	}
	stored, _ := dbrow.ColumnText(row, "vcs_root")
	now, _ := code.Repository(folder)
	if stored != "" {
		stored = filepath.Clean(stored)
	}
	if stored != now {
		found = append(found, Refusal{RefusedRepository, "its repository is " + orNone(stored) + ", and Smithers finds " + orNone(now) + " in its folder"})
	}
	return found, certain
}

func orNone(path string) string {
	if path == "" {
		return "none"
	}
	return path
}

// workflowRefusals is refusalsOf for the workflow file and its modules.
func workflowRefusals(workflows code.Files, row source.Row, config []jsonobject.Member) (found []Refusal, certain bool) {
	file, _ := dbrow.ColumnText(row, "workflow_path")
	if !filepath.IsAbs(file) {
		return nil, false
	}
	file = filepath.Clean(file)
	now, err := workflows.Of(file)
	switch {
	case err != nil:
		return nil, false
	case now.Entry == "":
		return []Refusal{{RefusedNoWorkflow, "there is no workflow file " + file}}, true
	}
	stored, _ := dbrow.ColumnText(row, "workflow_hash")
	version, entry := durability(config)
	switch {
	case version < graphVersion && stored != now.Entry, version >= graphVersion && entry != now.Entry:
		return []Refusal{{RefusedWorkflow, "workflow file " + file + " is not the one that it was started with"}}, true
	case version < graphVersion:
		return nil, true
	case stored == "" || now.Known && stored != now.Graph:
		return []Refusal{{RefusedModules, "the folder or the modules of " + file + " are not those that it was started with"}}, true
	}
	return nil, now.Known
}

// durability reads how the workflow's hashes are to be compared from config_json.
func durability(config []jsonobject.Member) (version float64, entry string) {
	for _, m := range config {
		if m.Name != durabilityKey {
			continue
		}
		marks, err := jsonobject.Read(m.Value)
		if err != nil {
			return 0, ""
		}
		version, entry = 0, jsonobject.TextOf(marks, "entryWorkflowHash")
		for _, mark := range marks {
			if mark.Name == "version" {
				version, _ = strconv.ParseFloat(string(mark.Value), 64) // what is no number is 0 to Smithers
			}
		}
	}
	return version, entry
}
