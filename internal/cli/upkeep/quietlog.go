package upkeep

import (
	"context"
	"strings"

	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/timeline"
)

// quietTool has the setting or command that hides the commits of runs in the log of one tool.
type quietTool struct {
	Tool string `json:"tool"`
	Why  string `json:"why"`
	Set  string `json:"set"` // a command for the shell, or lines of a file
}

// withoutRuns has the options of git log for all refs except the refs of runs. --exclude must precede --all, because
// git applies --exclude only to the options after it.
const withoutRuns = "--exclude=refs/smithers/* --exclude=refs/smithers-remote/* --all"

// quietTools returns a quietTool for each tool that shows run history because it shows all refs.
func quietTools() []quietTool {
	return []quietTool{
		{"git log", "an alias, `git lga`, for `git log --all`", `git config alias.lga "log --graph --oneline ` + withoutRuns + `"`},
		{
			"git log --decorate", "no names of runs beside commits",
			"git config --add log.excludeDecoration 'refs/smithers/*'; git config --add log.excludeDecoration 'refs/smithers-remote/*'",
		},
		{"gitk", "in place of `gitk --all`", "gitk '--exclude=refs/smithers/*' '--exclude=refs/smithers-remote/*' --all"},
		{"tig", "in place of `tig --all`", "tig '--exclude=refs/smithers/*' '--exclude=refs/smithers-remote/*' --all"},
		{
			"lazygit", "in lazygit's config.yml, for its log of all branches",
			"git:\n  allBranchesLogCmds:\n    - git log --graph --color=always " + quoteEach(withoutRuns) + " --abbrev-commit --decorate --date=relative --pretty=medium",
		},
	}
}

// quoteEach returns words with single quotes around each word that has a star, so that a shell does not expand the
// star.
func quoteEach(words string) string {
	list := strings.Fields(words)
	for i, word := range list {
		if strings.Contains(word, "*") {
			list[i] = "'" + word + "'"
		}
	}
	return strings.Join(list, " ")
}

// printQuietLog prints the settings of quietTools for the user to copy. It changes no setting.
func printQuietLog(ctx context.Context, s *session.Session) error {
	doc := initDocument{Kind: "init", QuietLog: quietTools()}
	err := s.WithStore(ctx, func(store *timeline.Store) error {
		doc.GitDir = store.Repo().CommonDir
		return nil
	})
	if err != nil {
		return err
	}
	if s.JSON {
		return s.WriteJSON(doc)
	}
	for _, tool := range doc.QuietLog {
		if err := s.Printf("# %s: %s\n%s\n", tool.Tool, tool.Why, tool.Set); err != nil {
			return err
		}
	}
	return nil
}
