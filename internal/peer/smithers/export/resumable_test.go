package export

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/code"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/jsonobject"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/stored"
	"github.com/git-smithers/git-smithers/snapshot"
)

// blessedRow is the row of a run that is to be resumed in a folder with its workflow file.
func blessedRow(t *testing.T, dir, workflow string) source.Row {
	t.Helper()
	x := &runExport{req: Request{Root: dir, Workflow: filepath.Join(dir, workflow)}, dir: dir, workflows: code.Files{}}
	row := source.Row{"config_json": dbrow.Text(`{"maxConcurrency":4}`)}
	require.NoError(t, x.makeResumable(row))
	return row
}

// refusalCodes are the codes of what Smithers refuses a run for.
func refusalCodes(row source.Row) (codes []string, certain bool) {
	found, certain := refusalsOf(code.Files{}, row)
	for _, r := range found {
		codes = append(codes, r.Code)
	}
	return codes, certain
}

// moved is a row as it is exported for another folder.
func moved(row source.Row, from, to string) source.Row {
	out := source.Row{}
	for column, v := range row {
		isJSON := column == "config_json"
		if v.Kind == source.Text {
			v.Bytes = dbrow.Root(to).Join(dbrow.Root(from).Split(v.Bytes, isJSON), isJSON)
		}
		out[column] = v
	}
	return out
}

func TestARunIsResumedWhereNothingHasChanged(t *testing.T) {
	t.Parallel()
	files := map[string]string{"flow.tsx": "import { part } from './part';\n", "part.ts": "export const part = 1;\n", ".git/HEAD": ""}
	for name, tc := range map[string]struct {
		change   func(dir string, row source.Row) (source.Row, error)
		certain  bool
		refusals []string
	}{
		"as it was": {func(_ string, row source.Row) (source.Row, error) { return row, nil }, true, nil},
		"the same files in another folder": {func(dir string, row source.Row) (source.Row, error) {
			return moved(row, dir, dir+"/again"), os.CopyFS(dir+"/again", os.DirFS(project(t, files)))
		}, true, []string{"modules_hash"}},
		"a folder without them": {func(dir string, row source.Row) (source.Row, error) {
			return moved(row, dir, dir+"/sub"), nil
		}, true, []string{"no_workflow", "repository_root"}},
		"a repository where there was none": {func(_ string, row source.Row) (source.Row, error) {
			row["vcs_root"] = source.Value{}
			return row, nil
		}, true, []string{"repository_root"}},
		"another module": {func(dir string, row source.Row) (source.Row, error) {
			return row, os.WriteFile(dir+"/part.ts", nil, 0o666)
		}, true, []string{"modules_hash"}},
		"a module is gone": {func(dir string, row source.Row) (source.Row, error) {
			return row, os.Remove(dir + "/part.ts")
		}, true, []string{"modules_hash"}},
		"a module that is unclear": {func(dir string, row source.Row) (source.Row, error) {
			return row, os.WriteFile(dir+"/part.ts", []byte("await import('./other')"), 0o666)
		}, false, nil},
		"another workflow": {func(dir string, row source.Row) (source.Row, error) {
			return row, os.WriteFile(dir+"/flow.tsx", nil, 0o666)
		}, true, []string{"workflow_hash"}},
		"no graph": {func(_ string, row source.Row) (source.Row, error) {
			row["workflow_hash"] = source.Value{}
			return row, nil
		}, true, []string{"modules_hash"}},
		"no workflow is named": {func(_ string, row source.Row) (source.Row, error) {
			row["workflow_path"] = source.Value{}
			return row, nil
		}, false, nil},
		"no folder is named": {func(_ string, row source.Row) (source.Row, error) {
			row["config_json"], row["workflow_hash"] = source.Value{}, dbrow.Text(code.Sum(files["flow.tsx"]))
			return row, nil
		}, false, nil},
		"no JSON": {func(_ string, row source.Row) (source.Row, error) {
			row["config_json"] = dbrow.Text("{")
			return row, nil
		}, false, nil},
	} {
		dir := project(t, files)
		row, err := tc.change(dir, blessedRow(t, dir, "flow.tsx"))
		require.NoError(t, err, name)
		refusals, certain := refusalCodes(row)
		assert.Equal(t, tc.refusals, refusals, name)
		assert.Equal(t, tc.certain, certain, name)
	}
}

func TestWhatCannotBeToldOfModulesIsNotCompared(t *testing.T) {
	t.Parallel()
	for part, want := range map[string]float64{
		"export const part = 1": graphVersion,
		"require('./other')":    entryVersion,
		"import './missing'":    entryVersion, // Smithers has no graph of it
	} {
		dir := project(t, map[string]string{"flow.tsx": "import './part'", "part.ts": part})
		row := blessedRow(t, dir, "flow.tsx")
		config, err := jsonobject.Parse([]byte(row["config_json"].Bytes))
		require.NoError(t, err)
		version, entry := durability(config)
		assert.InDelta(t, want, version, 0, part)
		assert.Equal(t, code.Sum("import './part'"), entry, part)
		assert.Equal(t, want == entryVersion, row["workflow_hash"].Bytes == entry, part)
		refusals, certain := refusalCodes(row)
		assert.Empty(t, refusals, part)
		assert.True(t, certain, part)
	}
}

func TestARunIsResumedInTheFolderThatItHas(t *testing.T) {
	t.Parallel()
	top := project(t, map[string]string{"pkg/flow.tsx": "", "file": "", ".git/HEAD": ""})
	away, db := t.TempDir(), filepath.Join(top, "db")
	for name, tc := range map[string]struct {
		rootDir string
		req     Request
		want    string
	}{
		"it is there":           {top + "/pkg", Request{}, top + "/pkg"},
		"it is the top":         {top, Request{}, top},
		"it is not there":       {top + "/gone", Request{}, db},
		"it is no folder":       {top + "/file", Request{}, db},
		"it is elsewhere":       {away, Request{}, db},
		"there is none":         {"", Request{}, db},
		"another root is given": {top + "/gone", Request{Root: top + "/pkg"}, top + "/pkg"},
		"it is in a root":       {top + "/pkg", Request{Root: top}, top + "/pkg"},
		"another one is given":  {top + "/pkg", Request{Dir: top}, top},
	} {
		tc.req.To = filepath.Join(db, "smithers.db")
		x := &runExport{exportedRun: &exportedRun{Tip: &stored.Tip{Row: snapshot.Run{VCSType: snapshot.VCSGit}}}, req: tc.req}
		require.NoError(t, x.place())
		row := source.Row{"config_json": dbrow.Text(`{"rootDir":` + jsonobject.Quote(tc.rootDir) + `}`)}
		assert.Equal(t, tc.want, x.resumedIn(row), name)
		if tc.req.Root == "" {
			assert.Equal(t, top, x.req.Root, name)
		}
	}
}

// project writes source files and returns their folder.
func project(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, source := range files {
		file := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o777))
		require.NoError(t, os.WriteFile(file, []byte(source), 0o666))
	}
	return dir
}
