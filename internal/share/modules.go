package share

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// UnsentModule is a submodule with commits that captured files name and that a push of runs does not send.
type UnsentModule struct {
	Path    string        `json:"path"` // in the working copy
	Commits []objstore.ID `json:"commits"`
}

// lookForModules sets p.modules to the submodules with commits that none of their remotes was seen to have, and warns about each. modules
// has the commits in captured files that the remote lacks.
func (p *push) lookForModules(ctx context.Context, modules map[string][]objstore.ID) {
	const most = 100 // of the newest commits of a submodule
	p.modules = nil
	for _, path := range slices.Sorted(maps.Keys(modules)) {
		ids := modules[path]
		unsent, remotes, err := p.store.Workspace().UnsentModuleCommits(ctx, path, ids[:min(most, len(ids))])
		if err != nil {
			p.store.Warn(fmt.Errorf("submodule %s cannot be read: %w", plain.Text(path), err))
		}
		if len(unsent) == 0 {
			continue
		}
		p.modules = append(p.modules, UnsentModule{path, unsent})
		remote, id := "REMOTE", unsent[0].String()
		if len(remotes) == 1 {
			remote = remotes[0]
		}
		command := fault.CommandLine("git", "-C", path, "push", remote, id+":refs/heads/run-"+id[:12])
		p.store.Warn(fmt.Errorf("whoever fetches the runs lacks %s of submodule %s, such as %s: `%s` sends it",
			plain.Count(len(unsent), "commit"), plain.Text(path), id, command))
	}
}
