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

// The values that Smithers compares when it resumes a run.
const (
	RefusedNoWorkflow = "no_workflow"     // the workflow file does not exist
	RefusedWorkflow   = "workflow_hash"   // the workflow file has changed
	RefusedModules    = "modules_hash"    // an imported module, or the folder of the modules, has changed
	RefusedRepository = "repository_root" // the run's folder is in another repository than before
)

// Refusal is a reason why Smithers cannot resume an exported run.
type Refusal struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// place sets the folder of the run's paths, and the folder in which the run is resumed unless it names one. In
// Smithers, the first is the top of the working copy, and the second is the folder, with the database, in which the
// run was started.
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

// resumedIn returns the folder in which Smithers resumes the run. Smithers uses the folder in the run's row, wherever
// Smithers itself is started.
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

// result returns the result for a written run.
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

// refusalsOf compares a row of _smithers_runs with the folders that it names, as Smithers does when it resumes the
// run with its workflow file. If certain is false, there may be more refusals.
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
		found = append(found, Refusal{RefusedRepository, "its repository is " + orNone(stored) + ", but its folder is in " + orNone(now)})
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
		return []Refusal{{RefusedWorkflow, "workflow file " + file + " has changed since the run started"}}, true
	case version < graphVersion:
		return nil, true
	case stored == "" || now.Known && stored != now.Graph:
		return []Refusal{{RefusedModules, "the folder or the modules of " + file + " have changed since the run started"}}, true
	}
	return nil, now.Known
}

// durability reads the version of the workflow's hashes, and the hash of the workflow file, from config_json.
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
				version, _ = strconv.ParseFloat(string(mark.Value), 64) // Smithers reads anything but a number as 0
			}
		}
	}
	return version, entry
}
