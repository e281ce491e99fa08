package refs

import "context"

// Gone returns the refs of this clone's tombstones, sorted by name. If some refs are broken, it returns the others
// and an error that wraps ErrBroken.
func (db *DB) Gone(ctx context.Context) ([]TipRef, error) { return db.tips(ctx, gonePrefix) }

// Held returns the refs that keep the tips of pruned runs until git collects their objects, sorted by name. If some
// refs are broken, it returns the others and an error that wraps ErrBroken.
func (db *DB) Held(ctx context.Context) ([]TipRef, error) { return db.tips(ctx, heldPrefix) }

// RemoteTips returns the tracking refs for the tips of a remote, sorted by name. remote is a RemoteComponent. If some
// refs are broken, RemoteTips returns the others and an error that wraps ErrBroken.
func (db *DB) RemoteTips(ctx context.Context, remote string) ([]TipRef, error) {
	return db.tips(ctx, remotePrefix+remote+"/")
}

// RemoteGone returns the tracking refs for the tombstones of a remote, sorted by name. remote is a RemoteComponent.
// If some refs are broken, RemoteGone returns the others and an error that wraps ErrBroken.
func (db *DB) RemoteGone(ctx context.Context, remote string) ([]TipRef, error) {
	return db.tips(ctx, remotePrefix+remote+"/"+goneFolder+"/")
}
