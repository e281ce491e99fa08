package refs

import "context"

// Gone returns the tombstones of this clone, as Tips returns tips.
func (db *DB) Gone(ctx context.Context) ([]TipRef, error) { return db.tips(ctx, gonePrefix) }

// Held returns the tips of the pruned runs whose objects are not yet collected, as Tips returns tips.
func (db *DB) Held(ctx context.Context) ([]TipRef, error) { return db.tips(ctx, heldPrefix) }

// RemoteTips returns the tracking refs for a remote's tips, as Tips returns tips. remote is a
// RemoteComponent.
func (db *DB) RemoteTips(ctx context.Context, remote string) ([]TipRef, error) {
	return db.tips(ctx, remotePrefix+remote+"/")
}

// RemoteGone returns the tracking refs for a remote's tombstones, as Tips returns tips. remote is a
// RemoteComponent.
func (db *DB) RemoteGone(ctx context.Context, remote string) ([]TipRef, error) {
	return db.tips(ctx, remotePrefix+remote+"/"+goneFolder+"/")
}
