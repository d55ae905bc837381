@ kubectl create -f pod.yaml
@ kubectl run bound --image=nginx --overrides='{"spec":{"nodeName":"n9"}}'
kubectl logs p
kubectl logs p -c nope
kubectl logs nope
kubectl logs -l app=web
kubectl logs bound
kubectl exec p -- true
kubectl exec p -c nope -- true
kubectl exec nope -- true
kubectl exec bound -- true
kubectl attach p
kubectl attach bound
kubectl cp p:/etc/hosts hosts
kubectl cp config.yaml nope:/tmp/x
kubectl port-forward p 18080:80
kubectl port-forward bound 18080:80
kubectl debug p --image=busybox --target=c -c dbg -q
kubectl get pod p -o jsonpath='{.spec.ephemeralContainers}'
kubectl debug p --image=busybox -c dbg -q
kubectl debug p --image=busybox --copy-to=p-copy -c dbg -q
kubectl get pod p-copy -o yaml
kubectl describe pod p
kubectl top pods
kubectl top pod p
kubectl events --for pod/p
kubectl get pod p --subresource=status -o jsonpath='{.status.phase}'
kubectl patch pod p --subresource=status --type=merge -p '{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}],"containerStatuses":[{"name":"c","ready":true,"restartCount":2,"image":"nginx","imageID":"i","state":{"running":{}}}]}}'
kubectl get pod p
kubectl get pod p -o wide
kubectl wait --for=condition=Ready pod/p --timeout=1s
kubectl describe pod p
kubectl patch pod p --subresource=resize -p '{"spec":{"containers":[{"name":"c","resources":{"limits":{"cpu":"1"}}}]}}'
kubectl rollout status deploy/nope
