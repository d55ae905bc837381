@ kubectl create -f config.yaml -f pod.yaml -f deployment.yaml -f kinds.yaml
kubectl delete cm a --dry-run=server
kubectl delete cm a --dry-run=client
kubectl delete cm a --wait
kubectl delete cm a
kubectl delete cm a --ignore-not-found
kubectl delete cm a nope
kubectl delete pod p --grace-period=0 --force
kubectl run g --image=nginx
kubectl delete pod g --grace-period=30 --wait=false
kubectl run g --image=nginx
kubectl delete pod g --now
kubectl run g --image=nginx
kubectl delete pod g --grace-period=-1
kubectl delete deploy web --wait --cascade=foreground --timeout=2s
kubectl get deploy web -o jsonpath='{.metadata.finalizers} {.metadata.deletionGracePeriodSeconds}'
kubectl patch deploy web --type=merge -p '{"metadata":{"finalizers":null}}'
kubectl get deploy web
kubectl delete sts db --cascade=orphan --timeout=2s
kubectl get sts db -o jsonpath='{.metadata.finalizers}'
kubectl delete ds agent --cascade=background
kubectl delete -f kinds.yaml --ignore-not-found --wait=false
kubectl create configmap x --from-literal=a=b
kubectl create configmap y --from-literal=a=b
kubectl label cm x y app=gone
kubectl delete cm -l app=gone
kubectl delete cm --all
kubectl delete all --all --wait=false
kubectl delete cm
kubectl delete nope x
kubectl delete pods --field-selector metadata.name=zz
kubectl delete --raw /api/v1/namespaces/delete/configmaps/nope
kubectl create namespace delete-other
kubectl delete namespace delete-other --wait=false
