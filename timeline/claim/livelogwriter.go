package claim

import "os"

// liveLogWriter writes the file of one log. Whenever the file has more than twice limit bytes, it replaces the file
// by one with the last limit bytes.
type liveLogWriter struct {
	path  string
	limit int64
	file  *os.File
	start int64 // how many bytes of the log were before those in the file
	size  int64 // how many bytes of the log are in the file
	dead  bool  // a write failed; further bytes are dropped
}

// Write appends p to the log. It never returns an error.
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

// Shorten replaces the kept part of the log by kept. It never returns an error.
func (w *liveLogWriter) Shorten(kept []byte) error {
	if !w.dead {
		w.dead = w.replace(kept) != nil
	}
	return nil
}

// replace begins a new file with kept, the last bytes of the log so far.
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

// Close closes the file and does not remove it.
func (w *liveLogWriter) Close() error { return w.file.Close() }
