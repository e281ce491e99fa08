//go:build unix

// Command git-smithers is what end-to-end tests run as git-smithers. The test binary could be that program, too, but what it links starts
// a third slower, and there are thousands of starts.
package main

import "github.com/git-smithers/git-smithers/internal/scripttest"

func main() { scripttest.Main() }
