// Registry is distribution with what a private cluster needs: files as storage, and accounts in a file. Its own main
// package also brings the clients of three clouds, which take most of the build.
package main

import (
	"fmt"
	"io"
	"os"

	"github.com/distribution/distribution/v3/registry"
	_ "github.com/distribution/distribution/v3/registry/auth/htpasswd"
	_ "github.com/distribution/distribution/v3/registry/auth/token"
	_ "github.com/distribution/distribution/v3/registry/storage/driver/filesystem"
	"golang.org/x/crypto/bcrypt"
)

func main() {
	run := registry.RootCmd.Execute
	if len(os.Args) == 2 && os.Args[1] == "hash-password" {
		run = hashPassword
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// hashPassword reads a password and prints it as the file of accounts wants it. At the lowest cost: the registry checks
// it with every request, and a long random password needs no slow hash.
func hashPassword() error {
	password, err := io.ReadAll(io.LimitReader(os.Stdin, 72))
	if err != nil {
		return err
	}
	hash, err := bcrypt.GenerateFromPassword(password, bcrypt.MinCost)
	if err != nil {
		return err
	}
	fmt.Println(string(hash))
	return nil
}
