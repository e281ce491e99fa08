// Package jjbridge pairs the frames of a run with the working copy that they belong to:
// git's main or a linked worktree, or a jj workspace, colocated or not. It finds working
// copies (Locate), reads them (Pointer, Capture), and restores them (Plan, Restore). The package
// worktrees makes and removes working copies.
//
// For other engines, what Smithers' helpers of the same purpose do:
//
//   - run a command of jj or git: [Workspace.Run]
//   - is it a repository: [IsRepo], without running anything; [Locate] finds it
//   - its pointer: [Workspace.Pointer]; [TagOf] spells it as Smithers does
//   - go back to a pointer: [Workspace.Plan] and [Workspace.Restore], and [RestoreConflict] for a conflict of jj's
//   - a revision by name: [ResolveCommit]
//   - list the working copies: worktrees.List
//   - add one at a revision: worktrees.Add with AddRequest.Base or AddRequest.Commit
//   - forget one: worktrees.Forget; worktrees.CheckRemoval says beforehand whether Forget would refuse
//
// It works by the commands of git and jj themselves, whose own view of a file is the one
// that counts. What is the user's stays as it is: index, HEAD, stash, hooks, reflogs, and
// files that nobody recorded. Only jj, which records its working copy by itself, is asked
// to do so.
package jjbridge
