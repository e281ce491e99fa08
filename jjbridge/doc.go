// Package jjbridge pairs the frames of a run with their working copy: git's main or a linked
// worktree, or a jj workspace, colocated or not. It finds working copies (Locate), reads them
// (Pointer, Capture), and restores them (Plan, Restore). The package worktrees makes and removes
// working copies; the package gitindex keeps an index of our own for each.
//
// For other engines, the counterparts of Smithers' helpers:
//
//   - run a command of jj or git: [Workspace.Run]
//   - find out whether a folder is in a repository: [IsRepo], without running anything; [Locate] finds it
//   - get its pointer: [Workspace.Pointer]; [TagOf] spells it as Smithers does
//   - go back to a pointer: [Workspace.Plan] and [Workspace.Restore], and [RestoreConflict] for a conflict of jj's
//   - get a revision by name: [ResolveCommit]
//   - list the working copies: worktrees.List
//   - add one at a revision: worktrees.Add with AddRequest.Base or AddRequest.Commit
//   - remove one: worktrees.Forget; worktrees.CheckRemoval reports beforehand whether Forget would refuse
//
// It works by the commands of git and jj themselves, because their view of a file is the one that
// counts. The user's index, HEAD, stash, hooks and reflogs stay as they are, and so do files that
// were not captured. Only jj, which records its working copy by itself, is asked to do so.
package jjbridge
