package jjbridge

import "testing"

// LockForTest holds the private index of w until the result is called.
func LockForTest(t testing.TB, w *Workspace) (unlock func()) {
	t.Helper()
	p, err := w.lockIndex(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := p.Unlock(); err != nil {
			t.Error(err)
		}
	}
}
