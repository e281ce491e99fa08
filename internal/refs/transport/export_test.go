package transport

import "context"

// ConfigText is configText.
func ConfigText(list string) string { return configText(list) }

// TakeBundle stores the objects of a bundle, as Fetch does before the refs move.
func (t *Transport) TakeBundle(ctx context.Context, path string) (letGo func(), err error) {
	return t.takeBundle(ctx, path, path)
}
