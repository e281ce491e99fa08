//go:build !linux

package main

// agentJail needs namespaces of Linux.
func agentJail() {}
