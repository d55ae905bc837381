kubectl auth whoami
kubectl auth whoami -o yaml
kubectl auth whoami --as=jane --as-group=devs --as-uid=7
kubectl auth can-i get pods
kubectl auth can-i create deployments.apps --subresource=scale -n other
kubectl auth can-i get /healthz
kubectl auth can-i get nopes
kubectl auth can-i --list
kubectl create serviceaccount builder
kubectl create token builder >/dev/null
kubectl create token builder | awk -F. '{print NF}'
kubectl create token builder --duration=9m --audience=x >/dev/null
kubectl create token builder --duration=1s
kubectl create token nope
kubectl create token builder -o jsonpath='{.kind} {.spec.expirationSeconds} {.spec.audiences}'
kubectl create role reader --verb=get,list,watch --resource=pods
kubectl create rolebinding reader --role=reader --serviceaccount=access:builder
kubectl describe role reader
kubectl describe rolebinding reader
kubectl describe sa builder
kubectl auth reconcile -f kinds.yaml
kubectl create role extra --verb=get --resource=secrets --dry-run=client -o yaml | kubectl auth reconcile -f -
kubectl create -f request.yaml
kubectl get csr
kubectl certificate approve jane
kubectl get csr
kubectl certificate approve jane
kubectl certificate deny jane
kubectl certificate approve nope
kubectl describe csr jane
kubectl delete csr jane
kubectl certificate approve jane
