// Package worktrees lists, makes, rebases and removes the working copies of a repository: git's linked worktrees, or the
// workspaces of jj. Every function takes a [jjbridge.Workspace], the working copy in which the user works, and leaves
// its files alone; only [Rebase] changes them.
//
// A lock under the repository's common directory keeps two processes from making or removing working copies at once.
package worktrees
