package export

import (
	"cmp"
	"os"
	"path/filepath"
	"strconv"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/code"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/jsonobject"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
	"github.com/git-smithers/git-smithers/snapshot"
)

// The codes of a Refusal. Each code names the value because of which Smithers refuses to resume a run.
const (
	RefusedNoWorkflow = "no_workflow"     // the workflow file does not exist
	RefusedWorkflow   = "workflow_hash"   // the workflow file has changed
	RefusedModules    = "modules_hash"    // an imported module, or the folder of the modules, has changed
	RefusedRepository = "repository_root" // the run's folder is in another repository than before
)

// Refusal is a reason why Smithers cannot resume an exported run.
type Refusal struct {
	Code    string `json:"code"`    // one of the constants
	Message string `json:"message"` // the reason in words
}

// place sets two folders of the export. x.dir is the folder in which the run is resumed, unless the run's row
// names another folder. It is the request's Dir, or else the request's Root, or else the folder of the
// database. x.req.Root is the folder that contains the run's paths.
//
// If the request has no Root, x.req.Root becomes x.dir. But if the run was in a working copy and x.dir is in a
// repository, x.req.Root becomes the top of this repository, as in Smithers.
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

// resumedIn returns the folder in which Smithers resumes the run of row. Smithers uses the folder in the row,
// even if a person starts Smithers in another folder. The result is the rootDir of the row if this folder
// exists and is in x.req.Root. Otherwise, or if the request has a Dir, the result is x.dir.
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

// result returns the Run that describes the written run. frames is the number of written frames. The field
// Resumes is nil if no reason against a resume is known, but unknown reasons are possible.
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

// refusalsOf returns the reasons why Smithers cannot resume the run of row, a row of _smithers_runs. Like
// Smithers, it compares the row with the workflow file and the folder that the row names. workflows caches the
// hashes of files. If certain is false, Smithers may have further reasons.
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
		found = append(found, Refusal{RefusedRepository, "the run belongs to " + repositoryAt(stored) + ", but its folder is in " + repositoryAt(now)})
	}
	return found, certain
}

// repositoryAt returns the words for the repository with the top folder path, or "no repository" if path is "".
func repositoryAt(path string) string {
	if path == "" {
		return "no repository"
	}
	return "the repository " + path
}

// workflowRefusals returns the refusals that concern the workflow file and its modules. config has the members of
// config_json. The file must exist and have the stored hash. From graphVersion on, its modules must have the
// stored hash, too.
//
// certain is false if there may be further refusals: if the row's path is not absolute, the file cannot be read,
// or the hash of the modules is unknown.
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
		return []Refusal{{RefusedModules, "the folder of " + file + ", or a module that it imports, has changed since the run started"}}, true
	}
	return nil, now.Known
}

// durability returns two values of the member durabilityKey in config, the members of config_json: the version and
// the hash of the workflow file. It returns 0 and "" if config has no such member or the member is not an object.
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
				version, _ = strconv.ParseFloat(string(mark.Value), 64) // like Smithers, which uses 0 for any other value
			}
		}
	}
	return version, entry
}
