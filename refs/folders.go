package refs

// Folders of refs, for patterns and lists. Names in them come from Tip, Frame, Gone, Held, Remote
// and RemoteGone, or from a folder and a component.
const (
	// Folder contains all refs of runs, which git may push; RemotesFolder contains a folder
	// for each remote.
	Folder        = prefix
	TipsFolder    = tipPrefix
	GoneFolder    = gonePrefix
	HeldFolder    = heldPrefix
	RemotesFolder = remotePrefix
)

// RemoteFolder returns the folder of a remote's tracking refs for tips; see RemoteComponent.
func RemoteFolder(remote string) string { return remotePrefix + remote + "/" }

// RemoteGoneFolder returns the folder of a remote's tracking refs for tombstones.
func RemoteGoneFolder(remote string) string { return RemoteFolder(remote) + goneFolder + "/" }
