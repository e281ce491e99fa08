package timeline

// FlushAt has a series write a pack whenever it holds so many bytes.
func (b *Series) FlushAt(bytes int64) { b.most = bytes }
