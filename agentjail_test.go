//go:build linux

package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"

	"golang.org/x/sys/unix"

	"github.com/git-smithers/git-smithers/internal/modeltest"
)

// modelAddress is where the fake model listens, in a network of its own.
const modelAddress = "127.0.0.1:8099"

// agentJail is a program that runs a coding agent against a fake model: agent-jail SCRIPT LOG PROGRAM ARG... It must be in a network
// namespace of its own, where it starts the loopback device. There is nothing else that the agent could reach.
func agentJail() {
	script, requests, command := os.Args[1], os.Args[2], os.Args[3:]
	model, err := modeltest.New(script, requests)
	if err == nil {
		err = startLoopback()
	}
	var listener net.Listener
	if err == nil {
		listener, err = net.Listen("tcp", modelAddress)
	}
	if err != nil {
		giveUp(err)
	}
	go func() { giveUp(http.Serve(listener, model)) }()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		giveUp(err)
	}
	os.Exit(0)
}

// giveUp ends the program with an error.
func giveUp(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// startLoopback starts the loopback device of a new network namespace.
func startLoopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd) //nolint:errcheck // it was only asked
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo)
}
