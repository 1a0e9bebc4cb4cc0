// Command kubelet serves what the API server asks a node for: exec, logs and port-forward of pods, with the streaming
// code that container runtimes use. A pod is a folder under --pods: its commands run there as processes of this machine, its
// log is the file `log`, and its ports are those of 127.0.0.1. It knows no container, so only tests use it.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/creack/pty"
	"k8s.io/cri-streaming/pkg/streaming/portforward"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	utilexec "k8s.io/utils/exec"
)

const (
	idle     = 4 * time.Hour
	creation = 30 * time.Second
	poll     = 20 * time.Millisecond
)

var podName = regexp.MustCompile(`^[a-z0-9][-a-z0-9.]*$`)

// kubelet is the node of all pods.
type kubelet struct {
	pods string
}

func main() {
	listen := flag.String("listen", "", "address and port")
	pods := flag.String("pods", "", "folder with a folder for each pod")
	certificate := flag.String("cert", "", "PEM file")
	key := flag.String("key", "", "PEM file")
	clientCA := flag.String("client-ca", "", "PEM file: only whom it certifies may ask, as anybody else would have a shell here")
	flag.Parse()

	authority, err := os.ReadFile(*clientCA)
	if err != nil {
		log.Fatal(err)
	}
	clients := x509.NewCertPool()
	if !clients.AppendCertsFromPEM(authority) {
		log.Fatalf("no certificate in %s", *clientCA)
	}
	node := &kubelet{pods: *pods}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", node.logs)
	mux.HandleFunc("/exec/{namespace}/{pod}/{container}", node.exec)
	mux.HandleFunc("/portForward/{namespace}/{pod}", node.portForward)
	server := &http.Server{
		Addr:      *listen,
		Handler:   mux,
		TLSConfig: &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: clients},
		// An upgrade takes the connection, which HTTP/2 shares among requests.
		TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){},
	}
	log.Fatal(server.ListenAndServeTLS(*certificate, *key))
}

func (k *kubelet) folder(name string) (string, error) {
	if !podName.MatchString(name) {
		return "", fmt.Errorf("no pod %q", name)
	}
	folder := filepath.Join(k.pods, name)
	return folder, os.MkdirAll(folder, 0o700)
}

func (k *kubelet) exec(w http.ResponseWriter, r *http.Request) {
	options, err := remotecommand.NewOptions(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	remotecommand.ServeExec(w, r, k, r.PathValue("pod"), "", r.PathValue("container"), r.URL.Query()["command"],
		options, idle, creation, remotecommand.SupportedStreamingProtocols)
}

// ExecInContainer runs one command in the pod's folder, in a process group of its own that ends with the connection.
func (k *kubelet) ExecInContainer(ctx context.Context, name, _, _ string, command []string, in io.Reader,
	out, errors io.WriteCloser, tty bool, resize <-chan remotecommand.TerminalSize, _ time.Duration) error {
	folder, err := k.folder(name)
	if err != nil {
		return err
	}
	if len(command) == 0 {
		return fmt.Errorf("no command")
	}
	process := exec.Command(command[0], command[1:]...)
	process.Dir = folder
	process.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + folder, "TERM=xterm"}
	if tty {
		err = runTerminal(ctx, process, in, out, resize)
	} else {
		err = runPlain(ctx, process, in, out, errors)
	}
	if ended, ok := err.(*exec.ExitError); ok {
		return utilexec.CodeExitError{Err: ended, Code: ended.ExitCode()}
	}
	return err
}

func killGroup(process *exec.Cmd) {
	if process.Process != nil {
		_ = syscall.Kill(-process.Process.Pid, syscall.SIGKILL)
	}
}

func runPlain(ctx context.Context, process *exec.Cmd, in io.Reader, out, errors io.WriteCloser) error {
	process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	process.Stdout, process.Stderr = out, errors
	if in != nil {
		// Not process.Stdin: Wait would not end before the client closes its side.
		stdin, err := process.StdinPipe()
		if err != nil {
			return err
		}
		go func() {
			defer stdin.Close()
			_, _ = io.Copy(stdin, in)
		}()
	}
	if err := process.Start(); err != nil {
		return utilexec.CodeExitError{Err: err, Code: 127}
	}
	stop := context.AfterFunc(ctx, func() { killGroup(process) })
	defer stop()
	return process.Wait()
}

func runTerminal(ctx context.Context, process *exec.Cmd, in io.Reader, out io.Writer,
	resize <-chan remotecommand.TerminalSize) error {
	terminal, err := pty.Start(process)
	if err != nil {
		return utilexec.CodeExitError{Err: err, Code: 127}
	}
	defer terminal.Close()
	stop := context.AfterFunc(ctx, func() { killGroup(process) })
	defer stop()
	go func() {
		for size := range resize {
			_ = pty.Setsize(terminal, &pty.Winsize{Rows: size.Height, Cols: size.Width})
		}
	}()
	if in != nil {
		go func() {
			_, _ = io.Copy(terminal, in)
		}()
	}
	var copied sync.WaitGroup
	copied.Add(1)
	go func() {
		defer copied.Done()
		_, _ = io.Copy(out, terminal)
	}()
	err = process.Wait()
	copied.Wait()
	return err
}

func (k *kubelet) portForward(w http.ResponseWriter, r *http.Request) {
	options, err := portforward.NewV4Options(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	portforward.ServePortForward(w, r, k, r.PathValue("pod"), "", options, idle, creation, portforward.SupportedProtocols)
}

// PortForward joins a stream with a port of this machine.
func (k *kubelet) PortForward(_ context.Context, _, _ string, port int32, stream io.ReadWriteCloser) error {
	connection, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(int(port))))
	if err != nil {
		return err
	}
	defer connection.Close()
	defer stream.Close()
	done := make(chan struct{}, 2)
	go func() {
		_, _ = io.Copy(connection, stream)
		_ = connection.(*net.TCPConn).CloseWrite()
		done <- struct{}{}
	}()
	go func() {
		_, _ = io.Copy(stream, connection)
		done <- struct{}{}
	}()
	// The server's side ends the forward; a client that has sent all of its bytes still waits for the answer.
	<-done
	<-done
	return nil
}

func (k *kubelet) logs(w http.ResponseWriter, r *http.Request) {
	folder, err := k.folder(r.PathValue("pod"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	file, err := os.OpenFile(filepath.Join(folder, "log"), os.O_RDONLY|os.O_CREATE, 0o600)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	defer file.Close()
	w.Header().Set("Content-Type", "text/plain")
	text, _ := io.ReadAll(file)
	if tail, err := strconv.Atoi(r.URL.Query().Get("tailLines")); err == nil {
		lines := strings.SplitAfter(string(text), "\n")
		if last := len(lines) - 1; lines[last] == "" {
			lines = lines[:last]
		}
		text = []byte(strings.Join(lines[max(0, len(lines)-tail):], ""))
	}
	_, _ = w.Write(text)
	follow, _ := strconv.ParseBool(r.URL.Query().Get("follow"))
	for follow && r.Context().Err() == nil {
		if flusher, ok := w.(http.Flusher); ok {
			flusher.Flush()
		}
		if _, err := io.Copy(w, file); err != nil {
			return
		}
		time.Sleep(poll)
	}
}
