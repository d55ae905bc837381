kubectl create -f node.yaml
kubectl get node
kubectl get node n1 -o wide
kubectl describe node n1
kubectl cordon n1
kubectl cordon n1
kubectl get node
kubectl uncordon n1
kubectl uncordon n1
kubectl taint node n1 a=b:NoSchedule
kubectl taint node n1 a=c:NoSchedule
kubectl taint node n1 a=c:NoSchedule --overwrite
kubectl taint node n1 a=c:Nope
kubectl taint node n1 a-
kubectl taint node n1 a-
kubectl label node n1 disk=ssd
kubectl get node -L disk,zone
kubectl run here --image=nginx --overrides='{"spec":{"nodeName":"n1"}}'
kubectl get pods -o wide
kubectl get pods --field-selector spec.nodeName=n1 -o name
kubectl describe node n1
kubectl drain n1 --ignore-daemonsets
kubectl drain n1 --ignore-daemonsets --force --dry-run=server
kubectl drain nope
kubectl delete pod here --grace-period=0 --force
kubectl drain n1 --ignore-daemonsets
kubectl top nodes
kubectl delete node n1
kubectl get node
