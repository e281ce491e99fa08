package refs

import "context"

// Gone lists the tombstones of this clone, as Tips lists tips.
func (db *DB) Gone(ctx context.Context) ([]TipRef, error) { return db.tips(ctx, gonePrefix) }

// Held lists the pruned runs that are not collected yet, as Tips lists tips.
func (db *DB) Held(ctx context.Context) ([]TipRef, error) { return db.tips(ctx, heldPrefix) }

// RemoteTips lists the tips that a remote was last seen to have, as Tips lists tips; see
// RemoteComponent for remote.
func (db *DB) RemoteTips(ctx context.Context, remote string) ([]TipRef, error) {
	return db.tips(ctx, remotePrefix+remote+"/")
}

// RemoteGone lists the tombstones that a remote was last seen to have, in the same way.
func (db *DB) RemoteGone(ctx context.Context, remote string) ([]TipRef, error) {
	return db.tips(ctx, remotePrefix+remote+"/"+goneFolder+"/")
}
