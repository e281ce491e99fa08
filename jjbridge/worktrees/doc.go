// Package worktrees lists, adds, rebases and removes the working copies of a repository: git's linked worktrees, or
// jj's workspaces. Every function takes a [jjbridge.Workspace], the working copy in which the user works. Only [Rebase]
// changes the files of this working copy.
//
// A lock below the repository's common directory keeps two processes from adding or removing working copies at once.
//
// It is not a promised API: any version may change it. [WorkspaceAdd] stays.
package worktrees
