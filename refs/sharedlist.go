package refs

import "context"

// Gone lists the tombstones of this clone; see Tips.
func (db *DB) Gone(ctx context.Context) ([]TipRef, error) { return db.tips(ctx, gonePrefix) }

// Held lists the pruned runs that are not yet collected; see Tips.
func (db *DB) Held(ctx context.Context) ([]TipRef, error) { return db.tips(ctx, heldPrefix) }

// RemoteTips lists the tracking refs for a remote's tips; see Tips, and RemoteComponent for remote.
func (db *DB) RemoteTips(ctx context.Context, remote string) ([]TipRef, error) {
	return db.tips(ctx, remotePrefix+remote+"/")
}

// RemoteGone lists the tracking refs for a remote's tombstones; see Tips.
func (db *DB) RemoteGone(ctx context.Context, remote string) ([]TipRef, error) {
	return db.tips(ctx, remotePrefix+remote+"/"+goneFolder+"/")
}
