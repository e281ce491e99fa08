package claim

import "os"

// liveLogWriter writes the file of one log. When the file has more than twice limit bytes, the writer replaces
// the file by a file with the last limit bytes.
type liveLogWriter struct {
	path  string
	limit int64 // the number of bytes that the file keeps when it becomes too large
	file  *os.File
	start int64 // the number of bytes of the log before the bytes in the file
	size  int64 // the number of bytes of the log in the file
	dead  bool  // a write failed, so further bytes are dropped
}

// Write appends p to the log. It always returns len(p) and nil: after the first error of the disk, Write drops
// all bytes.
func (w *liveLogWriter) Write(p []byte) (int, error) {
	if w.dead {
		return len(p), nil
	}
	n, err := w.file.Write(p)
	w.size += int64(n)
	if err == nil && w.size > 2*w.limit {
		err = w.shorten()
	}
	w.dead = err != nil
	return len(p), nil
}

// shorten replaces the file by a file with only the last w.limit bytes of the log. The file must have at least w.limit
// bytes of the log.
func (w *liveLogWriter) shorten() error {
	kept := make([]byte, w.limit)
	if _, err := w.file.ReadAt(kept, liveLogHeader+w.size-w.limit); err != nil {
		return err
	}
	return w.replace(kept)
}

// Shorten replaces the log's file by a file that has only kept: the ends of the log's streams that the engine keeps. It
// always returns nil: after an error of the disk, the writer drops all further bytes.
func (w *liveLogWriter) Shorten(kept []byte) error {
	if !w.dead {
		w.dead = w.replace(kept) != nil
	}
	return nil
}

// replace replaces the log's file by a new file that has only kept, the bytes of the log that are not dropped. The
// writer then writes to the new file.
func (w *liveLogWriter) replace(kept []byte) error {
	start := max(0, w.start+w.size-int64(len(kept)))
	file, err := newLiveLog(w.path, start, kept)
	if err != nil {
		return err
	}
	before := w.file
	w.file, w.start, w.size = file, start, int64(len(kept))
	return before.Close()
}

// Close closes the file. The file stays until [LiveLogs.Remove].
func (w *liveLogWriter) Close() error { return w.file.Close() }
