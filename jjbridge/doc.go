// Package jjbridge pairs the frames of a run with their working copy. A working copy is git's main worktree, a linked
// worktree of git, or a jj workspace, colocated or not. The package finds working copies (Locate), reads them (Pointer,
// Capture), and restores them (Plan, Restore). The package worktrees makes and removes working copies. The package
// gitindex keeps a private index for each working copy.
//
// For other engines, the counterparts of Smithers' helpers:
//
//   - run a command of jj or git: [Workspace.Run]
//   - check without a command whether a folder is in a repository: [IsRepo]; [Locate] finds the repository
//   - get the pointer of a working copy: [Workspace.Pointer]; [TagOf] writes the pointer as Smithers does
//   - go back to a pointer: [Workspace.Plan] and [Workspace.Restore], and [RestoreConflict] for a conflict of jj
//   - get a revision by name: [ResolveCommit]
//   - list the working copies: worktrees.List
//   - add a working copy at a revision: worktrees.WorkspaceAdd; worktrees.Add makes a branch, too
//   - remove a working copy: worktrees.Forget; worktrees.CheckRemoval returns Forget's refusal beforehand
//
// The package runs the commands git and jj, because git and jj decide which content of a file counts. The user's index,
// HEAD, stash, hooks and reflogs stay as they are. Files that were not captured also stay as they are. In a jj
// workspace, the package makes jj record the working copy, as each command of jj does.
//
// It is not a promised API: any version may change it. IsRepo and worktrees.WorkspaceAdd stay.
package jjbridge
