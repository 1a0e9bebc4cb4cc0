// Page-operator is the operator of ../operator.ts with controller-runtime, to compare the two.
package main

import (
	"context"
	"fmt"
	"os"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"time"
)

const finalizer = "example.com/unpublish"

type Page struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              struct {
		Text string `json:"text"`
	} `json:"spec"`
	Status struct {
		Conditions []metav1.Condition `json:"conditions,omitempty"`
	} `json:"status,omitempty"`
}

func (p *Page) DeepCopyObject() runtime.Object {
	out := *p
	p.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Status.Conditions = append([]metav1.Condition(nil), p.Status.Conditions...)
	return &out
}

type PageList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Page `json:"items"`
}

func (l *PageList) DeepCopyObject() runtime.Object {
	out := *l
	out.Items = make([]Page, len(l.Items))
	for i := range l.Items {
		out.Items[i] = *l.Items[i].DeepCopyObject().(*Page)
	}
	return &out
}

type reconciler struct {
	client.Client
	events    events.EventRecorder
	namespace string
}

func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var page Page
	if err := r.Get(ctx, request.NamespacedName, &page); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	name := page.Namespace + "." + page.Name
	if !page.DeletionTimestamp.IsZero() {
		published := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: r.namespace}}
		if err := client.IgnoreNotFound(r.Delete(ctx, published)); err != nil {
			return ctrl.Result{}, err
		}
		before := page.DeepCopyObject().(*Page)
		if !controllerutil.RemoveFinalizer(&page, finalizer) {
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, r.Patch(ctx, &page, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	}
	before := page.DeepCopyObject().(*Page)
	if controllerutil.AddFinalizer(&page, finalizer) {
		if err := r.Patch(ctx, &page, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
			return ctrl.Result{}, err
		}
	}
	published := corev1ac.ConfigMap(name, r.namespace).WithData(map[string]string{"text": page.Spec.Text})
	if err := r.Apply(ctx, published, client.FieldOwner("page-operator"), client.ForceOwnership); err != nil {
		return ctrl.Result{}, err
	}
	before = page.DeepCopyObject().(*Page)
	known := meta.FindStatusCondition(page.Status.Conditions, "Ready")
	isNews := known == nil || known.ObservedGeneration != page.Generation
	ready := metav1.Condition{Type: "Ready", Status: "True", Reason: "Published", Message: "as ConfigMap " + name, ObservedGeneration: page.Generation}
	if meta.SetStatusCondition(&page.Status.Conditions, ready) {
		if err := r.Status().Patch(ctx, &page, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
			return ctrl.Result{}, err
		}
	}
	if isNews {
		r.events.Eventf(&page, nil, "Normal", "Published", "Publish", "published %d characters", len(page.Spec.Text))
	}
	return ctrl.Result{RequeueAfter: 10 * time.Minute}, nil
}

func run() error {
	ctrl.SetLogger(zap.New())
	group := schema.GroupVersion{Group: "example.com", Version: "v1"}
	scheme.Scheme.AddKnownTypes(group, &Page{}, &PageList{})
	metav1.AddToGroupVersion(scheme.Scheme, group)
	namespace := os.Getenv("NAMESPACE")
	manager, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{
		Metrics:                       server.Options{BindAddress: ":8080"},
		LeaderElection:                true,
		LeaderElectionID:              "page-operator",
		LeaderElectionNamespace:       namespace,
		LeaderElectionReleaseOnCancel: true,
	})
	if err != nil {
		return err
	}
	err = ctrl.NewControllerManagedBy(manager).
		For(&Page{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Complete(&reconciler{manager.GetClient(), manager.GetEventRecorder("page-operator"), namespace})
	if err != nil {
		return err
	}
	return manager.Start(ctrl.SetupSignalHandler())
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
