package main

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"

	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
)

// enforcer holds a node's pods to the NetworkPolicies that select them, with nftables. sigs.k8s.io/kube-network-policies
// needs the kernel's nft_queue, which not every test machine has. IPv4, TCP and UDP. A pod is held from the first look
// after it has its address, which is up to a second late.
type enforcer struct {
	loaded string
}

func (e *enforcer) sync(ctx context.Context, client kubernetes.Interface, node string) error {
	fromCache := meta.ListOptions{ResourceVersion: "0"}
	pods, err := client.CoreV1().Pods("").List(ctx, fromCache)
	if err != nil {
		return err
	}
	namespaces, err := client.CoreV1().Namespaces().List(ctx, fromCache)
	if err != nil {
		return err
	}
	policies, err := client.NetworkingV1().NetworkPolicies("").List(ctx, fromCache)
	if err != nil {
		return err
	}
	world := policyWorld{pods: pods.Items, policies: policies.Items, namespaces: map[string]labels.Set{}}
	for _, n := range namespaces.Items {
		world.namespaces[n.Name] = n.Labels
	}
	rules := world.rules(node)
	if rules == e.loaded {
		return nil
	}
	load := exec.Command("nft", "-f", "-")
	load.Stdin = strings.NewReader(rules)
	if out, err := load.CombinedOutput(); err != nil {
		return fmt.Errorf("nft: %w: %s\n%s", err, out, rules)
	}
	e.loaded = rules
	return nil
}

type policyWorld struct {
	pods       []core.Pod
	policies   []networking.NetworkPolicy
	namespaces map[string]labels.Set
}

// rules replaces the whole table in one transaction: "add" first, so that "delete" finds one.
func (w policyWorld) rules(node string) string {
	var jumps, chains strings.Builder
	for _, pod := range w.pods {
		if pod.Spec.NodeName != node || !hasNetwork(pod) {
			continue
		}
		w.chain(&jumps, &chains, pod, networking.PolicyTypeEgress)
		w.chain(&jumps, &chains, pod, networking.PolicyTypeIngress)
	}
	return fmt.Sprintf(`add table ip podnet-policy
delete table ip podnet-policy
table ip podnet-policy {
%s  chain pods {
    ct state established,related accept
%s  }
  chain forward { type filter hook forward priority filter; policy accept; jump pods; }
  chain input { type filter hook input priority filter; policy accept; jump pods; }
}
`, chains.String(), jumps.String())
}

// chain says what one pod may send, or be sent, when a policy isolates it.
func (w policyWorld) chain(jumps, chains *strings.Builder, pod core.Pod, direction networking.PolicyType) {
	own, other := "saddr", "daddr"
	if direction == networking.PolicyTypeIngress {
		own, other = other, own
	}
	var allowed []string
	isolated := false
	for _, policy := range w.policies {
		if policy.Namespace != pod.Namespace || !slices.Contains(policy.Spec.PolicyTypes, direction) ||
			!matches(&policy.Spec.PodSelector, pod.Labels) {
			continue
		}
		isolated = true
		if direction == networking.PolicyTypeEgress {
			for _, rule := range policy.Spec.Egress {
				allowed = append(allowed, w.allow(other, policy.Namespace, rule.To, rule.Ports)...)
			}
		} else {
			for _, rule := range policy.Spec.Ingress {
				allowed = append(allowed, w.allow(other, policy.Namespace, rule.From, rule.Ports)...)
			}
		}
	}
	if !isolated {
		return
	}
	name := strings.ToLower(string(direction)) + "-" + strings.ReplaceAll(pod.Status.PodIP, ".", "-")
	fmt.Fprintf(jumps, "    ip %s %s jump %s\n", own, pod.Status.PodIP, name)
	fmt.Fprintf(chains, "  chain %s {\n", name)
	for _, match := range allowed {
		fmt.Fprintf(chains, "    %s return\n", match)
	}
	fmt.Fprint(chains, "    counter drop\n  }\n")
}

// allow is one rule as nftables matches, any of which lets a packet through.
func (w policyWorld) allow(side, namespace string, peers []networking.NetworkPolicyPeer, ports []networking.NetworkPolicyPort) []string {
	addresses := []string{""} // any
	if len(peers) > 0 {
		addresses = nil
		for _, peer := range peers {
			addresses = append(addresses, w.addresses(side, namespace, peer)...)
		}
	}
	var found []string
	for _, address := range addresses {
		if len(ports) == 0 {
			found = append(found, address)
		}
		for _, port := range ports {
			found = append(found, strings.TrimSpace(address+" "+portMatch(port)))
		}
	}
	return found
}

func (w policyWorld) addresses(side, namespace string, peer networking.NetworkPolicyPeer) []string {
	if peer.IPBlock != nil {
		match := fmt.Sprintf("ip %s %s", side, peer.IPBlock.CIDR)
		if len(peer.IPBlock.Except) > 0 {
			match += fmt.Sprintf(" ip %s != { %s }", side, strings.Join(peer.IPBlock.Except, ", "))
		}
		return []string{match}
	}
	var found []string
	for _, pod := range w.pods {
		inNamespace := pod.Namespace == namespace
		if peer.NamespaceSelector != nil {
			inNamespace = matches(peer.NamespaceSelector, w.namespaces[pod.Namespace])
		}
		if inNamespace && hasNetwork(pod) && (peer.PodSelector == nil || matches(peer.PodSelector, pod.Labels)) {
			found = append(found, pod.Status.PodIP)
		}
	}
	if len(found) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("ip %s { %s }", side, strings.Join(found, ", "))}
}

func portMatch(port networking.NetworkPolicyPort) string {
	protocol := "tcp"
	if port.Protocol != nil {
		protocol = strings.ToLower(string(*port.Protocol))
	}
	switch {
	case port.Port == nil:
		return "ip protocol " + protocol
	case port.Port.Type == intstr.String:
		return "ip protocol 255" // names are not known here: let nothing through
	case port.EndPort != nil:
		return fmt.Sprintf("%s dport %d-%d", protocol, port.Port.IntVal, *port.EndPort)
	default:
		return fmt.Sprintf("%s dport %d", protocol, port.Port.IntVal)
	}
}

// hasNetwork: the pod has an address of its own, and still uses it.
func hasNetwork(pod core.Pod) bool {
	over := pod.Status.Phase == core.PodSucceeded || pod.Status.Phase == core.PodFailed
	return !pod.Spec.HostNetwork && pod.Status.PodIP != "" && !over
}

func matches(selector *meta.LabelSelector, set labels.Set) bool {
	parsed, err := meta.LabelSelectorAsSelector(selector)
	return err == nil && parsed.Matches(set)
}
