package land

import (
	"context"

	"github.com/git-smithers/git-smithers/timeline"
)

func landJJ(ctx context.Context, s *timeline.Store, req Request) (*Result, error) { panic("jj") }

func (t *TakeBack) checkJJ(ctx context.Context) error { return nil }
func (t *TakeBack) doJJ(ctx context.Context) error    { return nil }
