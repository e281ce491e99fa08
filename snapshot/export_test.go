package snapshot

import "github.com/git-smithers/git-smithers/objstore"

// OpenState opens the state with the given parts; see [State.Parts].
func OpenState(r objstore.Reader, parts []objstore.TreeEntry) (*State, error) {
	return registered.openState(r, parts)
}
