kubectl apply -f config.yaml
kubectl apply -f config.yaml
kubectl diff -f config-changed.yaml | sed 1,2d
kubectl diff -f config-changed.yaml >/dev/null
kubectl apply -f config-changed.yaml --dry-run=server
kubectl apply -f config-changed.yaml --dry-run=client
kubectl apply -f config-changed.yaml
kubectl get cm a -o yaml
kubectl apply view-last-applied cm a
kubectl apply set-last-applied -f config.yaml
kubectl apply --server-side -f config-changed.yaml
kubectl get cm a -o yaml --show-managed-fields
kubectl apply --server-side --force-conflicts -f config-changed.yaml
kubectl diff --server-side -f config.yaml | sed 1,2d
sed 's/name: a/name: b/' config.yaml | kubectl apply --server-side -f -
sed 's/name: a/name: b/; s/"1"/"9"/' config.yaml | kubectl apply --server-side --field-manager=other -f -
sed 's/name: a/name: b/; s/"1"/"9"/' config.yaml | kubectl apply --server-side --field-manager=other --force-conflicts -f -
kubectl get cm b -o yaml --show-managed-fields
sed 's/name: a/name: b/; s/, b: "2"//' config.yaml | kubectl apply --server-side -f -
kubectl get cm b -o jsonpath='{.data}'
kubectl apply -f deployment.yaml
kubectl apply --server-side -f deployment.yaml
kubectl apply -f deployment.yaml
sed 's/replicas: 2/replikas: 2/' deployment.yaml | kubectl apply -f -
sed 's/replicas: 2/replicas: two/' deployment.yaml | kubectl apply -f -
sed 's/replicas: 2/replicas: -2/' deployment.yaml | kubectl apply -f -
sed 's/replicas: 2/replikas: 2/' deployment.yaml | kubectl apply --validate=warn -f -
sed 's/replicas: 2/replikas: 2/' deployment.yaml | kubectl apply --validate=false -f -
sed 's/replicas: 2/replikas: 2/' deployment.yaml | kubectl apply --server-side -f -
sed 's/replicas: 2/replicas: 4/' deployment.yaml | kubectl diff -f - | sed 1,2d
sed 's/apps.v1/apps\/v2/' deployment.yaml | kubectl apply -f -
sed 's/app: web} }$/app: other } }/; s/matchLabels: { app: web }/matchLabels: { app: other }/' deployment.yaml | kubectl apply -f -
kubectl get deploy web -o yaml --show-managed-fields
kubectl apply -f kinds.yaml
kubectl apply -f kinds.yaml
kubectl apply --server-side -f kinds.yaml
kubectl diff -f kinds.yaml
kubectl get -f kinds.yaml -o wide
kubectl get sts db -o yaml
kubectl get ds agent -o yaml
kubectl get cronjob nightly -o yaml
kubectl get ingress web -o yaml
kubectl get pvc data -o yaml
kubectl get svc web -o yaml
kubectl get limitrange limits -o yaml
kubectl apply -k kustomize
kubectl kustomize kustomize
kubectl diff -k kustomize
kubectl get -k kustomize
kubectl delete -k kustomize
kubectl apply -f config.yaml --prune -l app=web --prune-allowlist=core/v1/ConfigMap
kubectl get cm -l app=web -o name
KUBECTL_APPLYSET=true kubectl apply -n "$NAMESPACE" -f config.yaml --prune --applyset=configmaps/set
KUBECTL_APPLYSET=true kubectl apply -n "$NAMESPACE" -f pod.yaml --prune --applyset=secrets/set
KUBECTL_APPLYSET=true kubectl apply -n "$NAMESPACE" -f config.yaml --prune --applyset=secrets/set
kubectl get secret set -o yaml
kubectl get po p
kubectl apply -f nowhere.yaml
