// The pause program: what keeps a pod's namespaces while its containers come and go.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	if len(os.Args) > 1 {
		os.Stdout.WriteString("pause for containerd v2.4.2\n")
		return
	}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGINT, syscall.SIGTERM)
	<-ended
}
