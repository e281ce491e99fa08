package claim

import "os"

// liveLogWriter writes the file of one log, and replaces it by one that keeps the last
// limit bytes whenever it has more than twice as many.
type liveLogWriter struct {
	path  string
	limit int64
	file  *os.File
	start int64 // how many bytes of the log were before those in the file
	size  int64 // how many are in the file
	dead  bool
}

// Write never fails.
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

func (w *liveLogWriter) shorten() error {
	kept := make([]byte, w.limit)
	if _, err := w.file.ReadAt(kept, liveLogHeader+w.size-w.limit); err != nil {
		return err
	}
	return w.replace(kept)
}

// Shorten makes kept all that the log has so far. It never fails.
func (w *liveLogWriter) Shorten(kept []byte) error {
	if !w.dead {
		w.dead = w.replace(kept) != nil
	}
	return nil
}

// replace begins a new file with kept, which stands for the end of all that was written.
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

// Close leaves the file where it is.
func (w *liveLogWriter) Close() error { return w.file.Close() }
