package inspect

import (
	"context"
	"strings"
	"time"
	"unicode"

	"github.com/git-smithers/git-smithers/internal/app"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/list"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/timeline"
)

// porcelainLimit is how long a prompt waits. An up-to-date index takes a few milliseconds; one that must be rebuilt from many runs is left to other commands.
const porcelainLimit = 250 * time.Millisecond

// maxPromptID is the maximum length of a run's id in a prompt, in bytes.
const maxPromptID = 100

// promptRuns is how many of the newest runs are looked at for one that is not a landing.
const promptRuns = 10

// printPorcelain prints the newest run's id, its status and its newest frame on a line, with tabs between them. Landings do not count. It prints nothing and returns nil if there is no
// repository or run, or if they cannot be read within the limit: a prompt has no place for errors, and status tells them.
func printPorcelain(ctx context.Context, s *session.Session, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	store, err := timeline.Open(ctx, timeline.Options{Dir: s.Dir, Env: s.Env, Now: s.Now, Warn: func(error) {}})
	if err != nil {
		return nil
	}
	defer func() { _ = store.Close() }() //nolint:contextcheck // closing must finish
	overview, err := list.ReadOverview(ctx, store, promptRuns)
	if err != nil {
		return nil
	}
	for _, run := range overview.Runs {
		if !app.IsLanding(run.RunID, run.WorkflowName) {
			return s.Printf("%s\t%s\t%d\n", plain.Cut(strings.Map(promptSafe, run.RunID), maxPromptID), run.Status, run.LatestFrame)
		}
	}
	return nil
}

// promptSafe returns r, or _ in place of a character that shells treat in a way of their own: an id may come from a stranger, and people put it into
// prompts that a shell expands.
func promptSafe(r rune) rune {
	if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("._-/:@+=,", r) {
		return r
	}
	return '_'
}
