package refs

// These constants are folders of refs, for patterns and lists. To name a ref, use Tip, Frame, Gone, Held,
// Remote or RemoteGone, or append a component to a folder.
const (
	Folder        = prefix       // all refs of this clone's runs
	TipsFolder    = tipPrefix    // the tips of runs
	GoneFolder    = gonePrefix   // tombstones of pruned runs
	HeldFolder    = heldPrefix   // tips of pruned runs whose objects are kept
	RemotesFolder = remotePrefix // a folder of tracking refs for each remote
)

// RemoteFolder returns the folder of the tracking refs for a remote's tips. remote is a RemoteComponent.
func RemoteFolder(remote string) string { return remotePrefix + remote + "/" }

// RemoteGoneFolder returns the folder of the tracking refs for a remote's tombstones. remote is a
// RemoteComponent.
func RemoteGoneFolder(remote string) string { return RemoteFolder(remote) + goneFolder + "/" }
