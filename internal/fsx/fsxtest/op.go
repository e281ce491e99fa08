package fsxtest

// Kind is the kind of an [Op].
type Kind string

// The kinds of [Op].
const (
	Create  Kind = "create"
	Open    Kind = "open" // opens a file that is there for writing
	Write   Kind = "write"
	Sync    Kind = "sync"
	Rename  Kind = "rename"
	Link    Kind = "link"
	Remove  Kind = "remove"
	Mkdir   Kind = "mkdir" // creates a folder and the folders above it
	SyncDir Kind = "syncdir"
	Mark    Kind = "mark" // an event of the test, which changes no file; see FS.Mark
)

// Op is one operation on the file system, either done or about to be done.
type Op struct {
	Kind Kind
	// Path is relative to the root, with slashes. A write to a renamed file has the path at which the
	// file was created. A Mark has its text.
	Path string
	To   string // the new path; only of Rename and Link

	file   int    // number of the open file; only of Create, Open, Write and Sync
	offset int64  // only of Write
	data   []byte // only of Write
}

// String returns the kind and the paths of the op, for example "rename a to b".
func (o Op) String() string {
	if o.To != "" {
		return string(o.Kind) + " " + o.Path + " to " + o.To
	}
	return string(o.Kind) + " " + o.Path
}

// IsSync reports whether the op is a Sync or a SyncDir, which put content on stable storage.
func (o Op) IsSync() bool { return o.Kind == Sync || o.Kind == SyncDir }
