package jjbridge_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/git-smithers/git-smithers/jjbridge"
)

// IsRepo is Smithers' isJjRepo, for git as well.
func ExampleIsRepo() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	src := filepath.Join(dir, "src")
	if err := os.MkdirAll(src, 0o700); err != nil {
		panic(err)
	}
	fmt.Println(jjbridge.IsRepo(src))
	if err := os.Mkdir(filepath.Join(dir, ".jj"), 0o700); err != nil {
		panic(err)
	}
	fmt.Println(jjbridge.IsRepo(src))
	// Output:
	// false
	// true
}
