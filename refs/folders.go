package refs

// The folders of refs, for patterns and for what is listed elsewhere. A name in them is
// made by Tip, Frame, Gone, Held, Remote and RemoteGone, or by a folder and a component.
const (
	// Folder is where all refs of runs are that git may carry; RemotesFolder has a folder
	// for each remote.
	Folder        = prefix
	TipsFolder    = tipPrefix
	GoneFolder    = gonePrefix
	HeldFolder    = heldPrefix
	RemotesFolder = remotePrefix
)

// RemoteFolder is where a clone remembers the tips that a remote has, and RemoteGoneFolder
// its tombstones; see RemoteComponent.
func RemoteFolder(remote string) string { return remotePrefix + remote + "/" }

// RemoteGoneFolder is the same for tombstones.
func RemoteGoneFolder(remote string) string { return RemoteFolder(remote) + goneFolder + "/" }
