package refs

// The folders of this package's refs, for patterns and lists. The names in these folders come from Tip, Frame, Gone,
// Held, Remote and RemoteGone, or consist of a folder and a component.
const (
	// Folder has all refs of runs. git may push these refs. RemotesFolder has one folder for each remote.
	Folder        = prefix
	TipsFolder    = tipPrefix
	GoneFolder    = gonePrefix
	HeldFolder    = heldPrefix
	RemotesFolder = remotePrefix
)

// RemoteFolder returns the name of the folder that has the tracking refs for the tips of a remote. remote is a
// RemoteComponent.
func RemoteFolder(remote string) string { return remotePrefix + remote + "/" }

// RemoteGoneFolder returns the name of the folder that has the tracking refs for the tombstones of a remote. remote
// is a RemoteComponent.
func RemoteGoneFolder(remote string) string { return RemoteFolder(remote) + goneFolder + "/" }
