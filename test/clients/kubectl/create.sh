kubectl create -f deployment.yaml
kubectl create -f deployment.yaml
kubectl create -f pod.yaml --dry-run=server -o yaml
kubectl create -f pod.yaml --dry-run=client -o name
kubectl create -f pod.yaml --save-config
kubectl create configmap c --from-literal=a=b
kubectl create configmap c --from-literal=a=b
kubectl create configmap c2 --from-file=config.yaml --dry-run=client -o yaml
kubectl create configmap Bad_Name --from-literal=a=b
kubectl create secret generic s --from-literal=a=b
kubectl get secret s -o yaml
kubectl create secret tls t --cert=nowhere --key=nowhere
kubectl create secret docker-registry r --docker-username=u --docker-password=p --docker-server=registry.example.com
kubectl create deployment d --image=nginx --replicas=2 --port=80
kubectl get deployment d -o yaml
kubectl create deployment d --image=nginx
kubectl create job j --image=busybox -- true
kubectl get job j -o yaml
kubectl create cronjob cj --image=busybox --schedule='*/5 * * * *' -- true
kubectl get cj cj -o yaml
kubectl create cronjob cj2 --image=busybox --schedule='often'
kubectl create job from --from=cronjob/cj
kubectl create service clusterip sc --tcp=80:8080
kubectl create service nodeport sn --tcp=80
kubectl create service loadbalancer sl --tcp=80
kubectl create service externalname se --external-name=example.com
kubectl get svc -o wide
kubectl create ingress i --rule='example.com/x*=sc:80'
kubectl get ingress i
kubectl create quota q --hard=pods=9,cpu=1
kubectl get quota q -o yaml
kubectl create pdb p --selector=app=web --min-available=1
kubectl get pdb
kubectl create priorityclass high --value=1000 --description=x
kubectl get priorityclass high
kubectl create role r --verb=get,list --resource=pods,deployments.apps
kubectl create role r2 --verb=get --resource=nopes
kubectl create rolebinding rb --role=r --user=jane --serviceaccount=create:sa
kubectl create clusterrole cr --verb=get --non-resource-url=/healthz
kubectl create clusterrole agg --aggregation-rule=a=b
kubectl create clusterrolebinding crb --clusterrole=cr --group=devs
kubectl get role,rolebinding -o wide
kubectl create serviceaccount sa
kubectl get sa sa -o yaml
kubectl create namespace create-other
kubectl create namespace create-other
kubectl get ns create-other -o yaml
kubectl expose deployment web --port=80 --target-port=8080 --cluster-ip=None
kubectl expose deployment web --port=80 --name=np --type=NodePort
kubectl expose pod p --port=80
kubectl get svc web p -o wide
kubectl autoscale deployment web --min=1 --max=3 --cpu=70%
kubectl get hpa web -o yaml
kubectl get hpa.v1.autoscaling web -o yaml
kubectl autoscale deployment web --max=0
kubectl run q --image=nginx --labels=a=b --env=X=y --port=80
kubectl run q --image=nginx
kubectl run q2 --image=nginx --restart=Never --dry-run=client -o yaml
kubectl run q3 --image=nginx --overrides='{"spec":{"nodeName":"n9"}}' --expose --port=80
kubectl get pod q -o yaml
kubectl replace -f pod.yaml
kubectl replace --force -f pod.yaml
kubectl replace -f config.yaml
sed 's/image: nginx/image: other/' pod.yaml | kubectl replace -f -
kubectl create -f kinds.yaml
kubectl create -f nowhere.yaml
