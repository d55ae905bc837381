/** The steps in which the embedded server intentionally answers a client differently. */
export interface ClientDifference {
  client: string;
  step: string;
  why: string;
}

const of =
  (client: string) =>
  (why: string, ...steps: string[]): ClientDifference[] =>
    steps.map((step) => ({ client, step, why }));
const kubectl = of('kubectl');

export const clientDifferences: readonly ClientDifference[] = [
  ...kubectl('the version says that it is the embedded server', 'discovery: kubectl version'),
  ...kubectl(
    'OpenAPI v2 comes as JSON alone, and kubectl asks for it as protobuf',
    'discovery: kubectl explain deploy --output=plaintext-openapiv2',
    "apply: sed 's/apps.v1/apps\\/v2/' deployment.yaml | kubectl apply -f -",
  ),
  ...kubectl(
    'a real server adds a diff of Go structs to the message',
    'change: kubectl patch pod p -p \'{"spec":{"nodeSelector":{"a":"b"}}}\'',
    'change: kubectl patch pod p -p \'{"spec":{"terminationGracePeriodSeconds":9}}\'',
    'change: kubectl patch pod p --type=merge -p \'{"spec":{"containers":[{"name":"c","image":"nginx:2"}]}}\'',
    'pods: kubectl debug p --image=busybox -c dbg -q',
  ),
];
