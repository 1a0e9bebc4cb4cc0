// konnectivity runs the server or the agent of the API server's network proxy. The server takes HTTP CONNECT on a loopback
// port, which its own command serves on a Unix socket or with TLS alone; all else is the module's.
package main

import (
	"crypto/tls"
	"flag"
	"log"
	"net"
	"net/http"
	"os"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"k8s.io/klog/v2"
	agentapp "sigs.k8s.io/apiserver-network-proxy/cmd/agent/app"
	agentoptions "sigs.k8s.io/apiserver-network-proxy/cmd/agent/app/options"
	"sigs.k8s.io/apiserver-network-proxy/cmd/server/app/options"
	"sigs.k8s.io/apiserver-network-proxy/pkg/server"
	"sigs.k8s.io/apiserver-network-proxy/pkg/server/proxystrategies"
	"sigs.k8s.io/apiserver-network-proxy/proto/agent"
)

func main() {
	klog.LogToStderr(true)
	if os.Args[1] == "agent" {
		o := agentoptions.NewGrpcProxyAgentOptions()
		command := agentapp.NewAgentCommand(&agentapp.Agent{}, o)
		command.Flags().AddFlagSet(o.Flags())
		command.SetArgs(os.Args[2:])
		if err := command.Execute(); err != nil {
			log.Fatal(err)
		}
		return
	}
	flags := flag.NewFlagSet("server", flag.ExitOnError)
	listen := flags.String("listen", "", "where kubectl asks for CONNECT")
	agents := flags.String("agents", "", "where the agent connects")
	cert := flags.String("cert", "", "PEM for the agent")
	key := flags.String("key", "", "its key")
	flags.Parse(os.Args[2:])
	pair, err := tls.LoadX509KeyPair(*cert, *key)
	if err != nil {
		log.Fatal(err)
	}
	defaults := options.NewProxyRunOptions()
	proxy := server.NewProxyServer(
		"bench",
		[]proxystrategies.ProxyStrategy{proxystrategies.ProxyStrategyDefault},
		1,
		&server.AgentTokenAuthenticationOptions{},
		defaults.XfrChannelSize,
	)
	grpcServer := grpc.NewServer(grpc.Creds(credentials.NewTLS(&tls.Config{Certificates: []tls.Certificate{pair}})))
	agent.RegisterAgentServiceServer(grpcServer, proxy)
	listener, err := net.Listen("tcp", *agents)
	if err != nil {
		log.Fatal(err)
	}
	go func() { log.Fatal(grpcServer.Serve(listener)) }()
	log.Fatal(http.ListenAndServe(*listen, &server.Tunnel{Server: proxy}))
}
