// remotedialer carries connections to one address from the machine of its server to that of its client, over one
// WebSocket with TLS: as Rancher reaches the clusters that it manages.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"flag"
	"io"
	"log"
	"net"
	"net/http"
	"os"

	"github.com/gorilla/websocket"
	"github.com/rancher/remotedialer"
)

func main() {
	listen := flag.String("listen", "", "server: where kubectl connects")
	connect := flag.String("connect", "", "where the WebSocket goes to, host:port")
	target := flag.String("target", "", "the API server, host:port")
	cert := flag.String("cert", "", "PEM of the WebSocket's server, which the client trusts")
	key := flag.String("key", "", "server: its key")
	flag.Parse()
	if *listen == "" {
		client(*connect, *cert, *target)
		return
	}
	server(*listen, *connect, *cert, *key, *target)
}

func server(listen, connect, cert, key, target string) {
	authorize := func(*http.Request) (string, bool, error) { return "cluster", true, nil }
	tunnel := remotedialer.New(authorize, remotedialer.DefaultErrorWriter)
	go func() { log.Fatal(http.ListenAndServeTLS(connect, cert, key, tunnel)) }()
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		log.Fatal(err)
	}
	dial := tunnel.Dialer("cluster")
	for {
		near, err := listener.Accept()
		if err != nil {
			log.Fatal(err)
		}
		go func() {
			defer near.Close()
			far, err := dial(context.Background(), "tcp", target)
			if err != nil {
				log.Print(err)
				return
			}
			defer far.Close()
			done := make(chan struct{}, 2)
			go func() { io.Copy(far, near); done <- struct{}{} }()
			go func() { io.Copy(near, far); done <- struct{}{} }()
			<-done
		}()
	}
}

func client(connect, cert, target string) {
	pem, err := os.ReadFile(cert)
	if err != nil {
		log.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	dialer := &websocket.Dialer{TLSClientConfig: &tls.Config{RootCAs: roots}}
	allowed := func(_, address string) bool { return address == target }
	for {
		remotedialer.ClientConnect(context.Background(), "wss://"+connect, nil, dialer, allowed, nil)
	}
}
