// Package jjbridge pairs the frames of a run with the working copy that they belong to:
// git's main or a linked worktree, or a jj workspace, colocated or not. It finds working
// copies (Locate), reads them (Pointer, Capture), restores them (Plan, Restore), and
// makes and removes them (AddWorkspace, ForgetWorkspace).
//
// It works by the commands of git and jj themselves, whose own view of a file is the one
// that counts. What is the user's stays as it is: index, HEAD, stash, hooks, reflogs, and
// files that nobody recorded. Only jj, which records its working copy by itself, is asked
// to do so.
package jjbridge
