package inspect

import (
	"context"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/peer/agent"
	"github.com/git-smithers/git-smithers/timeline"
)

// withSessions returns addresses in which "@", the newest session of the working copy, is replaced by the id of its run: "@" and
// "@:FRAME" are addresses that only sessions have. Other texts, such as paths, stay as they are.
func withSessions(ctx context.Context, store *timeline.Store, texts ...string) ([]string, error) {
	texts = slices.Clone(texts)
	for i, text := range texts {
		if text != "@" && !strings.HasPrefix(text, "@:") {
			continue
		}
		var err error
		if texts[i], err = agent.Address(ctx, store, text); err != nil {
			return nil, err
		}
	}
	return texts, nil
}

// withSession returns an address as withSessions does.
func withSession(ctx context.Context, store *timeline.Store, text string) (string, error) {
	texts, err := withSessions(ctx, store, text)
	if err != nil {
		return "", err
	}
	return texts[0], nil
}
