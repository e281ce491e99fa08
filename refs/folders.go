package refs

// Folders of refs, for patterns and lists. Names in them come from Tip, Frame, Gone, Held, Older,
// Remote and RemoteGone, or from a folder and a component.
const (
	// Folder contains all refs of runs, which git may push; RemotesFolder contains a folder
	// for each remote.
	Folder        = prefix
	TipsFolder    = tipPrefix
	GoneFolder    = gonePrefix
	HeldFolder    = heldPrefix
	OlderFolder   = olderPrefix
	RemotesFolder = remotePrefix
)

// RemoteFolder returns the name of the folder that has the tracking refs for the tips of a remote. remote is a
// RemoteComponent.
func RemoteFolder(remote string) string { return remotePrefix + remote + "/" }

// RemoteGoneFolder returns the name of the folder that has the tracking refs for the tombstones of a remote. remote
// is a RemoteComponent.
func RemoteGoneFolder(remote string) string { return RemoteFolder(remote) + goneFolder + "/" }
