package langgraph

// Opened returns the number of threads that are kept in memory.
func (t *Threads) Opened() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.open)
}
