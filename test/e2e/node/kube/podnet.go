package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"os"
	"os/exec"
	"time"

	"github.com/vishvananda/netlink"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const (
	cniConf       = "/etc/cni/net.d/10-podnet.conflist"
	routeProtocol = 190 // marks the routes that podnet owns
)

// podnet gives every node's pods a network: it writes the node's CNI
// configuration from the node's podCIDR, routes the other nodes' podCIDRs to
// those nodes, masquerades what leaves the cluster, and holds the pods to the
// NetworkPolicies. IPv4 only.
func podnet(ctx context.Context) error {
	me, all := os.Getenv("NODE_NAME"), os.Getenv("POD_SUBNET")
	cfg, err := rest.InClusterConfig()
	if err != nil {
		return err
	}
	cfg.Timeout = 5 * time.Second // the service address works only once kube-proxy is up: fail soon, try again
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return err
	}
	policies := enforcer{}
	for last := ""; ; time.Sleep(time.Second) {
		said := "in step"
		if err := errors.Join(syncNode(ctx, client, me, all), policies.sync(ctx, client, me)); err != nil {
			said = err.Error()
		}
		if said != last {
			log.Println(said)
		}
		last = said
	}
}

func syncNode(ctx context.Context, client kubernetes.Interface, me, all string) error {
	nodes, err := client.CoreV1().Nodes().List(ctx, meta.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return err
	}
	want := map[string]net.IP{} // podCIDR -> the node that has it
	for _, n := range nodes.Items {
		switch {
		case n.Spec.PodCIDR == "":
		case n.Name == me:
			if err := masquerade(n.Spec.PodCIDR, all); err != nil {
				return err
			}
			if err := writeCNI(n.Spec.PodCIDR); err != nil {
				return err
			}
		default:
			for _, a := range n.Status.Addresses {
				if ip := net.ParseIP(a.Address).To4(); ip != nil && a.Type == core.NodeInternalIP {
					want[n.Spec.PodCIDR] = ip
				}
			}
		}
	}
	return syncRoutes(want)
}

func syncRoutes(want map[string]net.IP) error {
	have, err := netlink.RouteListFiltered(netlink.FAMILY_V4, &netlink.Route{Protocol: routeProtocol}, netlink.RT_FILTER_PROTOCOL)
	if err != nil {
		return err
	}
	for _, r := range have {
		if r.Dst != nil && want[r.Dst.String()].Equal(r.Gw) {
			delete(want, r.Dst.String())
		} else if err := netlink.RouteDel(&r); err != nil {
			return fmt.Errorf("delete route %v: %w", r, err)
		}
	}
	for cidr, gw := range want {
		_, dst, err := net.ParseCIDR(cidr)
		if err != nil {
			return err
		}
		if err := netlink.RouteReplace(&netlink.Route{Dst: dst, Gw: gw, Protocol: routeProtocol}); err != nil {
			return fmt.Errorf("route %s via %s: %w", dst, gw, err)
		}
		log.Printf("route %s via %s", dst, gw)
	}
	return nil
}

func masquerade(mine, all string) error {
	rule := []string{"POSTROUTING", "-s", mine, "!", "-d", all, "-m", "comment", "--comment", "podnet", "-j", "MASQUERADE"}
	run := func(verb string) error {
		out, err := exec.Command("iptables", append([]string{"-w", "-t", "nat", verb}, rule...)...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("iptables %s: %w: %s", verb, err, out)
		}
		return nil
	}
	if run("-C") == nil {
		return nil
	}
	return run("-A")
}

// writeCNI puts the file in place whole: the kubelet calls the node ready when it sees it.
func writeCNI(cidr string) error {
	want := fmt.Appendf(nil, `{
  "cniVersion": "1.0.0",
  "name": "podnet",
  "plugins": [
    {"type": "ptp", "ipMasq": false, "ipam": {
      "type": "host-local", "dataDir": "/run/cni/host-local",
      "ranges": [[{"subnet": %q}]], "routes": [{"dst": "0.0.0.0/0"}]}},
    {"type": "portmap", "capabilities": {"portMappings": true}}
  ]
}
`, cidr)
	if have, err := os.ReadFile(cniConf); err == nil && bytes.Equal(have, want) {
		return nil
	}
	if err := os.WriteFile(cniConf+".tmp", want, 0o644); err != nil {
		return err
	}
	log.Println("wrote", cniConf, "for", cidr)
	return os.Rename(cniConf+".tmp", cniConf)
}
