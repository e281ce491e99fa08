package source

// SetLimit sets how many bytes a value may have, so that a test need not make one of 256 MiB.
func (db *DB) SetLimit(bytes int64) { db.limit = bytes }
