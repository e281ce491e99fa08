package worktrees_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/git-smithers/git-smithers/jjbridge/worktrees"
)

// WorkspaceAdd is Smithers' workspaceAdd, for git as well: here it adds a worktree at the commit before the newest.
func ExampleWorkspaceAdd() {
	dir, err := os.MkdirTemp("", "example")
	check(err)
	defer os.RemoveAll(dir)
	repo := filepath.Join(dir, "repo")
	for _, args := range [][]string{
		{"init", "--quiet", repo},
		{"-C", repo, "-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "--quiet", "--allow-empty", "--message=one"},
		{"-C", repo, "-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "--quiet", "--allow-empty", "--message=two"},
	} {
		check(exec.Command("git", args...).Run())
	}

	added, err := worktrees.WorkspaceAdd(context.Background(), repo, os.Environ(), "", filepath.Join(dir, "beside"), "HEAD~1")
	check(err)
	subject, err := exec.Command("git", "-C", added.Root, "log", "--max-count=1", "--format=%s").Output()
	check(err)
	fmt.Print(string(subject))
	fmt.Println(filepath.Base(added.Root), added.Type)
	// Output:
	// one
	// beside git
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
