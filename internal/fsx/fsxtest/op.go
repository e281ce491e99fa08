package fsxtest

// Kind is the kind of an [Op].
type Kind string

// The kinds of [Op].
const (
	Create  Kind = "create"
	Write   Kind = "write"
	Sync    Kind = "sync"
	Rename  Kind = "rename"
	Link    Kind = "link"
	Remove  Kind = "remove"
	Mkdir   Kind = "mkdir" // of a folder and those above it
	SyncDir Kind = "syncdir"
	Mark    Kind = "mark" // see FS.Mark; it changes nothing
)

// Op is one operation on the file system, done or about to be done.
type Op struct {
	Kind Kind
	Path string // below the root, with slashes; of a renamed file, the path at which it was made; the text of a Mark
	To   string // of Rename and Link

	file   int // number of the open file; of Create, Write and Sync
	offset int64
	data   []byte
}

// String returns the kind and the paths.
func (o Op) String() string {
	if o.To != "" {
		return string(o.Kind) + " " + o.Path + " to " + o.To
	}
	return string(o.Kind) + " " + o.Path
}

// IsSync reports whether the op puts something on stable storage.
func (o Op) IsSync() bool { return o.Kind == Sync || o.Kind == SyncDir }
